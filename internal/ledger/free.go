// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Free gives back what is left of a reservation, whoever made it. It asserts that
// nothing computed for it was, or will be, released. It is meant for a reservation of a
// job that died, and can neither commit nor release any more. As that job may have used
// what it held, later answers list this and are descriptive, as after a Refund.
type Free struct {
	// the position of its entry
	Reservation     uint64    `field:"1" need:"the position of the entry that made it, ≥ 1"`
	NothingReleased Assertion `field:"2" need:"true: nothing computed for what is left was, or will be, released"`
	Reason          string    `field:"3" need:"why, 1 to 1,024 bytes" most:"1024"`
	// what was left of it
	Events []mechanism.Event `field:"4" need:"1 to 1,000 events" most:"1000" decided:"what is left of the reservation"`
}

// Kind implements Action.
func (Free) Kind() string { return "free" }

func (Free) needsTwoPeople() bool { return true }

// Details implements Action.
func (v Free) Details() Details {
	return Details{About: v.Reservation, Events: v.Events, Reason: v.Reason, From: PotReserved, To: PotBudget}
}

func (v Free) decide(b *Batch) error {
	if b.parentLedger() != "" {
		return refuse(ErrReservation, "ledger: %s has a parent, which its charges are settled with; "+
			"allowed: a ledger without, or to let the reservation expire now, which charges it", b.spec().Name)
	}
	r, err := b.timed(v.Reservation)
	if err == nil {
		err = b.amendable()
	}
	if err != nil {
		return err
	}
	v.Events = mechanism.EventsOf(r.Rest)
	b.request.Action = v
	return nil
}

func (Free) reconciles() bool { return false }

func (v Free) amend(a amendments, e Entry) amendments {
	a.freed++
	return a.assuming(Assumption{e.Position, "freed", fmt.Sprintf(
		"what was left of reservation %d, %s, is not counted: nothing computed for it was, or will be, released "+
			"(reason given: %s)",
		v.Reservation, listed(v.Events), v.Reason), true})
}
