package ledger

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Check returns nil if the proposal follows from the ledger's state on, whose
// head it expects: positions without a gap, nothing after a closing, totals that
// grow by exactly what the entries charge and shrink by what they refund, refunds of
// entries that were not refunded, raises above the ones before, nothing but
// reconciling where that is needed, and reservations of exactly what they leave.
// before holds, for each of Counts, that mechanism's total now, 0 for a new one; open
// has the open reservations of those in Open, and all of them if p.SpendsAll; amended
// has the entries that amend the ledger, needed only if p.Amends. Batch makes no other
// proposals; a store checks them all the same, before anything is written.
func (p Proposal) Check(on Summary, before []uint64, open []Reservation, amended []Entry) error {
	if len(p.Entries) == 0 {
		return p.wrong("entries", 0, "at least 1")
	}
	if on.Closed {
		return p.wrong("entries", len(p.Entries), "0, the ledger is closed")
	}
	sums := sums{total: on.Total, rest: make(map[uint64]uint64, len(open)), amended: len(amended), unreconciled: on.Unreconciled}
	for _, e := range amended {
		switch v := e.Action.(type) {
		case Refund:
			sums.refund(v, false)
		case Raise:
			sums.raised = &v.Resolution
		}
	}
	for _, r := range open {
		sums.rest[r.Position] = r.Total()
	}
	for i, e := range p.Entries {
		if want := on.Head.Position + 1 + uint64(i); e.Position != want {
			return p.wrong(fmt.Sprintf("entries[%d].position", i), e.Position, want)
		}
		if value, allowed := sums.do(e); allowed != "" {
			return p.wrong(fmt.Sprintf("entries[%d]", i), value, allowed)
		}
		if _, closing := e.Action.(Close); closing && i != len(p.Entries)-1 {
			return p.wrong(fmt.Sprintf("entries[%d]", i), "a closing", "a closing as the last entry only")
		}
	}
	if err := p.checkOpen(sums.rest, open); err != nil {
		return err
	}
	total := sums.total
	if p.Total != total {
		return p.wrong("total", p.Total, total)
	}
	if _, closing := p.Entries[len(p.Entries)-1].Action.(Close); p.Closed != closing {
		return p.wrong("closed", p.Closed, closing)
	}
	if p.Unreconciled != sums.unreconciled {
		return p.wrong("unreconciled", p.Unreconciled, sums.unreconciled)
	}
	return p.checkCounts(on, before, sums.returned)
}

// Amends reports whether there are entries that amend the ledger.
func (p Proposal) Amends() bool { return slices.ContainsFunc(p.Entries, Entry.Amends) }

// Amends reports whether e changes what the ledger's other entries stand for: a
// refund, a raise, a freed reservation, a restore or what reconciles it.
func (e Entry) Amends() bool {
	switch e.Action.(type) {
	case Refund, Raise, Free, Restored, Reconcile:
		return true
	}
	return false
}

// SpendsAll reports whether an entry turns all open reservations into charges.
func (p Proposal) SpendsAll() bool {
	return p.Closed || slices.ContainsFunc(p.Entries, func(e Entry) bool {
		_, restored := e.Action.(Restored)
		return restored
	})
}

// sums is what entries do to the sum of counts and to those of reservations.
type sums struct {
	total uint64
	rest  map[uint64]uint64 // of open reservations

	refunded map[uint64]bool                // positions
	returned map[mechanism.Mechanism]uint64 // by the refunds of the proposal
	amended  int
	raised   *Resolution // by the newest raise, if there is one

	unreconciled bool
}

// refund takes note of a refund, of the proposal or from before.
func (s *sums) refund(v Refund, now bool) {
	if s.refunded == nil {
		s.refunded, s.returned = map[uint64]bool{}, map[mechanism.Mechanism]uint64{}
	}
	s.refunded[v.Position] = true
	for _, e := range v.Events {
		if now {
			s.returned[e.Mechanism] += uint64(e.Count)
		}
	}
}

// do adds an entry, or says what is wrong with it and what is allowed.
func (s *sums) do(e Entry) (value any, allowed string) {
	of := func(position uint64) (n uint64, value any, allowed string) {
		n, ok := s.rest[position]
		if !ok {
			return 0, fmt.Sprintf("reservation %d", position), "an open reservation that is among the changed"
		}
		return n, nil, ""
	}
	if s.unreconciled && !reconciles(e.Action) {
		return fmt.Sprintf("%T", e.Action), "nothing but reconciling: the ledger was restored"
	}
	if e.Amends() {
		if s.amended++; s.amended > MaxAmendments && !reconciles(e.Action) {
			return fmt.Sprintf("%d refunds, raises and freed reservations", s.amended), fmt.Sprintf("at most %d", MaxAmendments)
		}
	}
	switch v := e.Action.(type) {
	case Charge:
		return s.add(sum(v.Events))
	case Refund:
		n := sum(v.Events)
		switch {
		case v.Position == 0 || v.Position >= e.Position || s.refunded[v.Position]:
			return fmt.Sprintf("a refund of entry %d", v.Position), "an earlier entry that was not refunded"
		case n == 0 || n > s.total:
			return fmt.Sprintf("a refund of %d", n), fmt.Sprintf("1 to %d", s.total)
		}
		s.refund(v, true)
		s.total -= n
	case Raise:
		if s.raised != nil {
			if err := grown(*s.raised, v.Resolution); err != nil {
				return err, "a raise of the newest one"
			}
		}
		s.raised = &v.Resolution
	case Reserve:
		s.rest[e.Position] = sum(v.Events)
	case Commit:
		n, value, allowed := of(v.Reservation)
		if allowed != "" {
			return value, allowed
		}
		part := sum(v.Events)
		if part > n {
			return fmt.Sprintf("%d of reservation %d", part, v.Reservation), fmt.Sprintf("at most %d", n)
		}
		if s.rest[v.Reservation] = n - part; n == part {
			delete(s.rest, v.Reservation)
		}
		return s.add(part)
	case Release:
		_, value, allowed := of(v.Reservation)
		delete(s.rest, v.Reservation)
		return value, allowed
	case Free:
		n, value, allowed := of(v.Reservation)
		if back := sum(v.Events); allowed == "" && back != n {
			return fmt.Sprintf("%d of reservation %d given back", back, v.Reservation), fmt.Sprintf("%d, all that is left", n)
		}
		delete(s.rest, v.Reservation)
		return value, allowed
	case Expire:
		n, value, allowed := of(v.Reservation)
		if allowed != "" {
			return value, allowed
		}
		delete(s.rest, v.Reservation)
		return s.add(n)
	case Reconcile:
		s.unreconciled = false
		return s.add(sum(v.Events))
	case Restored:
		s.unreconciled = true
		return s.spendAll()
	case Close:
		return s.spendAll()
	}
	return nil, ""
}

// spendAll adds what all open reservations hold.
func (s *sums) spendAll() (value any, allowed string) {
	for _, n := range s.rest {
		if value, allowed := s.add(n); allowed != "" {
			return value, allowed
		}
	}
	clear(s.rest)
	return nil, ""
}

// add adds to the total.
func (s *sums) add(n uint64) (value any, allowed string) {
	if n > math.MaxInt64 || s.total > math.MaxInt64-n {
		return "a total above 2^63 − 1", "at most 2^63 − 1"
	}
	s.total += n
	return nil, ""
}

// sum is the sum of counts; below 2^63, as a charge has at most 2^31 events.
func sum(events []mechanism.Event) (n uint64) {
	for _, e := range events {
		n += uint64(e.Count)
	}
	return n
}

// checkOpen compares the changed reservations with what the entries left of them.
func (p Proposal) checkOpen(rest map[uint64]uint64, open []Reservation) error {
	left := maps.Clone(rest)
	listed := make(map[uint64]bool, len(p.Open))
	for i, r := range p.Open {
		field := fmt.Sprintf("open[%d]", i)
		if i > 0 && p.Open[i-1].Position >= r.Position {
			return p.wrong(field+".position", r.Position, "increasing positions")
		}
		if n := r.Total(); n != rest[r.Position] {
			return p.wrong(field, fmt.Sprintf("%d left", n), rest[r.Position])
		}
		for _, part := range r.Rest {
			if part.Count == 0 || part.Mechanism == nil {
				return p.wrong(field, "nothing left of a mechanism", "only mechanisms of which something is left")
			}
		}
		listed[r.Position] = true
		delete(left, r.Position)
	}
	for _, r := range open { // those that did not change need not be listed
		if n, still := rest[r.Position]; still && n == r.Total() {
			delete(left, r.Position)
		} else if !listed[r.Position] {
			return p.wrong("open", fmt.Sprintf("reservation %d is missing", r.Position), "all that change")
		}
	}
	for position := range left {
		return p.wrong("open", fmt.Sprintf("reservation %d is missing", position), "all that change")
	}
	return nil
}

// checkCounts checks the changed totals; returned is what refunds of the proposal
// give back, by which alone a total may shrink or stay as it is.
func (p Proposal) checkCounts(on Summary, before []uint64, returned map[mechanism.Mechanism]uint64) error {
	next, added := on.Distinct, uint64(0)
	listed := 0
	for i, c := range p.Counts {
		field := fmt.Sprintf("counts[%d]", i)
		switch {
		case c.Index < 0 || c.Index >= on.Distinct && c.Index != next:
			return p.wrong(field+".index", c.Index, fmt.Sprintf("below %d, or %d for the next new one", on.Distinct, next))
		case c.Mechanism == nil:
			return p.wrong(field+".mechanism", "missing", "a mechanism")
		}
		back := returned[c.Mechanism] // below 2^63 even for the largest refunds: no wrapping
		if c.Total > p.Total || c.Total+back < before[i] || c.Total == before[i] && back == 0 {
			return p.wrong(field+".total", c.Total, fmt.Sprintf("more than %d less %d refunded, at most %d", before[i], back, p.Total))
		}
		if c.Index == next {
			next++
		}
		if back > 0 {
			listed++
		}
		var carry uint64
		if added, carry = bits.Add64(added, c.Total+back-before[i], 0); carry > 0 {
			return p.wrong(field+".total", c.Total, "totals of what the entries charge")
		}
	}
	all := uint64(0)
	for _, n := range returned {
		all += n
	}
	if grown := p.Total + all - on.Total; added != grown || listed != len(returned) {
		return p.wrong("counts", "not what the entries charge and refund", fmt.Sprintf("%d more altogether, %d refunded", grown, all))
	}
	return nil
}

func (p Proposal) wrong(field string, value, allowed any) error {
	return fmt.Errorf("proposal for ledger %s: %s: %v; allowed: %v", p.Ledger, field, value, allowed)
}
