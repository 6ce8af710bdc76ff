package ledger

// Release gives back what is left of a reservation: nothing was, or will be,
// computed from the data for it. Only the reservation's owner may release it.
type Release struct {
	Reservation uint64 // the position of its entry
	Reason      string
}

// Kind implements Action.
func (Release) Kind() string { return "release" }

// Privileged implements Action.
func (Release) Privileged() bool { return false }

// Details implements Action.
func (v Release) Details() Details {
	return Details{About: v.Reservation, Reason: v.Reason, From: PotReserved, To: PotBudget}
}

func (v Release) decide(b *Batch) error {
	_, err := b.reservation(v.Reservation, b.request.Writer)
	return err
}

func (v Release) effect(b *Batch, _ Entry) { b.giveBack(v.Reservation) }
