package ledger

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Free gives back what is left of a reservation, whoever made it: it asserts that
// nothing computed for it was, or will be, released. It is for what a job has reserved
// that died, and can neither commit nor release any more. As it may have used what it
// held, later answers list this and are descriptive, as after a Refund.
type Free struct {
	Reservation uint64            // the position of its entry
	Events      []mechanism.Event // what was left of it; set by the decision, not part of what is asked
	Reason      string
}

func (Free) action() {}

// free gives back what is left of a reservation and returns the action as it is recorded.
func (b *Batch) free(v Free, position uint64, checkOnly bool) (Free, error) {
	spec := b.state.summary.Genesis.Spec
	if spec.Parent != "" {
		return v, refuse(ErrReservation, "ledger: %s has a parent, which its charges are settled with; allowed: a ledger without, or to let the reservation expire now, which charges it", spec.Name)
	}
	r, err := b.timed(v.Reservation)
	if err == nil {
		err = b.amendable()
	}
	if err != nil {
		return v, err
	}
	v.Events = Events(r.Rest)
	if !checkOnly {
		b.giveBack(r)
		b.amended = b.amended.with(position, v)
	}
	return v, nil
}

// withFreed is a after a reservation was freed by the entry at position.
func (a amendments) withFreed(position uint64, v Free) amendments {
	a.freed++
	return a.assuming(Assumption{position, "freed", fmt.Sprintf(
		"what was left of reservation %d, %s, is not counted: nothing computed for it was, or will be, released (reason given: %s)",
		v.Reservation, listed(v.Events), v.Reason), true})
}
