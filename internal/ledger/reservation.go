package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

const (
	// MaxReservations bounds the open reservations of one ledger.
	MaxReservations = 1000
	// MaxReservedParts bounds their mechanisms, each counted once a reservation: a
	// closing turns all of them into charges at once.
	MaxReservedParts = 10_000
	// MaxLifetime bounds how long a reservation is open.
	MaxLifetime = 366 * 24 * time.Hour
)

// Reserve sets events aside. They count against budgets like charges until they
// are committed (and then are charges), released, or expire.
type Reserve struct {
	Events   []mechanism.Event // at least one; as of a Charge
	Lifetime time.Duration     // whole seconds, from 1 s to MaxLifetime
	Labels   []Label
}

// Commit charges a part of an open reservation. Once nothing is left of it, it is
// closed.
type Commit struct {
	Reservation uint64            // the position of its entry
	Events      []mechanism.Event // at most what is left of it
	Labels      []Label
}

// Release gives back what is left of a reservation: nothing was, or will be,
// computed from the data for it.
type Release struct {
	Reservation uint64
	Reason      string
}

// Expire charges what is left of a reservation whose time is over. Only the
// daemon writes it: decisions depend on entries, never on a clock, so until this
// entry a commit or a release is in time.
type Expire struct{ Reservation uint64 }

func (Reserve) verb() {}
func (Commit) verb()  {}
func (Release) verb() {}
func (Expire) verb()  {}

// Reservation is what is left of a Reserve.
type Reservation struct {
	Position uint64           // of its entry: its name in the ledger
	Deadline time.Time        // the entry's time and the lifetime
	Rest     []mechanism.Part // distinct mechanisms; empty only where it has become closed
}

// Total is the sum of the counts that are left.
func (r Reservation) Total() (n uint64) {
	for _, p := range r.Rest {
		n += p.Count
	}
	return n
}

// merged is events with the counts of equal mechanisms added up.
func merged(events []mechanism.Event) []mechanism.Part {
	parts := make([]mechanism.Part, 0, len(events))
	at := searcher()
	for _, e := range events {
		i, ok := at(parts, e.Mechanism)
		if !ok {
			i = len(parts)
			parts = append(parts, mechanism.Part{Mechanism: e.Mechanism})
		}
		parts[i].Count += uint64(e.Count)
	}
	return parts
}

// searcher returns a search in a list that only grows at its end, with an index
// once it is long.
func searcher() func(parts []mechanism.Part, m mechanism.Mechanism) (int, bool) {
	const few = 8
	var index map[mechanism.Mechanism]int
	known := 0
	return func(parts []mechanism.Part, m mechanism.Mechanism) (int, bool) {
		if len(parts) <= few {
			i := slices.IndexFunc(parts, func(p mechanism.Part) bool { return p.Mechanism == m })
			return i, i >= 0
		}
		if index == nil {
			index = make(map[mechanism.Mechanism]int, 4*few)
		}
		for ; known < len(parts); known++ {
			index[parts[known].Mechanism] = known
		}
		i, ok := index[m]
		return i, ok
	}
}

// without is what is left of r after events; or the index of the first event that
// it does not hold, and how many it does.
func (r Reservation) without(events []mechanism.Event) (rest Reservation, wrong int, held uint64) {
	parts := slices.Clone(r.Rest)
	at := searcher()
	for i, e := range events {
		j, ok := at(parts, e.Mechanism)
		if !ok {
			return r, i, 0
		}
		if parts[j].Count < uint64(e.Count) {
			return r, i, parts[j].Count
		}
		parts[j].Count -= uint64(e.Count)
	}
	r.Rest = slices.DeleteFunc(parts, func(p mechanism.Part) bool { return p.Count == 0 })
	return r, -1, 0
}

// reservations are the open ones, with their sums.
type reservations struct {
	open  map[uint64]Reservation
	total uint64 // of all counts
	parts int
}

func newReservations(list []Reservation) reservations {
	rs := reservations{open: make(map[uint64]Reservation, len(list))}
	for _, r := range list {
		rs.set(r)
	}
	return rs
}

// set opens, changes or (with nothing left) closes a reservation.
func (rs *reservations) set(r Reservation) {
	if old, ok := rs.open[r.Position]; ok {
		rs.total -= old.Total()
		rs.parts -= len(old.Rest)
		delete(rs.open, r.Position)
	}
	if len(r.Rest) > 0 {
		rs.total += r.Total()
		rs.parts += len(r.Rest)
		rs.open[r.Position] = r
	}
}

// list returns the open reservations by position.
func (rs *reservations) list() []Reservation {
	out := make([]Reservation, 0, len(rs.open))
	for _, position := range slices.Sorted(maps.Keys(rs.open)) {
		r := rs.open[position]
		r.Rest = slices.Clone(r.Rest)
		out = append(out, r)
	}
	return out
}

// Reservations returns the open reservations, in the order of their positions.
func (s *State) Reservations() []Reservation { return s.held.list() }

// Reserved returns what open reservations hold, all together.
func (s *State) Reserved() []mechanism.Part {
	var parts []mechanism.Part
	at := searcher()
	for _, r := range s.held.list() {
		for _, p := range r.Rest {
			i, ok := at(parts, p.Mechanism)
			if !ok {
				i = len(parts)
				parts = append(parts, mechanism.Part{Mechanism: p.Mechanism})
			}
			parts[i].Count += p.Count
		}
	}
	return parts
}

// reserve sets events aside in the entry at position.
func (b *Batch) reserve(v Reserve, position uint64, now time.Time, checkOnly bool) error {
	parts := merged(v.Events)
	switch {
	case b.draft == nil:
		return refuse(ErrReservation, "ledger: %s has no budget; allowed: a ledger with the policy PLAN or FILTER", b.state.summary.Genesis.Spec.Name)
	case len(b.held.open) >= MaxReservations:
		return refuse(ErrOutOfRange, "open reservations: %d; allowed: at most %d in one ledger", len(b.held.open)+1, MaxReservations)
	case b.held.parts+len(parts) > MaxReservedParts:
		return refuse(ErrOutOfRange, "mechanisms in open reservations: %d; allowed: at most %d in one ledger", b.held.parts+len(parts), MaxReservedParts)
	}
	if err := b.admit(v.Events); err != nil {
		return err
	}
	if checkOnly {
		b.draft.untake(v.Events)
		return nil
	}
	b.set(Reservation{Position: position, Deadline: now.Add(v.Lifetime), Rest: parts})
	return nil
}

// reservation finds an open one.
func (b *Batch) reservation(position uint64) (Reservation, error) {
	r, ok := b.held.open[position]
	if !ok {
		return r, refuse(ErrReservation, "reservation: %d; allowed: the position of one that is open: not used up, released or expired", position)
	}
	return r, nil
}

func (b *Batch) commit(v Commit, checkOnly bool) error {
	r, err := b.reservation(v.Reservation)
	if err != nil {
		return err
	}
	rest, wrong, held := r.without(v.Events)
	if wrong >= 0 {
		e := v.Events[wrong]
		return refuse(ErrReservation, "events[%d]: %d × %v; allowed: at most %d, what is left of reservation %d", wrong, e.Count, e.Mechanism, held, r.Position)
	}
	if !checkOnly {
		b.set(rest)
		b.spend(merged(v.Events))
	}
	return nil
}

func (b *Batch) release(v Release, checkOnly bool) error {
	r, err := b.reservation(v.Reservation)
	if err != nil || checkOnly {
		return err
	}
	for _, p := range r.Rest {
		b.draft.give(b.draft.line(p.Mechanism), p.Count)
	}
	b.set(Reservation{Position: r.Position})
	return nil
}

func (b *Batch) expire(v Expire, checkOnly bool) error {
	r, err := b.reservation(v.Reservation)
	if err == nil && !checkOnly {
		b.set(Reservation{Position: r.Position})
		b.spend(r.Rest)
	}
	return err
}

// spendAll charges what all open reservations hold.
func (b *Batch) spendAll() {
	for _, r := range b.held.list() {
		b.set(Reservation{Position: r.Position})
		b.spend(r.Rest)
	}
}

// set changes a reservation of the batch.
func (b *Batch) set(r Reservation) {
	if !b.ownsHeld {
		b.held.open = maps.Clone(b.held.open)
		b.ownsHeld = true
		b.changed = map[uint64]bool{}
	}
	b.held.set(r)
	b.changed[r.Position] = true
}

// opened lists the changed reservations as they are after the batch, those with
// nothing left too if the state has them.
func (b *Batch) opened() (list []Reservation) {
	for _, position := range slices.Sorted(maps.Keys(b.changed)) {
		r, open := b.held.open[position]
		if _, before := b.state.held.open[position]; open || before {
			r.Position = position
			list = append(list, r)
		}
	}
	return list
}
