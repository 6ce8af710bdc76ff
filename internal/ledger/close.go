// SPDX-License-Identifier: Apache-2.0

package ledger

// Close ends the ledger: it takes no more charges. What open reservations hold is
// charged. Only the ledger's creator may close it.
type Close struct {
	Reason string `field:"1" most:"1024"`
}

// Kind implements Action.
func (Close) Kind() string { return "close" }

// Details implements Action.
func (v Close) Details() Details {
	return Details{Reason: v.Reason, From: PotReserved, To: PotCharged, Closes: true}
}

func (Close) decide(b *Batch) error { return b.mayDispose("close it") }

func (Close) ofDataset() {}
