// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"
	"time"
)

// Acknowledge records that the people responsible for the ledger know of a warning, so
// that answers about the ledger no longer give it. It changes no number and no guarantee.
// Only the ledger's creator may do it, because a warning may be the only sign of a mistake.
type Acknowledge struct {
	// its name, such as "large-delta"; a later version may know more of them than this one
	Warning string `field:"1" is:"warning" need:"large-delta, shuffled, name-and-shame, plan-over-budget" most:"64"`
	Reason  string `field:"2" need:"why, 1 to 1,024 bytes" most:"1024"`
}

// Acknowledgement is an Acknowledge as it was recorded.
type Acknowledgement struct {
	Acknowledge
	Position  uint64 // of the entry that recorded it
	Principal string // who acknowledged the warning
	Time      time.Time
}

// GetWarning returns the name of the warning, as the API's message does.
func (v Acknowledge) GetWarning() string { return v.Warning }

// Kind implements Action.
func (Acknowledge) Kind() string { return "acknowledge" }

// Details implements Action.
func (v Acknowledge) Details() Details { return Details{Reason: v.Reason, More: len(v.Warning)} }

func (v Acknowledge) decide(b *Batch) error {
	if err := b.mayDispose("acknowledge its warnings"); err != nil {
		return err
	}
	list := b.amended.acknowledged
	if i := slices.IndexFunc(list, func(a Acknowledgement) bool { return a.Warning == v.Warning }); i >= 0 {
		return refuse(ErrAcknowledged, "the warning %s was acknowledged by %s in entry %d, for this reason: %s; "+
			"allowed: a warning that was not acknowledged",
			v.Warning, list[i].Principal, list[i].Position, list[i].Reason)
	}
	return nil
}

func (Acknowledge) reconciles() bool { return false }

func (v Acknowledge) amend(a amendments, e Entry) amendments {
	a.acknowledged = append(slices.Clip(a.acknowledged),
		Acknowledgement{v, e.Position, e.Writer.Principal, e.Time})
	return a
}
