// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Charge adds events, together or not at all. The events have passed
// mechanism.Event.Check for the ledger's adjacency.
type Charge struct {
	Events []mechanism.Event `field:"1" need:"1 to 1,000 events" most:"1000"` // as reported
	Labels []Label           `field:"2"`
}

// Kind implements Action.
func (Charge) Kind() string { return "charge" }

// Details implements Action.
func (v Charge) Details() Details {
	return Details{Events: v.Events, Labels: v.Labels, From: PotBudget, To: PotCharged}
}

// Charged implements Refundable.
func (v Charge) Charged(func(uint64) ([]mechanism.Event, error)) ([]mechanism.Event, error) {
	return v.Events, nil
}

func (v Charge) decide(b *Batch) error { return b.admit(v.Events) }
