// SPDX-License-Identifier: Apache-2.0

// Package theorem bounds a composition by one classical theorem, asked for by
// name, and turns one privacy guarantee into another where that is a theorem.
//
// Textbooks and papers state privacy by these theorems; here each can be compared
// with the accountant's answer. They never take part in that answer: none is
// better than its analyses. Every bound is rounded up, so it is never below what the
// theorem says, and a theorem whose conditions do not hold refuses with the reason.
//
// It is a package of its own because no answer may depend on it.
package theorem

import (
	"fmt"
	"math"
	"strings"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Theorem is a named bound on ε at a δ, or on δ at an ε.
type Theorem struct {
	Name    string
	Says    string // the bound
	Assumes string // when it holds, and what it leaves out
	Source  string

	// Classical is true for a theorem that is not an analysis of the accountant; the accountant
	// has analyses that are never worse.
	Classical bool

	prove func(*work) (bound, string)
}

// All returns the accountant's analyses, in their order, followed by the classical theorems.
func All() []Theorem { return append(engine(), classical()...) }

// names returns the names of all theorems.
func names() []string {
	var names []string
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return names
}

// Question is a question to one theorem.
type Question struct {
	accountant.Question

	// GroupSize is the number k ≥ 1 of records that differ, for group-privacy. It is 0 for all
	// other theorems.
	GroupSize uint64
}

// Ask answers q about c by the named theorem alone. If the theorem does not apply, the only
// result says why, as for accountant.AskBy. c must come from mechanism.Compose. Ask returns a
// *mechanism.ParameterError if q or the name is not allowed.
func Ask(c mechanism.Composition, q Question, name string) (accountant.Answer, error) {
	for _, t := range All() {
		if t.Name == name {
			return t.ask(c, q)
		}
	}
	return accountant.Answer{},
		&mechanism.ParameterError{Field: "analysis", Value: fmt.Sprintf("%q", name),
			Allowed: strings.Join(names(), ", ")}
}

func (t Theorem) ask(c mechanism.Composition, q Question) (accountant.Answer, error) {
	const most = 1 << 32
	switch grouped := t.Name == groupPrivacy; {
	case grouped && (q.GroupSize == 0 || q.GroupSize > most):
		return accountant.Answer{},
			&mechanism.ParameterError{Field: "group_size", Value: fmt.Sprint(q.GroupSize),
				Allowed: "a whole number from 1 to 2^32"}
	case !grouped && q.GroupSize != 0:
		return accountant.Answer{},
			&mechanism.ParameterError{Field: "group_size", Value: fmt.Sprint(q.GroupSize),
				Allowed: "none: it belongs to " + groupPrivacy}
	}
	if !t.Classical {
		return accountant.AskBy(c, q.Question, accountant.Analysis(t.Name))
	}
	if err := q.Check(); err != nil {
		return accountant.Answer{}, err
	}
	losses, err := kinds.Compose(c)
	if err != nil {
		return accountant.Answer{}, err
	}
	w := &work{Question: q, composition: c, losses: losses}
	b, reason := bound{logDelta: math.Inf(-1)}, "" // of nothing
	switch {
	case len(losses) == 0:
	case q.Delta != nil && *q.Delta == 0:
		reason = "it is a statement about δ above 0"
	default:
		b, reason = t.prove(w)
	}
	return w.answer(accountant.Analysis(t.Name), b, reason), nil
}

// work is a question about one composition.
type work struct {
	Question
	composition mechanism.Composition
	losses      loss.Composition
}

// bound is what a theorem proves: a bound on ε if δ was given, and otherwise on ln δ.
type bound struct {
	epsilon  float64 // ≥ 0, maybe +Inf
	logDelta float64 // ≤ 0, maybe −Inf
	order    float64 // the Rényi order, or 0
}

// by calls the function for the direction of the question.
func (w *work) by(epsilon func(delta float64) bound, logDelta func(epsilon float64) bound) bound {
	if w.Delta != nil {
		return epsilon(*w.Delta)
	}
	return logDelta(*w.Epsilon)
}

func (w *work) answer(name accountant.Analysis, b bound, reason string) accountant.Answer {
	r := accountant.Result{Analysis: name, Unsupported: reason}
	a := accountant.Answer{Analysis: name}
	if reason != "" {
		a.Analysis, b = "", bound{epsilon: math.Inf(1)} // ε = ∞, ln δ = 0
	}
	if w.Delta != nil {
		a.Delta, a.Epsilon = *w.Delta, b.epsilon
	} else {
		a.Epsilon, a.Delta, a.LogDelta = *w.Epsilon, math.Min(1, num.ExpUp(b.logDelta)), b.logDelta
	}
	if reason == "" {
		r.Order = b.order
		if w.Delta != nil {
			r.Epsilon = a.Epsilon
		} else {
			r.Delta, r.LogDelta = a.Delta, a.LogDelta
		}
	}
	a.Analyses = []accountant.Result{r}
	return a
}
