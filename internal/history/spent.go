// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Spent is what a group, or several together, have spent.
type Spent struct {
	Group
	Charged  mechanism.Composition // with what child ledgers hold
	Used     []mechanism.Part      // what was charged, and all that is reserved
	Shares   []float64             // of what is limited, by Used
	Applied  uint64                // of what was charged
	Reserved uint64
}

// Largest returns the groups that have used most: of a budget, or in applications where there is none. Months
// are in their order, the newest ones if there are too many. others is what all further ones have spent
// together, whose number is Entries of none; total is what all have. The interrupt, which may be nil, ends it.
func (g *Groups) Largest(limit int, adj mechanism.Adjacency, gauge *budget.Gauge,
	in *num.Interrupt) (list []Spent, others, total Spent, more int) {
	all := make([]Spent, 0, len(g.groups))
	for _, group := range g.groups {
		if len(group.cells) > 0 {
			s := g.spent(adj, gauge, in, group)
			s.Group = *group
			all = append(all, s)
		}
	}
	by := func(a, b Spent) int { // what has used more comes first
		if g.by == ByMonth {
			return cmp.Compare(b.Name, a.Name)
		}
		return cmp.Or(-cmp.Compare(most(a.Shares), most(b.Shares)),
			-cmp.Compare(a.Applied+a.Reserved, b.Applied+b.Reserved), strings.Compare(a.Name, b.Name))
	}
	slices.SortStableFunc(all, by)
	total = g.spent(adj, gauge, in, g.groups...)
	if len(all) > limit {
		var rest []*Group
		for _, s := range all[limit:] {
			rest = append(rest, &s.Group)
		}
		others, more = g.spent(adj, gauge, in, rest...), len(rest)
		all = all[:limit]
	}
	if g.by == ByMonth {
		slices.Reverse(all)
	}
	return all, others, total, more
}

// Of returns what the group with a name that stands in entries has spent; false if there is none.
func (g *Groups) Of(name string, adj mechanism.Adjacency, gauge *budget.Gauge, in *num.Interrupt) (Spent, bool) {
	for _, group := range g.groups {
		if !group.Unnamed && group.Name == name && len(group.cells) > 0 {
			s := g.spent(adj, gauge, in, group)
			s.Group = *group
			return s, true
		}
	}
	return Spent{}, false
}

// most is the largest share, 0 of none.
func most(shares []float64) (m float64) {
	for _, s := range shares {
		m = max(m, s)
	}
	return m
}

// spent adds up groups.
func (g *Groups) spent(adj mechanism.Adjacency, gauge *budget.Gauge, in *num.Interrupt, groups ...*Group) (s Spent) {
	sums := map[uint32]cell{}
	var order []uint32
	for _, group := range groups {
		s.Entries += group.Entries
		for _, c := range group.cells {
			sum, ok := sums[c.mechanism]
			if !ok {
				order = append(order, c.mechanism)
			}
			sum.charged += c.charged
			sum.reserved += c.reserved
			sum.inChild += c.inChild
			sums[c.mechanism] = sum
		}
	}
	slices.Sort(order)
	s.Charged.Adjacency = adj
	for _, m := range order {
		sum := sums[m]
		s.Applied += sum.charged
		s.Reserved += sum.reserved
		if n := sum.charged + sum.inChild; n > 0 {
			s.Charged.Parts = append(s.Charged.Parts, mechanism.Part{Mechanism: g.mechanisms[m], Count: n})
		}
		if n := sum.charged + sum.reserved; n > 0 {
			s.Used = append(s.Used, mechanism.Part{Mechanism: g.mechanisms[m], Count: n})
		}
	}
	s.Shares = gauge.Shares(s.Used, in)
	return s
}
