// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Move is parts that an entry moves from one pot to another. A State moves them, and whoever wants to know what became
// of a ledger's entries observes the same moves with a Flow.
type Move struct {
	From, To Pot
	Parts    []mechanism.Part // of a charge, a mechanism may be in several of them

	// Held is the reservation that holds the parts from now on, or has held them, with what is left of it then. It is
	// the zero Reservation if the parts move between the budget and what was charged, and is not to be changed.
	Held *Reservation
	// Missing means that the reservation did not hold the parts. Nothing that a Batch has decided does that.
	Missing bool
}

// unheld is what holds no parts.
var unheld = new(Reservation)

// moving lists moves, in memory that it uses again.
type moving struct {
	list  []Move
	parts []mechanism.Part
}

// emptied is an empty one in the same memory.
func (x *moving) emptied() moving {
	clear(x.list)
	clear(x.parts)
	return moving{x.list[:0], x.parts[:0]}
}

// of lists what an entry moves, given the reservations that are open before it. The list holds until the next one.
func (x *moving) of(l *reservations, e *Entry, d *Details) []Move {
	x.list = x.list[:0]
	if d.From == d.To {
		return nil
	}
	if d.From == PotReserved && d.About == 0 {
		for _, r := range l.sorted() {
			parts := r.Rest
			r.Rest = nil
			x.list = append(x.list, Move{From: d.From, To: d.To, Parts: parts, Held: &r})
		}
		return x.list
	}
	x.list = append(x.list, Move{From: d.From, To: d.To, Held: unheld})
	switch m := &x.list[0]; {
	case d.From == PotReserved:
		r, open := l.Open[d.About]
		r.Position, m.Missing = d.About, !open
		if m.Held = &r; len(d.Events) == 0 {
			m.Parts, r.Rest = r.Rest, nil
			break
		}
		m.Parts = mechanism.Merge(d.Events)
		rest, wrong, _ := r.Without(d.Events)
		m.Held, m.Missing = &rest, m.Missing || wrong >= 0
	case d.To == PotReserved:
		m.Parts = mechanism.Merge(d.Events)
		m.Held = e.Action.(Reserve).made(e, m.Parts)
	case d.From == PotCharged:
		m.Parts = mechanism.Merge(d.Events)
	default:
		x.parts = x.parts[:0]
		for _, event := range d.Events {
			x.parts = append(x.parts, mechanism.Part{Mechanism: event.Mechanism, Count: uint64(event.Count)})
		}
		m.Parts = x.parts
	}
	return x.list
}

// Flow follows the entries of a ledger and says what each of them moves. It knows which reservations are open, and
// nothing else of the ledger. Its zero value is the empty ledger.
type Flow struct {
	held   reservations
	moving moving
}

// Take takes the next entry. The moves hold until the next call.
func (f *Flow) Take(e Entry) []Move {
	if f.held.Open == nil {
		f.held = newReservations(nil)
	}
	d := e.Action.Details()
	moves := f.moving.of(&f.held, &e, &d)
	for i := range moves {
		if moves[i].Held.Position > 0 {
			f.held.Set(*moves[i].Held)
		}
	}
	return moves
}
