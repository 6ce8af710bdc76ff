// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

const (
	// MaxDatasetID bounds a dataset's identifier, in bytes, and the one that stands for all of its spellings.
	MaxDatasetID = 200
	// DatasetsPrefix begins the names of all datasets' records. No name of a ledger has a colon.
	DatasetsPrefix = "dataset:"
	// AfterDatasets is a name that follows all those of datasets, and precedes whatever follows them.
	AfterDatasets = DatasetsPrefix + "\xff"
)

// DatasetName is the name of the record of the dataset with this identifier. Identifiers
// that people easily take for the same have the same name: they may differ in case, white
// space, characters that show nothing, and in how Unicode writes a character (NFKC). Letters of
// different alphabets that only look alike are different.
func DatasetName(id string) string {
	folded := cases.Fold().String(norm.NFKC.String(id))
	seen := strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) || unicode.In(r, unseen...) {
			return -1
		}
		return unicode.ToLower(r) // cases.Fold exchanges the two cases of Cherokee
	}, norm.NFKC.String(folded))
	// A dot above a letter that has one shows nothing: i and U+0069 U+0307 are printed alike.
	for _, letter := range []string{"i", "j"} {
		for strings.Contains(seen, letter+"\u0307") {
			seen = strings.ReplaceAll(seen, letter+"\u0307", letter)
		}
	}
	return DatasetsPrefix + norm.NFKC.String(seen) // what was apart may have come together
}

// unseen are graphic characters that show nothing: those that Unicode lets a program ignore
// (Default_Ignorable_Code_Point), variation selectors, and symbols whose picture is blank.
var unseen = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0xFFFC, Hi: 0xFFFC, Stride: 1}},
		R32: []unicode.Range32{{Lo: 0x13441, Hi: 0x13442, Stride: 1}, {Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1},
			{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}}},
}

// Dataset is what makes a ledger's chain a dataset's record: whose budget it is that root
// ledgers spend. The spec's budgets are the total budget; a root ledger takes what it may
// spend from them as a child takes its share of a parent, so the guard of the dataset holds
// the sum over all ledgers. docs/decisions/datasets.md.
type Dataset struct {
	Title       string             `field:"1"`
	Owners      []string           `field:"2" most:"16"`
	MaxRecords  uint64             `field:"3" need:"at most how many records belong to one privacy unit, ≥ 1"`
	EnforcedBy  string             `field:"4" need:"what enforces max_records_per_unit, 1 to 1,024 bytes" most:"1024"`
	Caps        Caps               `field:"5"`
	DerivedFrom []DatasetReference `field:"6" most:"16"` // what it overlaps
	// the name of the record whose budget it shares; "" where it has its own
	BudgetOf     string `field:"7"`
	Independence string `field:"8" most:"1024"` // why it is independent of other datasets
	ToConfirm    bool   `field:"9"`             // nothing is taken from its budget before two people have registered it
}

// Caps bound what may be taken of a dataset's budget, as shares of it; 0 for no bound.
type Caps struct {
	Charge float64 `field:"1"`
	Ledger float64 `field:"2"`
}

// Check refuses what is no share of a budget.
func (c Caps) Check() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"charge", c.Charge}, {"ledger", c.Ledger}} {
		if !(f.value >= 0 && f.value <= 1) || math.Signbit(f.value) {
			return &mechanism.ParameterError{Field: f.name, Value: fmt.Sprint(f.value),
				Allowed: "a share of the budget in (0, 1], or 0 for no bound"}
		}
	}
	return nil
}

// DatasetReference names a version of a dataset.
type DatasetReference struct {
	ID      string `field:"1" need:"a dataset's identifier" is:"dataset_id"`
	Version string `field:"2"`
}

func (r DatasetReference) String() string {
	if r.Version == "" {
		return r.ID
	}
	return r.ID + " " + r.Version
}

// DatasetVersion is a version that shares a dataset's budget, and what it overlaps.
type DatasetVersion struct {
	Of          DatasetReference   `field:"1" need:"the version that is added"`
	DerivedFrom []DatasetReference `field:"2" most:"16"`
}

// Equal reports whether both say the same.
func (d *Dataset) Equal(o *Dataset) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d.Title == o.Title && slices.Equal(d.Owners, o.Owners) && d.MaxRecords == o.MaxRecords &&
		d.EnforcedBy == o.EnforcedBy && d.Caps == o.Caps && slices.Equal(d.DerivedFrom, o.DerivedFrom) &&
		d.BudgetOf == o.BudgetOf && d.Independence == o.Independence && d.ToConfirm == o.ToConfirm
}

// IsDataset reports whether a name is that of a dataset's record.
func IsDataset(name string) bool { return strings.HasPrefix(name, DatasetsPrefix) }

// DatasetStanding is a dataset's record as amended.
type DatasetStanding struct {
	Dataset
	Labels   []Label
	Versions []DatasetVersion // that share the budget, as they came

	Confirmation Confirmation
}

// Has refuses a ledger of a version that does not share the budget.
func (d *DatasetStanding) Has(r DatasetReference) error {
	var versions []string
	spelling := ""
	for _, v := range d.Versions {
		switch {
		case v.Of == r:
			return nil
		case v.Of.ID == r.ID:
			versions = append(versions, fmt.Sprintf("%q", v.Of.Version))
		case DatasetName(v.Of.ID) == DatasetName(r.ID):
			spelling = v.Of.ID
		}
	}
	switch {
	case len(versions) == 0 && spelling != "":
		return refuse(ErrDataset, "dataset_id: %q; allowed: %q, as the dataset is registered", r.ID, spelling)
	case len(versions) == 0:
		return refuse(ErrDataset, "dataset_id: %q is of another budget; allowed: a dataset that shares this one", r.ID)
	}
	if len(versions) > budget.MaxListed {
		more := fmt.Sprintf("%d more", len(versions)-budget.MaxListed)
		versions = append(versions[:budget.MaxListed:budget.MaxListed], more)
	}
	return refuse(ErrDataset, "dataset_version: %q; allowed: a registered version of dataset %q: %s; or add it: "+
		"accountctl dataset amend %[2]q --add-version VERSION --reason REASON with %[4]s",
		r.Version, r.ID, strings.Join(versions, ", "), OwnSocket)
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

// Confirmation says who has confirmed a dataset's registration. It is zero until somebody has.
type Confirmation struct {
	By   string // the principal who approved it
	Time time.Time
	Approval
}

// Waits reports whether the registration waits for another person to confirm it.
func (d *DatasetStanding) Waits() bool { return d.ToConfirm && d.Confirmation == (Confirmation{}) }
