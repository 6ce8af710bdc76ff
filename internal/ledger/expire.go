// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Expire charges what is left of a reservation. The daemon writes it once the
// reservation's time is over, and whenever its operator asks for it. Decisions depend on
// entries, never on a clock: until this entry a commit or a release is in time.
type Expire struct {
	Reservation uint64 `field:"1" need:"the position of the entry that made it, ≥ 1"` // the position of its entry
}

// Kind implements Action.
func (Expire) Kind() string { return "expire" }

// Details implements Action.
func (v Expire) Details() Details {
	return Details{About: v.Reservation, From: PotReserved, To: PotCharged}
}

// Charged implements Refundable.
func (v Expire) Charged(left func(uint64) ([]mechanism.Event, error)) ([]mechanism.Event, error) {
	return left(v.Reservation)
}

func (v Expire) decide(b *Batch) error {
	_, err := b.timed(v.Reservation)
	return err
}
