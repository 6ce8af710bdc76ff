// SPDX-License-Identifier: Apache-2.0

package subject

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/variant"
)

// whole are the links of a chain that has what each ledger guarantees. One release may be charged to several of the
// ledgers with a sensitivity in each, so each is a link of its own; but those that take no such charge, and one that
// does, are one link.
func (s Several) whole() (links []link) {
	first := link{c: mechanism.Composition{Adjacency: s.mentioned.Adjacency}}
	takes := false
	for _, sub := range s.apart {
		only := sub.View.Genesis.Spec.OverAllOnly
		if !only && takes {
			links = append(links, linkOf(sub.Subject))
			continue
		}
		takes = takes || !only
		first.of = append(first.of, sub.Subject)
	}
	if len(first.of) == 1 {
		first = linkOf(first.of[0])
	}
	return append(links, first)
}

func linkOf(sub Subject) link {
	if sub.Filter() {
		return link{c: mechanism.Composition{Adjacency: sub.Stated.Adjacency}, limits: sub.Limits}
	}
	return link{c: sub.Stated}
}

// declared is what the subject guarantees as a composition. A filter's budgets can be declared in several
// ways, each of which is a bound on its own; more reports whether there is a choice after this one. After
// the last choice it stays at that.
func (s Subject) declared(choice int) (c mechanism.Composition, more bool) {
	if !s.Filter() {
		return s.Stated, false
	}
	var ways []mechanism.Mechanism
	for _, b := range s.View.Balance.Budgets {
		of := b.Limit.Declared(b.Budget)
		if of == nil { // ρ with a δ: any (ε, δ′) with a larger δ′ holds
			d := min(2*b.Limit.Delta, (1+b.Limit.Delta)/2)
			of = append(of, mechanism.ApproximateDP{Epsilon: b.Limit.Implies(d), Delta: d})
		}
		ways = append(ways, of...)
	}
	way := ways[min(choice, len(ways)-1)]
	return mechanism.Composition{Adjacency: s.Stated.Adjacency, Parts: []mechanism.Part{{Mechanism: way, Count: 1}}},
		choice+1 < len(ways)
}

// joined are compositions of what all ledgers of a link guarantee together. Each one bounds it.
func joined(of []Subject) (list []mechanism.Composition, err error) {
	for choice, more := 0, true; more; choice++ {
		var all []mechanism.Composition
		more = false
		for _, sub := range of {
			c, another := sub.declared(choice)
			all, more = append(all, c), more || another
		}
		c, err := accountant.Join(all...)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// shared are the links of a chain that has what was charged, and counts each release once that was charged to several
// of the ledgers: as it is, or as that of a group. parts says what of a share counts. It is nil where nothing is known
// of a release as that of a group, or of what was charged together.
func (s Several) shared(parts func(history.Share) []mechanism.Part) (links []link) {
	adjacency := s.mentioned.Adjacency
	var all []mechanism.Composition
	type release struct {
		part  *ledger.SetPart
		in    uint64           // how many of the ledgers
		parts []mechanism.Part // the most that one of them has of each
	}
	together := map[string]*release{}
	var order []*release
	for _, sub := range s.apart {
		if !sub.whole { // its children, or it before a loss, may have been charged together with the others
			if sub.shares == nil && sub.View.Genesis.Spec.Policy == ledger.Descriptive { // they could not be read
				return nil
			}
			own := sub.Charged
			if sub.Standing.Guarantee == ledger.GuaranteeDescriptive { // with what is reserved
				own = sub.Stated
			}
			links = append(links, link{c: own})
			continue
		}
		for _, share := range sub.shares {
			list := parts(share)
			switch {
			case len(list) == 0:
				continue
			case share.Part == nil:
				all = append(all, mechanism.Composition{Adjacency: adjacency, Parts: list})
				continue
			}
			r := together[share.Set]
			if r == nil {
				r = &release{part: share.Part}
				together[share.Set] = r
				order = append(order, r)
			}
			r.in++
			at := mechanism.Searcher()
			for _, p := range list {
				if i, ok := at(r.parts, p.Mechanism); ok {
					r.parts[i].Count = max(r.parts[i].Count, p.Count)
				} else {
					r.parts = append(r.parts, p)
				}
			}
		}
	}
	for _, r := range order {
		c := mechanism.Composition{Adjacency: adjacency, Parts: r.parts}
		if r.part.Contribution != ledger.OverAll {
			var err error
			if c, err = variant.ForMembers(c, r.in, r.part.Contribution == ledger.PeopleDrawnInEach); err != nil {
				return nil
			}
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return links
	}
	c, err := accountant.Join(all...)
	if err != nil {
		return nil
	}
	return append(links, link{c: c})
}

// peopleDrawn reports whether something that is on a sample of people, with their rows of several ledgers, may have
// been charged to the ledgers. Then the ledgers' own curves prove nothing for such people: whoever sees that a person
// was drawn, by the rows in another ledger, meets the mechanism as if it was not on a sample. Only descriptive ledgers
// take such charges.
func (s Several) peopleDrawn() bool {
	drawn := func(h history.Share) bool {
		return h.Part != nil && h.Part.Members > 1 && h.Part.Contribution == ledger.PeopleDrawnInEach
	}
	return len(s.each) > 1 && slices.ContainsFunc(s.apart, func(m member) bool {
		unread := m.shares == nil && !m.whole
		return m.View.Genesis.Spec.Policy == ledger.Descriptive && (unread || slices.ContainsFunc(m.shares, drawn))
	})
}

// noBound answers that nothing is proven.
func noBound(q accountant.Question) accountant.Answer {
	a := accountant.Answer{Epsilon: math.Inf(1), Analysis: "chain"}
	if q.Epsilon != nil {
		a.Epsilon, a.Delta = *q.Epsilon, 1
	} else {
		a.Delta = *q.Delta
	}
	a.Analyses = []accountant.Result{{Analysis: a.Analysis, Epsilon: a.Epsilon, Delta: a.Delta, LogDelta: a.LogDelta}}
	return a
}

// least answers by releases that are counted once if it can, otherwise by the ledgers' own curves, unless people are
// drawn.
func (b *book) least(each, shared []link, people bool, q accountant.Question) (accountant.Answer, error) {
	if shared == nil && slices.ContainsFunc(each, func(l link) bool { return len(l.c.Parts) > 0 || l.limits != nil }) {
		if people {
			return noBound(q), nil
		}
		return b.chain(each, q)
	}
	return b.chain(shared, q)
}

// unbounded reports whether an answer proves nothing.
func unbounded(a accountant.Answer, q accountant.Question) bool {
	return q.Delta != nil && math.IsInf(a.Epsilon, 1) || q.Epsilon != nil && a.Delta >= 1
}
