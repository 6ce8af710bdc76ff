// SPDX-License-Identifier: Apache-2.0

package ledger

// Release gives back what is left of a reservation: nothing was, or will be,
// computed from the data for it. Only the reservation's owner may release it.
type Release struct {
	Reservation uint64 `field:"1" need:"the position of the entry that made it, ≥ 1"` // the position of its entry
	Reason      string `field:"2" most:"1024"`
	Holder      string `field:"3" most:"63" decided:"the access policy says it"` // of the caller's reservations
}

// Kind implements Action.
func (Release) Kind() string { return "release" }

// heldBy implements holding.
func (v Release) heldBy(holder string) Action {
	v.Holder = holder
	return v
}

// Details implements Action.
func (v Release) Details() Details {
	return Details{About: v.Reservation, Reason: v.Reason, From: PotReserved, To: PotBudget}
}

func (v Release) decide(b *Batch) error {
	_, err := b.reservation(v.Reservation, b.request.Writer, v.Holder)
	return err
}
