// SPDX-License-Identifier: Apache-2.0

package subject

import (
	"errors"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// book asks many questions in one turn. Ledgers with equal compositions, such as those of days with the same
// runs, are asked about once; and all share what the analyses keep of their mechanisms.
type book struct {
	turn    *turns.Turn
	session accountant.Session
	left    int // how many parts of the time are left
	known   []entry
}

type entry struct {
	parts  []mechanism.Part
	delta  float64 // NaN where ε was given
	answer accountant.Answer
}

func (b *book) ask(c mechanism.Composition, q accountant.Question) (a accountant.Answer, err error) {
	delta := math.NaN()
	if q.Delta != nil {
		delta = *q.Delta
	}
	for _, e := range b.known {
		if (e.delta == delta || q.Delta == nil && math.IsNaN(e.delta)) && slices.Equal(e.parts, c.Parts) {
			b.left = max(b.left-1, 1)
			return e.answer, nil
		}
	}
	q.Stop = b.turn.Share(max(b.left, 1))
	b.left = max(b.left-1, 1)
	if a, err = b.session.Ask(c, q); err == nil {
		b.known = append(b.known, entry{c.Parts, delta, a})
	}
	return a, err
}

func (b *book) askStated(s Subject, q accountant.Question) (accountant.Answer, error) {
	if s.Filter() {
		b.left = max(b.left-1, 1)
		return accountant.AskFilter(s.Limits, q)
	}
	return b.ask(s.Stated, q)
}

// link is one step of a chain of neighbours, between which a composition was released, or whatever keeps within
// limits. See docs/math/children.md §5.6.1.
type link struct {
	c      mechanism.Composition
	limits []accountant.Limit // of a filter's budgets, otherwise nil
	of     []Subject          // of a link that has what several ledgers guarantee together, otherwise nil
}

func (l link) equal(o link) bool {
	return l.of == nil && o.of == nil && slices.Equal(l.c.Parts, o.c.Parts) && slices.Equal(l.limits, o.limits)
}

func (l link) rhoAndMu() (rho, mu float64) {
	switch {
	case l.of != nil:
		list, err := joined(l.of)
		rho, mu = math.Inf(1), math.Inf(1)
		for _, c := range list {
			r, m := accountant.RhoAndMu(c)
			rho, mu = min(rho, r), min(mu, m)
		}
		if err != nil {
			return math.Inf(1), math.Inf(1)
		}
		return rho, mu
	case l.limits != nil:
		return accountant.FilterRhoAndMu(l.limits)
	}
	return accountant.RhoAndMu(l.c)
}

// ask answers about the link alone, by ask.
func (l link) ask(q accountant.Question, ask func(mechanism.Composition, accountant.Question) (accountant.Answer,
	error)) (best accountant.Answer, err error) {
	switch {
	case l.limits != nil:
		return accountant.AskFilter(l.limits, q)
	case l.of == nil:
		return ask(l.c, q)
	}
	list, err := joined(l.of)
	for i, c := range list {
		a, err := ask(c, q)
		if err != nil {
			return a, err
		}
		if i == 0 || larger(q, best, a) {
			best = a
		}
	}
	if slices.ContainsFunc(l.of, Subject.Filter) { // of a budget that is not used up no lower bound is known
		best.EpsilonLower, best.DeltaLower, best.LogDeltaLower = nil, nil, nil
	}
	return best, err
}

// chain answers about the ends of a chain: the least of the sum of all μ, of the square of the sum of all √ρ, and
// of what the curves of the links prove.
func (b *book) chain(links []link, q accountant.Question) (best accountant.Answer, err error) {
	links = slices.DeleteFunc(links, func(l link) bool { return l.limits == nil && l.of == nil && len(l.c.Parts) == 0 })
	stop := b.turn.Share(max(b.left, 1))
	b.left = max(b.left-1, 1)
	switch len(links) {
	case 0:
		return b.ask(mechanism.Composition{}, q)
	case 1:
		return links[0].ask(q, b.ask)
	}
	var list []accountant.Link
	var distinct []link
	var root, mu float64 // of ρ
	for _, l := range links {
		r, m := l.rhoAndMu()
		root, mu = num.AddUp(root, num.SqrtUp(r)), num.AddUp(mu, m)
		if i := slices.IndexFunc(distinct, l.equal); i >= 0 {
			list[i].Times++
			continue
		}
		distinct = append(distinct, l)
		session := &accountant.Session{}
		list = append(list, accountant.Link{Times: 1, Ask: func(q accountant.Question) (accountant.Answer, error) {
			return l.ask(q, session.Ask)
		}})
	}
	q.Stop = stop
	best, err = accountant.AskChain(list, q)
	if err != nil && !errors.Is(err, accountant.ErrStopped) {
		return best, err
	}
	for _, m := range []struct {
		value float64
		m     mechanism.Mechanism
	}{{mu, mechanism.GaussianDP{Mu: mu}}, {root, mechanism.ZeroConcentratedDP{Rho: num.MulUp(root, root)}}} {
		if math.IsInf(m.value, 1) {
			continue
		}
		a, failed := accountant.Ask(mechanism.Composition{Adjacency: links[0].c.Adjacency,
			Parts: []mechanism.Part{{Mechanism: m.m, Count: 1}}}, q)
		if failed == nil && (err != nil || larger(q, best, a)) {
			best, err = a, nil
		}
	}
	best.EpsilonLower, best.DeltaLower, best.LogDeltaLower = nil, nil, nil
	return best, err
}
