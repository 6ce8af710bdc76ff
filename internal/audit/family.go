// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/share"
)

// Families compares what child ledgers may spend, and have, with what their parents
// have set aside, for all ledgers of a store.
type Families struct {
	shares   map[[2]string][]*share.Taken // by parent and child
	datasets map[string]string            // by the name of its record, that of whose budget it shares
	children []child                      // and roots that name a dataset
	adopted  map[string]uint32            // how many ledgers a dataset has adopted, as its record says
}

type child struct {
	name, parent string
	root         bool           // it was created without a parent
	dataset      string         // the name of the record, if there is one
	bounds       []share.Counts // of which one must be set aside
	planned      bool
	closed       bool
	charged      share.Counts
}

// Add adds a ledger whose log was gone through.
func (f *Families) Add(r *Replay) {
	if f.shares == nil {
		f.shares = map[[2]string][]*share.Taken{}
	}
	for _, s := range r.tally.Taken {
		key := [2]string{r.Name(), s.Child}
		f.shares[key] = append(f.shares[key], s)
	}
	v, spec := r.State().View(), r.genesis.Spec
	if d := spec.Dataset; d != nil {
		if f.datasets == nil {
			f.datasets, f.adopted = map[string]string{}, map[string]uint32{}
		}
		f.datasets[spec.Name] = cmp.Or(d.BudgetOf, spec.Name)
		if d.BudgetOf == "" {
			f.adopted[spec.Name] = r.tally.Adopted
		}
		return
	}
	c := child{name: spec.Name, parent: v.Parent, root: spec.Parent == "", planned: spec.Policy == ledger.Planned,
		closed: v.Closed, charged: share.CountsOf(v.Charged.Parts)}
	if c.parent == "" && spec.DatasetID == "" {
		return
	}
	c.dataset = ledger.DatasetName(spec.DatasetID)
	if c.planned {
		c.bounds = []share.Counts{share.CountsOf(v.Resolution.Plan)}
	}
	for i, limit := range v.Resolution.Limits { // with raises
		for _, m := range limit.Declared(v.Budgets[i].Budget) {
			c.bounds = append(c.bounds, share.Counts{m: 1})
		}
	}
	f.children = append(f.children, c)
}

// Check returns the finding for the first child by name whose parent does not answer for it, and then
// for the first dataset that answers for something else than its ledgers.
//
// A ledger may hold more for its children than it has to: a share whose child was not created, or
// of a closed child that is not settled yet. What concerns a dataset and a ledger is one write, so
// there both sides say the same.
func (f *Families) Check() error {
	if err := f.checkChildren(); err != nil {
		return err
	}
	return f.checkDatasets()
}

func (f *Families) checkChildren() error {
	for _, c := range slices.SortedFunc(slices.Values(f.children), func(a, b child) int {
		return cmp.Compare(a.name, b.name)
	}) {
		budget := f.datasets[c.dataset]
		switch {
		case c.parent == "" && budget == "":
			continue // of a dataset that is not registered
		case c.parent == "" && !c.closed:
			return &Finding{Ledger: c.name, What: "dataset", Expected: "a share in " + budget +
				", as the dataset is registered", Found: "an open ledger without one"}
		case c.parent == "": // it was closed when the dataset was registered
			c.parent = budget
			if f.spentFor(c).Covers(c.charged) {
				continue
			}
		case ledger.IsDataset(c.parent) && c.parent != budget:
			return &Finding{Ledger: c.name, What: "parent", Expected: "the record of its dataset " + budget,
				Found: c.parent}
		}
		ok := false
		for _, s := range f.shares[[2]string{c.parent, c.name}] {
			ok = ok || c.paidBy(s)
		}
		if ok {
			continue
		}
		expected := "all it may spend, set aside or spent"
		if c.closed {
			expected = "at least what it has spent, set aside or spent"
		}
		return &Finding{Ledger: c.name, What: fmt.Sprintf("share in its parent %s", c.parent), Expected: expected,
			Found: fmt.Sprintf("less, or none (%d shares)", len(f.shares[[2]string{c.parent, c.name}]))}
	}
	return nil
}

// spentFor is what a child's parent has spent for it.
func (f *Families) spentFor(c child) share.Counts {
	spent := share.Counts{}
	for _, s := range f.shares[[2]string{c.parent, c.name}] {
		for m, n := range s.Spent {
			spent[m] += n
		}
	}
	return spent
}

// paidBy reports whether s is this child's share, and still pays for it.
func (c child) paidBy(s *share.Taken) bool {
	bound := false
	for _, b := range c.bounds {
		bound = bound || s.Held.Covers(b) && (!ledger.IsDataset(c.parent) || b.Covers(s.Held))
	}
	switch {
	case !bound:
		return false
	case !s.Released: // it holds all, or has spent all of what it does not
		return true
	}
	return c.closed && c.planned && s.Spent.Covers(c.charged)
}

// checkDatasets returns the finding for the first share in a dataset's record that is no ledger's,
// or of which a ledger has two; and for a dataset that has not adopted the ledgers that it says.
func (f *Families) checkDatasets() error {
	below := map[[2]string]bool{} // ledgers by the record of whose budget they take
	adopted := map[string]uint32{}
	for _, c := range f.children {
		budget := f.datasets[c.dataset]
		below[[2]string{budget, c.name}] = true
		if c.root {
			adopted[budget]++
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(f.shares), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		if !ledger.IsDataset(key[0]) {
			continue
		}
		open := 0
		for _, s := range f.shares[key] {
			found := ""
			if s.Open() {
				open++
			}
			switch {
			case !below[key]:
				found = "none of that name takes its budget from this dataset"
			case open > 1:
				found = "a second one, while it has one"
			default:
				continue
			}
			return &Finding{Ledger: key[0], Position: s.Position, What: "share of ledger " + key[1],
				Expected: "one share for each ledger of the dataset", Found: found}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.adopted)) {
		if f.adopted[name] != adopted[name] {
			return &Finding{Ledger: name, What: "ledgers that were adopted", Expected: fmt.Sprint(adopted[name]) +
				", which were there before the dataset was registered", Found: fmt.Sprint(f.adopted[name])}
		}
	}
	return nil
}
