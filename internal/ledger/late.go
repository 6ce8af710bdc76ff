// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Ended follows a reservation from the entry that made it to what has become of its rest.
type Ended struct {
	flow        Flow
	reservation Reservation
	end         Entry // what has charged the rest, or has given it back
	charged     bool
	refund      Entry // what has given it back after it was charged
}

// Made begins with the entry that made a reservation. It is false if that is another one, or one for a child ledger.
func Made(e Entry) (x *Ended, ok bool) {
	x = new(Ended)
	for _, m := range x.flow.Take(e) {
		x.reservation, ok = *m.Held, m.To == PotReserved && m.Held.Child == ""
	}
	return x, ok
}

// Follow takes the next entry of the ledger. It fails with ErrDamaged if the entry takes more from the reservation than
// that holds.
func (x *Ended) Follow(e Entry) error {
	d := e.Action.Details()
	if at := x.end.Position; at > 0 && d.About == at && d.From == PotCharged {
		x.refund = e
	}
	for _, m := range x.flow.Take(e) {
		switch {
		case m.Held.Position != x.reservation.Position: // another one
		case m.Missing:
			return refuse(ErrDamaged, "entry %d takes more from reservation %d than that holds", e.Position,
				x.reservation.Position)
		case m.To == PotCharged && len(d.Events) > 0: // a part of it
			x.reservation = *m.Held
		default:
			x.end, x.charged = e, m.To == PotCharged
		}
	}
	return nil
}

// Left is what the entries so far have left of the reservation, or had left of it when it ended.
func (x *Ended) Left() []mechanism.Event { return mechanism.EventsOf(x.reservation.Rest) }

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
