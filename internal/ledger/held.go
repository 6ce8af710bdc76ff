// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Reservation is what is left of a Reserve.
type Reservation struct {
	Position  uint64           // of its entry: its name in the ledger
	Deadline  time.Time        // the entry's time and the lifetime; zero with Child
	Rest      []mechanism.Part // distinct mechanisms; empty only where it has become closed
	Child     string           // the ledger that holds it; "" if none does
	Principal string           // who made it
	Holder    string           // the group of callers to which it belongs besides; "" if there is none

	Contribution Contribution // whose rows the sensitivity bounds; 0 where one ledger alone was asked
}

// Total is the sum of the counts that are left.
func (r Reservation) Total() (n uint64) {
	for _, p := range r.Rest {
		n += p.Count
	}
	return n
}

// Without is what is left of r after events; or the index of the first event that
// it does not hold, and how many it does.
func (r Reservation) Without(events []mechanism.Event) (rest Reservation, wrong int, held uint64) {
	parts := slices.Clone(r.Rest)
	at := mechanism.Searcher()
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

// reservations is the open reservations of a ledger, with their sums.
type reservations struct {
	Open  map[uint64]Reservation // by position
	Total uint64                 // of all counts
	Parts int                    // how many mechanisms there are, each counted once a reservation
	Bytes int                    // about how many bytes these take
}

// newReservations lists reservations.
func newReservations(open []Reservation) reservations {
	l := reservations{Open: make(map[uint64]Reservation, len(open))}
	for _, r := range open {
		l.Set(r)
	}
	return l
}

// Clone returns a copy of l, which changes apart from it.
func (l *reservations) Clone() reservations {
	c := *l
	c.Open = maps.Clone(l.Open)
	return c
}

// sizeOf is about how many bytes the mechanisms of parts take.
func sizeOf(parts []mechanism.Part) (n int) {
	for _, p := range parts {
		n += mechanism.Size(p.Mechanism)
	}
	return n
}

// Set opens, changes or (with nothing left) closes a reservation.
func (l *reservations) Set(r Reservation) {
	if old, ok := l.Open[r.Position]; ok {
		l.Total -= old.Total()
		l.Parts -= len(old.Rest)
		l.Bytes -= sizeOf(old.Rest)
		delete(l.Open, r.Position)
	}
	if len(r.Rest) > 0 {
		l.Total += r.Total()
		l.Parts += len(r.Rest)
		l.Bytes += sizeOf(r.Rest)
		l.Open[r.Position] = r
	}
}

// sorted returns the open reservations by position.
func (l *reservations) sorted() []Reservation {
	out := make([]Reservation, 0, len(l.Open))
	for _, position := range slices.Sorted(maps.Keys(l.Open)) {
		r := l.Open[position]
		r.Rest = slices.Clone(r.Rest)
		out = append(out, r)
	}
	return out
}

// children returns those that child ledgers hold, by position.
func (l *reservations) children() (out []Reservation) {
	for _, r := range l.Open {
		if r.Child != "" {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Reservation) int { return cmp.Compare(a.Position, b.Position) })
	return out
}

// merged returns what the open reservations hold, all together.
func (l *reservations) merged() []mechanism.Part {
	var parts []mechanism.Part
	at := mechanism.Searcher()
	for _, r := range l.sorted() {
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
