// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Stored is what a store has of a ledger that a Proposal is to change.
type Stored struct {
	Summary
	Held   uint64        // the sum of all counts in open reservations
	Totals []uint64      // of each of the proposal's Counts, 0 for a new mechanism
	Open   []Reservation // those of the proposal's Open that are open, by position
}

// Check returns nil if p can follow on what is stored, whose head it expects, as far as
// that can be said without the rules by which a Batch decides: positions have no gap,
// nothing follows a closing, lists are in order, and what is charged and what is
// reserved afterwards is what the entries have moved there (Details.From and To). So no
// entry is ever stored that is not counted.
//
// Whether an entry may stand there at all is not asked again: package audit decides
// that, from the stored bytes alone.
func (p Proposal) Check(on Stored) error {
	if on.Closed {
		return p.wrong("entries", len(p.Entries), "0, the ledger is closed")
	}
	if len(p.Entries) == 0 && p.Genesis == nil {
		return p.wrong("entries", 0, "at least 1")
	}
	sums, now := newSums(on), amendments{unreconciled: on.Unreconciled}
	for i, e := range p.Entries {
		field := func() string { return fmt.Sprintf("entries[%d]", i) }
		if want := on.Head.Position + 1 + uint64(i); e.Position != want {
			return p.wrong(field()+".position", e.Position, want)
		}
		if e.Action == nil {
			return p.wrong(field()+".action", "missing", "an action")
		}
		d, last := e.Action.Details(), i == len(p.Entries)-1
		switch {
		case d.Closes && !last:
			return p.wrong(field(), "a closing", "a closing as the last entry only")
		case last && d.Closes != p.Closed:
			return p.wrong("closed", p.Closed, d.Closes)
		}
		if value, allowed := sums.move(e.Position, &d); allowed != "" {
			return p.wrong(field(), value, allowed)
		}
		if e.Amends() {
			now = now.after(e)
		}
	}
	if p.Unreconciled != now.unreconciled {
		return p.wrong("unreconciled", p.Unreconciled, now.unreconciled)
	}
	if p.Total != sums.charged {
		return p.wrong("total", p.Total, sums.charged)
	}
	if err := p.checkOpen(on, sums); err != nil {
		return err
	}
	return p.checkCounts(on)
}

// sums are what is charged and reserved: the sums of counts.
type sums struct {
	charged, reserved uint64
	left              map[uint64]uint64 // of each reservation that is open and may change
}

func newSums(on Stored) sums {
	s := sums{charged: on.Total, reserved: on.Held}
	for _, r := range on.Open {
		s.leave(r.Position, r.Total())
	}
	return s
}

// leave sets what is left of a reservation.
func (s *sums) leave(position, n uint64) {
	if s.left == nil {
		s.left = map[uint64]uint64{}
	}
	s.left[position] = n
}

// move moves what the entry at position moves, or says what is wrong with it and what is
// allowed.
func (s *sums) move(position uint64, d *Details) (value, allowed string) {
	n := countOf(d.Events)
	switch {
	case d.To == PotReserved:
		s.leave(position, n)
	case d.From == PotReserved && d.About == 0:
		n = s.reserved
		clear(s.left)
	case d.From == PotReserved:
		left, open := s.left[d.About]
		if !open {
			return fmt.Sprintf("reservation %d", d.About), "an open reservation that is among the changed"
		}
		if len(d.Events) == 0 {
			n = left
		}
		if n > left {
			return fmt.Sprintf("%d of reservation %d", n, d.About), fmt.Sprintf("at most %d", left)
		}
		if s.left[d.About] -= n; n == left {
			delete(s.left, d.About)
		}
	}
	pots := [...]*uint64{PotReserved: &s.reserved, PotCharged: &s.charged}
	if from := pots[d.From]; from != nil {
		if n > *from {
			return fmt.Sprint(n), fmt.Sprintf("at most %d", *from)
		}
		*from -= n
	}
	if to := pots[d.To]; to != nil {
		if *to += n; *to > math.MaxInt64 { // each below 2^63 before
			return "a total above 2^63 − 1", "at most 2^63 − 1"
		}
	}
	return "", ""
}

// checkOpen compares the changed reservations with what the entries left of them.
func (p Proposal) checkOpen(on Stored, s sums) error {
	held := on.Held // modulo 2^64: each sum is below 2^63
	for _, r := range on.Open {
		held -= r.Total()
	}
	for i, r := range p.Open {
		field := fmt.Sprintf("open[%d]", i)
		if i > 0 && p.Open[i-1].Position >= r.Position {
			return p.wrong(field+".position", r.Position, "increasing positions")
		}
		if n := r.Total(); n != s.left[r.Position] {
			return p.wrong(field, fmt.Sprintf("%d left", n), s.left[r.Position])
		}
		for _, part := range r.Rest {
			if part.Count == 0 || part.Mechanism == nil {
				return p.wrong(field, "nothing left of a mechanism", "only mechanisms of which something is left")
			}
		}
		held += r.Total()
	}
	if held != s.reserved {
		return p.wrong("open", fmt.Sprintf("%d altogether", held), fmt.Sprintf("%d, with all that change", s.reserved))
	}
	return nil
}

// checkCounts checks the changed totals against the whole one.
func (p Proposal) checkCounts(on Stored) error {
	next, total := on.Distinct, on.Total
	for i, c := range p.Counts {
		field := func(name string) string { return fmt.Sprintf("counts[%d].%s", i, name) }
		switch {
		case c.Index < 0 || c.Index >= on.Distinct && c.Index != next:
			return p.wrong(field("index"), c.Index, fmt.Sprintf("below %d, or %d for the next new one",
				on.Distinct, next))
		case c.Mechanism == nil:
			return p.wrong(field("mechanism"), "missing", "a mechanism")
		case c.Total > p.Total:
			return p.wrong(field("total"), c.Total, fmt.Sprintf("at most the total, %d", p.Total))
		}
		if c.Index == next {
			next++
		}
		total += c.Total - on.Totals[i] // modulo 2^64: each sum is below 2^63
	}
	if total != p.Total {
		return p.wrong("counts", fmt.Sprintf("%d altogether", total), fmt.Sprintf("%d, the total", p.Total))
	}
	return nil
}

// countOf is the sum of counts; below 2^63, as a charge has at most 2^31 events.
func countOf(events []mechanism.Event) (n uint64) {
	for _, e := range events {
		n += uint64(e.Count)
	}
	return n
}

func (p Proposal) wrong(field string, value, allowed any) error {
	return fmt.Errorf("proposal for ledger %s: %s: %v; allowed: %v", p.Ledger, field, value, allowed)
}
