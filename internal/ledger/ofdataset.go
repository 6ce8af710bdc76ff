// SPDX-License-Identifier: Apache-2.0

package ledger

// parentLedger is the ledger that has set aside what this one may spend. It is "" where
// that is a dataset: a dataset's statement lists what its ledgers' answers rest on.
func (b *Batch) parentLedger() string {
	if p := b.spec().Parent; !IsDataset(p) {
		return p
	}
	return ""
}

// ofDatasets is an action that people may write in a dataset's record, and may propose there; all
// others are the daemon's there.
type ofDatasets interface{ ofDataset() }

// datasetTakes refuses what a dataset's record does not take.
func (b *Batch) datasetTakes(r Request) error {
	action := r.Action
	if p, ok := action.(Propose); ok {
		action = p.Action
	}
	if _, ok := action.(ofDatasets); ok || r.Writer.Principal == Daemon {
		return nil
	}
	id := b.spec().DatasetID
	return refuse(ErrDataset, "%s: %s is the record of dataset %q, which only ledgers spend from; allowed: to create "+
		"a ledger with the dataset_id %[3]q and to charge that, or accountctl dataset amend", r.Action.Kind(),
		b.spec().Name, id)
}
