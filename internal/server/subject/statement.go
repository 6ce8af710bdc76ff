// SPDX-License-Identifier: Apache-2.0

package subject

import (
	"errors"
	"math"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/variant"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// Stated holds a statement's numbers.
type Stated struct {
	Privacy            []questions.StatedPrivacy
	Advantage, Rho, Mu float64
	TradeOff           []accountant.TradeOffPoint
	Groups             []questions.GroupPrivacy
	Observed           []questions.Observed
	Stopped            bool // before they were as tight as they get
}

// What a statement says of an attacker who may accuse wrongly this often, and of several
// records together.
var (
	statedErrors = []float64{0.01, 0.001}
	statedGroups = []uint64{2, 5}
)

// State computes the numbers, each in its share of the time. Those of groups are at the δ with which a statement
// of a ledger with this own δ opens.
func (s Subject) State(deltas []float64, own float64, t *turns.Turn) (out Stated, err error) {
	var stated, charged accountant.Session
	otherwise := s.otherwise()
	// 0 gives the advantage. Where the trade-off is wanted, the best ε is among the others or near.
	curve := accountant.CurveQuestion{Epsilons: []float64{0, 1, 2, 4}, Alphas: statedErrors}
	for i, delta := range deltas {
		// questions, with two for the curve
		left := (2+len(otherwise))*(len(deltas)-i) + 2 + 2*len(statedGroups)
		q := accountant.AtDelta(delta)
		q.Stop = t.Share(left)
		p := questions.StatedPrivacy{}
		if p.Stated, err = s.AskIn(&stated, q); err != nil {
			return out, err
		}
		p.Running = p.Stated
		if !s.Prefix() {
			q.Stop = t.Share(left - 1)
			if p.Running, err = charged.Ask(s.Charged, q); err != nil {
				return out, err
			}
		}
		for j, o := range otherwise {
			q.Stop = t.Share(left - 2 - j)
			switch a, err := o.session.Ask(o.run, q); {
			case err == nil:
				o.say(&p, a)
			case !errors.Is(err, accountant.ErrStopped): // without it the statement still stands
				return out, err
			}
		}
		out.Privacy = append(out.Privacy, p)
		out.Stopped = out.Stopped || p.Stated.Stopped || p.Running.Stopped
		if !math.IsInf(p.Stated.Epsilon, 1) {
			curve.Epsilons = append(curve.Epsilons, p.Stated.Epsilon)
		}
	}
	if p, ok := questions.Headline(out.Privacy, own); ok {
		if err = s.stateGroups(&out, p.Stated.Delta, t, 2+2*len(statedGroups)); err != nil {
			return out, err
		}
	}
	// At these ε the curve's own bound on the advantage is about as good as it gets.
	curve.Stop = t.Stop
	c, err := s.AskCurve(curve)
	if err != nil {
		return out, err
	}
	out.Advantage, out.TradeOff, out.Stopped = c.Advantage, c.TradeOff, out.Stopped || c.Stopped
	if s.Filter() {
		out.Rho, out.Mu = accountant.FilterRhoAndMu(s.Limits)
	} else {
		out.Rho, out.Mu = accountant.RhoAndMu(s.Stated)
	}
	return out, s.observed(&out, t)
}

// observed compares what canaries showed with what is proven. Where that is of what was charged, it is of what was
// charged or reserved when they were recorded: later charges prove less, and would hide what they show.
func (s Subject) observed(out *Stated, t *turns.Turn) error {
	for i, o := range s.View.Observed {
		of := s
		if s.Standing.Guarantee == ledger.GuaranteeDescriptive && len(o.Charged) > 0 {
			by, err := mechanism.Compose(s.Stated.Adjacency, o.Charged)
			if err != nil {
				return err
			}
			of = OfWorkload(by)
		}
		run := o.Canaries.Run()
		c, err := of.AskCurve(accountant.CurveQuestion{Epsilons: []float64{0}, Canaries: &run,
			Stop: t.Share(len(s.View.Observed) - i)})
		switch {
		case err == nil:
			out.Observed = append(out.Observed, questions.Observed{Observation: o, Finding: c.Canaries})
			out.Stopped = out.Stopped || c.Stopped
		case errors.Is(err, accountant.ErrStopped):
			out.Observed, out.Stopped = append(out.Observed, questions.Observed{Observation: o}), true
		default:
			return err
		}
	}
	return nil
}

// otherwise is what would have been run if batches had been drawn in another way.
type otherwise struct {
	session accountant.Session
	run     mechanism.Composition
	say     func(*questions.StatedPrivacy, accountant.Answer) // writes its answer into the statement
}

// otherwise lists what can be said of other ways to draw the batches. A budget says nothing of batches.
func (s Subject) otherwise() (list []*otherwise) {
	if s.Filter() {
		return nil
	}
	for _, o := range []struct {
		change func(mechanism.Composition) (mechanism.Composition, error)
		say    func(*questions.StatedPrivacy, accountant.Answer)
	}{
		{variant.IfShuffled, func(p *questions.StatedPrivacy, a accountant.Answer) {
			p.Shuffled, p.ShuffledLower = &a.Epsilon, a.EpsilonLower
		}},
		{variant.IfAllocated, func(p *questions.StatedPrivacy, a accountant.Answer) { p.Allocated = &a.Epsilon }},
		{variant.IfSampled, func(p *questions.StatedPrivacy, a accountant.Answer) { p.Sampled = &a.Epsilon }},
	} {
		if run, err := o.change(s.Stated); err == nil {
			list = append(list, &otherwise{run: run, say: o.say})
		}
	}
	return list
}

// stateGroups adds what holds for several records together: what their descriptors say of
// groups, otherwise what follows from the privacy curve of one record.
func (s Subject) stateGroups(out *Stated, delta float64, t *turns.Turn, left int) error {
	var session accountant.Session
	one := func(q accountant.Question) (accountant.Answer, error) { return s.AskIn(&session, q) }
	for i, size := range statedGroups {
		stop := t.Share(left - i)
		epsilon, err := math.Inf(1), error(nil)
		if together, refused := variant.ForGroup(s.Stated, size); refused == nil && !s.Filter() {
			var a accountant.Answer
			if a, err = accountant.Ask(together, accountant.Question{Delta: &delta, Stop: stop}); err == nil {
				epsilon = a.Epsilon
			}
		} else {
			epsilon, err = accountant.GroupEpsilon(one, delta, size, stop)
		}
		if err != nil && !errors.Is(err, accountant.ErrStopped) { // without it the statement still stands
			return err
		}
		out.Groups = append(out.Groups, questions.GroupPrivacy{Size: size, Delta: delta, Epsilon: epsilon})
	}
	return nil
}
