// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Ended follows a reservation from the entry that made it to what has become of its rest.
type Ended struct {
	reservation Reservation
	end         Entry // what has charged the rest, or has given it back
	charged     bool
	refund      Entry // what has given it back after it was charged
}

// Made begins with the entry that made a reservation. It is false if that is another one, or one for a child ledger.
func Made(e Entry) (*Ended, bool) {
	v, ok := e.Action.(Reserve)
	return &Ended{reservation: Reservation{Position: e.Position, Rest: mechanism.Merge(v.Events),
		Principal: e.Writer.Principal, Holder: v.Holder}}, ok && v.Child == ""
}

// Follow takes the next entry of the ledger.
func (x *Ended) Follow(e Entry) {
	d := e.Action.Details()
	switch {
	case x.end.Position > 0:
		if d.About == x.end.Position && d.From == PotCharged {
			x.refund = e
		}
	case d.From != PotReserved || d.From == d.To || d.About != 0 && d.About != x.reservation.Position:
	case len(d.Events) > 0 && d.To == PotCharged: // a part of it
		x.reservation, _, _ = x.reservation.Without(d.Events)
	default:
		x.end, x.charged = e, d.To == PotCharged
	}
}

// Charged returns the entry that has charged what v commits for w, when the reservation ended: v was released before,
// and comes late. It refuses more than the rest that was charged then, and what was given back.
func (x *Ended) Charged(v Commit, w Writer) (Entry, error) {
	if err := admits(x.reservation, w, v.Holder); err != nil {
		return Entry{}, err
	}
	n := x.reservation.Position
	if x.end.Position == 0 {
		return Entry{}, refuse(ErrReservation, "reservation: %d does not hold what comes late: other commits have "+
			"used it; allowed: to charge it, with accountctl report", n)
	}
	back := x.end
	if x.charged {
		back = x.refund
	}
	if back.Position > 0 {
		return Entry{}, refuse(ErrReservation, "reservation: the rest of %d was given back by %s in entry %d, "+
			"although a part of it was released; allowed: to charge that part, with accountctl report", n,
			back.Writer.Principal, back.Position)
	}
	if _, wrong, held := x.reservation.Without(v.Events); wrong >= 0 {
		e := v.Events[wrong]
		return Entry{}, refuse(ErrReservation, "events[%d]: %d × %v come late; allowed: at most %d, which entry %d "+
			"charged when reservation %d ended; charge the others with accountctl report", wrong, e.Count, e.Mechanism,
			held, x.end.Position, n)
	}
	return x.end, nil
}
