// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Refund gives back all that one entry charged. It asserts that nothing computed for
// that entry was, or will be, released. Later answers list it and are descriptive.
type Refund struct {
	// of a charge, a commit or an expiry that was not refunded
	Position        uint64    `field:"1" need:"the position of a charge, a commit or an expiry, ≥ 1"`
	NothingReleased Assertion `field:"2" need:"true: nothing computed for the entry was, or will be, released"`
	Reason          string    `field:"3" need:"why, 1 to 1,024 bytes" most:"1024"`
	// what that entry charged
	Events []mechanism.Event `field:"4" need:"1 to 1,000 events" most:"1000" decided:"they are those of the entry"`
}

// Kind implements Action.
func (Refund) Kind() string { return "refund" }

func (Refund) needsTwoPeople() bool { return true }

// Details implements Action.
func (v Refund) Details() Details {
	return Details{About: v.Position, Events: v.Events, Reason: v.Reason, From: PotCharged, To: PotBudget}
}

// Complete implements Incomplete.
func (v Refund) Complete(from Sources) (_ Action, err error) {
	v.Events, err = from.ChargedBy(v.Position)
	return v, err
}

func (v Refund) decide(b *Batch) error {
	spec := b.spec()
	switch {
	case b.parentLedger() != "":
		return refuse(ErrRefund, "ledger: %s has a parent, which its charges are settled with; allowed: a ledger "+
			"without", spec.Name)
	case v.Position == 0 || v.Position >= b.position() || len(v.Events) == 0:
		return refuse(ErrRefund, "position: %d; allowed: that of an earlier charge, commit or expiry", v.Position)
	case slices.Contains(b.amended.refunded, v.Position):
		return refuse(ErrRefund, "position: %d was refunded; allowed: an entry that was not", v.Position)
	}
	if err := b.amendable(); err != nil {
		return err
	}
	for _, p := range mechanism.Merge(v.Events) {
		if n := b.counted(p.Mechanism); n < p.Count {
			return refuse(ErrRefund, "position: %d: %d × %v; allowed: at most %d, what is charged", v.Position,
				p.Count, p.Mechanism, n)
		}
	}
	return nil
}

func (Refund) reconciles() bool { return false }

func (v Refund) amend(a amendments, e Entry) amendments {
	a.refunded = append(slices.Clip(a.refunded), v.Position)
	return a.assuming(Assumption{e.Position, "refund", fmt.Sprintf(
		"entry %d, of %s, is not counted: nothing computed for it was, or will be, released (reason given: %s)",
		v.Position, listed(v.Events), v.Reason), true})
}
