package ledger

import (
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger/dataset"
)

// What a dataset is registered with is declared below.
type (
	Dataset          = dataset.Dataset
	Caps             = dataset.Caps
	DatasetReference = dataset.Reference
	DatasetVersion   = dataset.Version
)

const (
	// MaxDatasetID bounds a dataset's identifier, in bytes, and the one that stands for all of its spellings.
	MaxDatasetID = dataset.MaxID
	// DatasetsPrefix begins the names of all datasets' records.
	DatasetsPrefix = dataset.Prefix
	// AfterDatasets is a name that follows all those of datasets, and precedes whatever follows them.
	AfterDatasets = dataset.Prefix + "\xff"
)

// DatasetName is the name of the record of the dataset with this identifier; see dataset.Name.
func DatasetName(id string) string { return dataset.Name(id) }

// IsDataset reports whether a name is that of a dataset's record.
func IsDataset(name string) bool { return strings.HasPrefix(name, dataset.Prefix) }

// DatasetStanding is a dataset's record as amended.
type DatasetStanding struct {
	Dataset
	Labels   []Label
	Versions []DatasetVersion // that share the budget, as they came

	Confirmation Confirmation
}

// Has refuses a ledger of a version that does not share the budget.
func (d *DatasetStanding) Has(r DatasetReference) error {
	if problem := dataset.Missing(d.Versions, r, OwnSocket); problem != "" {
		return refuse(ErrDataset, "%s", problem)
	}
	return nil
}

// datasetOf is what a spec's dataset begins with; nil for a ledger.
func datasetOf(s Spec) *DatasetStanding {
	if s.Dataset == nil {
		return nil
	}
	of := DatasetVersion{Of: DatasetReference{ID: s.DatasetID, Version: s.DatasetVersion},
		DerivedFrom: s.Dataset.DerivedFrom}
	return &DatasetStanding{Dataset: *s.Dataset, Labels: s.Labels, Versions: []DatasetVersion{of}}
}

// Parent is the name of the ledger, or of the dataset's record, that has set aside what
// the ledger may spend; "" if none has.
func (s *State) Parent() string { return parentOf(s.summary.Genesis.Spec, s.amended) }

func parentOf(s Spec, now amendments) string {
	if s.Parent != "" {
		return s.Parent
	}
	return now.adopted
}

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

func (Close) ofDataset()        {}
func (Reconcile) ofDataset()    {}
func (AmendDataset) ofDataset() {}
func (Withdraw) ofDataset()     {}

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
