// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Commit charges a part of an open reservation. Once nothing is left of the
// reservation, it is closed. Only the reservation's owner may commit it.
type Commit struct {
	Events []mechanism.Event `field:"1" need:"1 to 1,000 events" most:"1000"` // at most what is left of it
	Labels []Label           `field:"2"`
	// the position of its entry
	Reservation uint64 `field:"3" need:"the position of the entry that made it, ≥ 1"`
	// of the caller's reservations
	Holder string `field:"4" most:"63" decided:"the access policy says it"`
}

// Kind implements Action.
func (Commit) Kind() string { return "commit" }

// heldBy implements holding.
func (v Commit) heldBy(holder string) Action {
	v.Holder = holder
	return v
}

// Details implements Action.
func (v Commit) Details() Details {
	return Details{About: v.Reservation, Events: v.Events, Labels: v.Labels, From: PotReserved, To: PotCharged}
}

// Charged implements Refundable.
func (v Commit) Charged(func(uint64) ([]mechanism.Event, error)) ([]mechanism.Event, error) {
	return v.Events, nil
}

func (v Commit) decide(b *Batch) error {
	r, err := b.reservation(v.Reservation, b.request.Writer, v.Holder)
	if err != nil {
		return err
	}
	if _, wrong, held := r.Without(v.Events); wrong >= 0 {
		e := v.Events[wrong]
		return refuse(ErrReservation, "events[%d]: %d × %v; allowed: at most %d, what is left of reservation %d",
			wrong, e.Count, e.Mechanism, held, r.Position)
	}
	return nil
}
