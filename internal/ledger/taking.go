// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// mayTake refuses a ledger that takes more of a dataset's budget than its cap allows, or anything
// before the dataset's registration is confirmed.
func (b *Batch) mayTake(parts []mechanism.Part) error {
	if err := b.confirmed(); err != nil {
		return err
	}
	d := b.amended.dataset
	if d == nil || d.Caps.Ledger == 0 {
		return nil
	}
	share := b.draft.Share(parts)
	if share.Over(d.Caps.Ledger) {
		return refuse(ErrDataset, "the ledger takes %s of the budget of dataset %q; allowed: at most %v, the cap of "+
			"one ledger", share, b.spec().DatasetID, d.Caps.Ledger)
	}
	return nil
}

// confirmed refuses to take more of the budget of a dataset whose registration waits for another
// person. Ledgers are adopted before the proposal is made, in the same write.
func (b *Batch) confirmed() error {
	if d := b.amended.dataset; d == nil || !d.Waits() || b.amended.proposed.All == 0 {
		return nil
	}
	return refuse(ErrDataset, "dataset %q waits for a second person to confirm its registration, and nothing can be "+
		"taken from its budget until then; allowed: after another officer has approved it (accountctl approvals list)",
		b.spec().DatasetID)
}

// ChargeCap returns the cap of one charge to a ledger of the dataset; nil where there is none.
func (s *State) ChargeCap() *ChargeCap {
	d := s.amended.dataset
	if d == nil || d.Caps.Charge == 0 {
		return nil
	}
	g := s.summary.Genesis.Spec
	return newChargeCap(g.DatasetID, d.Caps.Charge, s.amended.resolution.Limits, g.Adjacency)
}
