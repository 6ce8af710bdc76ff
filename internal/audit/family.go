// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

type counts map[mechanism.Mechanism]uint64

func countsOf(events []mechanism.Event) counts {
	c := counts{}
	for _, e := range events {
		c[e.Mechanism] += uint64(e.Count)
	}
	return c
}

func countsOfParts(parts []mechanism.Part) counts {
	c := counts{}
	for _, p := range parts {
		c[p.Mechanism] += p.Count
	}
	return c
}

// covers reports whether c has at least as many of each as o.
func (c counts) covers(o counts) bool {
	for m, n := range o {
		if c[m] < n {
			return false
		}
	}
	return true
}

// share is what a ledger has set aside for a child.
type share struct {
	child       string
	position    uint64 // of the entry that set it aside
	held, spent counts
	released    bool // what was left
}

// open reports whether something is set aside still.
func (s *share) open() bool { return !s.released && !s.spent.covers(s.held) }

// allocated follows the shares of a ledger's children.
func (r *Replay) allocated(e ledger.Entry) {
	d := e.Action.Details()
	if d.Child != "" {
		r.shares[e.Position] = &share{child: d.Child, position: e.Position, held: countsOf(d.Events), spent: counts{}}
	}
	if v, ok := e.Action.(ledger.Adopt); ok {
		r.adopted += v.Ledgers
	}
	if d.From != ledger.PotReserved || d.To == d.From {
		return
	}
	if d.About == 0 { // of all that are open
		for _, s := range r.shares {
			if !s.released {
				s.spent = s.held
			}
		}
		return
	}
	s := r.shares[d.About]
	switch {
	case s == nil:
	case d.To == ledger.PotCharged:
		for m, n := range countsOf(d.Events) {
			s.spent[m] += n
		}
	default:
		s.released = true
	}
}

// Families compares what child ledgers may spend, and have, with what their parents
// have set aside, for all ledgers of a store.
type Families struct {
	shares   map[[2]string][]*share // by parent and child
	datasets map[string]string      // by the name of its record, that of whose budget it shares
	children []child                // and roots that name a dataset
	adopted  map[string]uint32      // how many ledgers a dataset has adopted, as its record says
}

type child struct {
	name, parent string
	root         bool     // it was created without a parent
	dataset      string   // the name of the record, if there is one
	bounds       []counts // of which one must be set aside
	planned      bool
	closed       bool
	charged      counts
}

// Add adds a ledger whose log was gone through.
func (f *Families) Add(r *Replay) {
	if f.shares == nil {
		f.shares = map[[2]string][]*share{}
	}
	for _, s := range r.shares {
		key := [2]string{r.Name(), s.child}
		f.shares[key] = append(f.shares[key], s)
	}
	v, spec := r.State().View(), r.genesis.Spec
	if d := spec.Dataset; d != nil {
		if f.datasets == nil {
			f.datasets, f.adopted = map[string]string{}, map[string]uint32{}
		}
		f.datasets[spec.Name] = cmp.Or(d.BudgetOf, spec.Name)
		if d.BudgetOf == "" {
			f.adopted[spec.Name] = r.adopted
		}
		return
	}
	c := child{name: spec.Name, parent: v.Parent, root: spec.Parent == "", planned: spec.Policy == ledger.Planned,
		closed: v.Closed, charged: countsOfParts(v.Charged.Parts)}
	if c.parent == "" && spec.DatasetID == "" {
		return
	}
	c.dataset = ledger.DatasetName(spec.DatasetID)
	if c.planned {
		c.bounds = []counts{countsOfParts(v.Resolution.Plan)}
	}
	for i, limit := range v.Resolution.Limits { // with raises
		for _, m := range limit.Declared(v.Budgets[i].Budget) {
			c.bounds = append(c.bounds, counts{m: 1})
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
			if f.spentFor(c).covers(c.charged) {
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
func (f *Families) spentFor(c child) counts {
	spent := counts{}
	for _, s := range f.shares[[2]string{c.parent, c.name}] {
		for m, n := range s.spent {
			spent[m] += n
		}
	}
	return spent
}

// paidBy reports whether s is this child's share, and still pays for it.
func (c child) paidBy(s *share) bool {
	bound := false
	for _, b := range c.bounds {
		bound = bound || s.held.covers(b) && (!ledger.IsDataset(c.parent) || b.covers(s.held))
	}
	switch {
	case !bound:
		return false
	case !s.released: // it holds all, or has spent all of what it does not
		return true
	}
	return c.closed && c.planned && s.spent.covers(c.charged)
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
		for _, s := range slices.SortedFunc(slices.Values(f.shares[key]), func(a, b *share) int {
			return cmp.Compare(a.position, b.position)
		}) {
			found := ""
			if s.open() {
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
			return &Finding{Ledger: key[0], Position: s.position, What: "share of ledger " + key[1],
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
