// SPDX-License-Identifier: Apache-2.0

package subject

import (
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// Several is what a question about several ledgers is about. See docs/math/children.md §5.6.
type Several struct {
	each      []Subject
	apart     []member              // those of each that take no budget from another one
	mentioned mechanism.Composition // what there may be to warn about
	guarantee string
}

// member is one of several ledgers.
type member struct {
	Subject
	shares []history.Share
	whole  bool // whether shares are all that there is to know of what was charged together
}

// OfSeveral is the subject of questions about several ledgers, at least one, which agree (ledger.Agree). sharing says
// what each has charged together with others, if that is known (history.Groups.Sharing).
func OfSeveral(views []ledger.View, sharing func(ledger.View) ([]history.Share, bool)) (s Several, err error) {
	s.guarantee = ledger.WeakestGuarantee(views)
	for _, v := range views {
		sub, err := Of(v)
		if err != nil {
			return Several{}, err
		}
		s.each = append(s.each, sub)
	}
	var mentioned []mechanism.Composition
	for _, v := range ledger.Apart(views) {
		i := slices.IndexFunc(views, func(o ledger.View) bool { return o.Genesis.Spec.Name == v.Genesis.Spec.Name })
		m := member{Subject: s.each[i]}
		if len(views) > 1 {
			m.shares, m.whole = sharing(v)
		}
		s.apart = append(s.apart, m)
		mentioned = append(mentioned, s.each[i].Standing.Mechanisms)
	}
	s.mentioned, err = accountant.Join(mentioned...)
	return s, err
}

// Ask answers q about each ledger, about a record in all of them, and about one in at most one. All answers
// together are one question's turn.
func (s Several) Ask(q accountant.Question, t *turns.Turn) (out questions.SetAnswer, err error) {
	b := &book{turn: t}
	if out.All, err = s.all(q, b); err != nil {
		return out, err
	}
	b.left = 2 * len(s.each) // at most
	for _, sub := range s.each {
		a := questions.LedgerAnswer{Name: sub.View.Genesis.Spec.Name, Answered: questions.Answered{On: sub.Standing}}
		if left, bounded := sub.View.Left(); bounded {
			a.Left = &left
		}
		if a.Answer, err = b.askStated(sub, q); err != nil {
			return out, err
		}
		running, err := b.ask(sub.Charged, q)
		if err != nil {
			return out, err
		}
		a.On.Running = &running
		for _, budget := range questions.PlanBudgets(sub.View) {
			at, err := b.ask(sub.Stated, accountant.AtDelta(budget.Delta))
			if err != nil {
				return out, err
			}
			a.On.Notes = append(a.On.Notes, questions.PlanNotes(sub.View, at)...)
		}
		out.Ledgers = append(out.Ledgers, a)
	}
	if s.mentioned.Adjacency == mechanism.ReplaceOne && len(s.each) > 1 {
		out.NotOne = "a record that is replaced (replace-one) can leave one ledger for another, and then changes both"
		return out, nil
	}
	out.One = s.one(q, out.Ledgers)
	return out, nil
}

// all answers for a record that is in all ledgers.
func (s Several) all(q accountant.Question, b *book) (out questions.Answered, err error) {
	b.left = 3 // the last part is for the ledgers alone
	promises := func(m member) bool { return m.Standing.Guarantee != ledger.GuaranteeDescriptive }
	promised, people := slices.ContainsFunc(s.apart, promises), s.peopleDrawn()
	if !promised {
		used := s.shared(func(h history.Share) []mechanism.Part { return h.Used })
		out.Answer, err = b.least(s.whole(), used, people, q)
	} else if people {
		out.Answer = noBound(q)
	} else {
		out.Answer, err = b.chain(s.whole(), q)
	}
	if err != nil {
		return out, err
	}
	charged := make([]link, len(s.apart))
	for i, sub := range s.apart {
		charged[i] = link{c: sub.Charged}
	}
	running, err := b.least(charged, s.shared(func(h history.Share) []mechanism.Part { return h.Charged }), people, q)
	if err != nil {
		return out, err
	}
	if unbounded(out.Answer, q) {
		out.Why = "the chain of these ledgers' curves proves no bound; say of charges to several ledgers that the " +
			"sensitivity is over all of them, where it is, or ask about fewer ledgers"
	}
	out.On = questions.Standing{Guarantee: s.guarantee, Running: &running, Mechanisms: s.mentioned, Lost: s.lost()}
	n := len(s.each)
	if n > 1 && s.guarantee != ledger.GuaranteeDescriptive {
		out.On.Assumptions = append(out.On.Assumptions, assumed(fmt.Sprintf("Which ledgers there are, and what plans "+
			"and budgets these %d have, did not depend on what was released.", n)))
	}
	out.On.Assumptions = append(out.On.Assumptions, assumed(fmt.Sprintf("Only the %d ledgers listed here are counted.",
		n)))
	out.On.Assumptions = append(out.On.Assumptions, s.ofEach()...)
	return out, nil
}

// ofEach are the assumptions of each ledger's own answer, on which a number about all of them rests, too.
func (s Several) ofEach() (list []ledger.Assumption) {
	for _, sub := range s.each {
		for _, a := range sub.Standing.Assumptions {
			if a.Kind == ledger.Shared { // the number counts what these ledgers have in common
				continue
			}
			list = append(list, ledger.Assumption{Kind: "set", Descriptive: a.Descriptive,
				Text: fmt.Sprintf("ledger %s, entry %d: %s", sub.View.Genesis.Spec.Name, a.Position, a.Text)})
		}
	}
	return list
}

// lost are those of the ledgers of which a restore has lost something.
func (s Several) lost() (u questions.Uncounted) {
	for _, sub := range s.each {
		u.Add(sub.View.Genesis.Spec.Name, sub.Standing.Assumptions)
	}
	return u
}

// one answers for a record that is in at most one ledger.
func (s Several) one(q accountant.Question, each []questions.LedgerAnswer) *questions.Answered {
	var running accountant.Answer
	out := &questions.Answered{On: questions.Standing{Guarantee: s.guarantee, Mechanisms: s.mentioned,
		Lost: s.lost()}}
	var epsilonLower, deltaLower, logLower *float64
	for i, l := range each {
		if i == 0 || larger(q, l.Answer, out.Answer) {
			out.Answer = l.Answer
		}
		if i == 0 || larger(q, *l.On.Running, running) {
			running = *l.On.Running
		}
		epsilonLower = largest(epsilonLower, l.Answer.EpsilonLower)
		deltaLower = largest(deltaLower, l.Answer.DeltaLower)
		logLower = largest(logLower, l.Answer.LogDeltaLower)
	}
	out.Answer.Analyses = nil // they are the one ledger's
	out.Answer.EpsilonLower, out.Answer.DeltaLower, out.Answer.LogDeltaLower = epsilonLower, deltaLower, logLower
	out.On.Running = &running
	out.On.Assumptions = append([]ledger.Assumption{assumed(fmt.Sprintf("Each record is in at most one of these %d "+
		"ledgers, and which one it is in did not depend on what was released from any of them.", len(each)))},
		s.ofEach()...)
	return out
}

func assumed(text string) ledger.Assumption { return ledger.Assumption{Kind: "set", Text: text} }

// larger reports whether a says more than b: a larger ε, or a larger δ, whichever q asks for.
func larger(q accountant.Question, a, b accountant.Answer) bool {
	if q.Delta != nil {
		return a.Epsilon > b.Epsilon
	}
	return a.LogDelta > b.LogDelta
}

func largest(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
