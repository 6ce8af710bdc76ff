package subject

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/set"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// Several is what a question about several ledgers is about. See docs/math/children.md §5.6.
type Several struct {
	each      []Subject
	stated    []mechanism.Composition // what a record in all of them may lose; each one bounds it
	charged   mechanism.Composition   // by all of them, so far
	mentioned mechanism.Composition   // what there may be to warn about
	guarantee string
	filters   bool // whether the guarantee of one is a filter
}

// OfSeveral is the subject of questions about several ledgers, at least one, which agree (set.Agree) and
// have charged together what charged says.
func OfSeveral(views []ledger.View, charged mechanism.Composition) (s Several, err error) {
	s.charged, s.guarantee = charged, set.Guarantee(views)
	var apart []Subject
	for _, v := range views {
		sub, err := Of(v)
		if err != nil {
			return Several{}, err
		}
		s.each, s.filters = append(s.each, sub), s.filters || sub.Filter()
	}
	for _, v := range set.Apart(views) {
		i := slices.IndexFunc(views, func(o ledger.View) bool { return o.Genesis.Spec.Name == v.Genesis.Spec.Name })
		apart = append(apart, s.each[i])
	}
	for choice, more := 0, true; more; choice++ {
		var all []mechanism.Composition
		more = false
		for _, sub := range apart {
			c, another := sub.declared(choice)
			all, more = append(all, c), more || another
		}
		joined, err := accountant.Join(all...)
		if err != nil {
			return Several{}, err
		}
		s.stated = append(s.stated, joined)
	}
	var mentioned []mechanism.Composition
	for _, sub := range apart {
		mentioned = append(mentioned, sub.Standing.Mechanisms)
	}
	s.mentioned, err = accountant.Join(mentioned...)
	return s, err
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
	if s.charged.Adjacency == mechanism.ReplaceOne && len(s.each) > 1 {
		out.NotOne = "a record that is replaced (replace-one) can leave one ledger for another, and then changes both"
		return out, nil
	}
	out.One = s.one(q, out.Ledgers)
	return out, nil
}

// all answers for a record that is in all ledgers: the least of the bounds that the ways to declare the
// budgets have. Of a budget that is not used up no lower bound is known.
func (s Several) all(q accountant.Question, b *book) (out questions.Answered, err error) {
	b.left = len(s.stated) + 2 // the last part is for the ledgers alone
	for i, c := range s.stated {
		a, err := b.ask(c, q)
		if err != nil {
			return out, err
		}
		if i == 0 || larger(q, out.Answer, a) {
			out.Answer = a
		}
	}
	if s.filters {
		out.Answer.EpsilonLower, out.Answer.DeltaLower, out.Answer.LogDeltaLower = nil, nil, nil
	}
	running, err := b.ask(s.charged, q)
	if err != nil {
		return out, err
	}
	out.On = questions.Standing{Guarantee: s.guarantee, Running: &running, Mechanisms: s.mentioned}
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
			list = append(list, ledger.Assumption{Kind: "set", Descriptive: a.Descriptive,
				Text: fmt.Sprintf("ledger %s, entry %d: %s", sub.View.Genesis.Spec.Name, a.Position, a.Text)})
		}
	}
	return list
}

// one answers for a record that is in at most one ledger.
func (s Several) one(q accountant.Question, each []questions.LedgerAnswer) *questions.Answered {
	var running accountant.Answer
	out := &questions.Answered{On: questions.Standing{Guarantee: s.guarantee, Mechanisms: s.mentioned}}
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
