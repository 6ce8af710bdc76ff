// SPDX-License-Identifier: Apache-2.0

// Package subject answers what a workload, a ledger or several ledgers cost, each as it was read at one
// committed position.
package subject

import (
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// Subject is what a question is about: a workload, or a ledger at one committed position. What
// may be stated about a ledger follows from its guarantee (docs/math/adaptivity.md §5): the
// cost of the whole plan; the cost of the whole budget; or the cost of what was charged or is
// reserved, which assumes that nothing depended on outputs. What is reserved counts because it
// may have been used already: a job commits afterwards. What child ledgers hold counts as
// charged.
type Subject struct {
	Stated   mechanism.Composition // what costs are stated of, unless a filter's are
	Limits   []accountant.Limit    // of a filter's budgets, otherwise nil
	Charged  mechanism.Composition // so far
	Apart    bool                  // Charged is of other ledgers: those of a dataset
	Standing questions.Standing
	View     ledger.View // of a ledger
}

// OfWorkload is the subject of questions about a workload.
func OfWorkload(workload mechanism.Composition) Subject {
	return Subject{Stated: workload, Charged: workload, Standing: questions.Standing{Mechanisms: workload}}
}

// Of is the subject of questions about a ledger.
func Of(v ledger.View) (Subject, error) {
	position := v.Head.Position
	spent, err := accountant.Join(v.Charged,
		mechanism.Composition{Adjacency: v.Charged.Adjacency, Parts: reserved(v.Reservations)})
	if err != nil {
		return Subject{}, err
	}
	sub := Subject{Stated: spent, Charged: v.Charged, View: v,
		Standing: questions.Standing{Guarantee: v.Guarantee, Position: &position, Assumptions: v.Balance.Assumptions,
			Acknowledged: v.Acknowledged}}
	switch v.Guarantee {
	case ledger.GuaranteePlan:
		sub.Stated = mechanism.Composition{Adjacency: v.Charged.Adjacency, Parts: v.Resolution.Plan}
	case ledger.GuaranteeFilter:
		sub.Limits = v.Resolution.Limits
	}
	sub.Standing.Mechanisms = sub.Stated
	return sub, nil
}

// reserved returns what open reservations hold, all together. It leaves out those of child
// ledgers, which count as charged.
func reserved(open []ledger.Reservation) (parts []mechanism.Part) {
	at := map[mechanism.Mechanism]int{}
	for _, r := range open {
		if r.Child != "" {
			continue
		}
		for _, p := range r.Rest {
			i, ok := at[p.Mechanism]
			if !ok {
				i = len(parts)
				at[p.Mechanism] = i
				parts = append(parts, mechanism.Part{Mechanism: p.Mechanism})
			}
			parts[i].Count += p.Count
		}
	}
	return parts
}

// Prefix reports whether the stated cost is that of what was charged.
func (s Subject) Prefix() bool {
	return s.Standing.Guarantee == "" || s.Standing.Guarantee == ledger.GuaranteeDescriptive && !s.Apart &&
		!slices.ContainsFunc(s.View.Reservations, func(r ledger.Reservation) bool { return r.Child == "" })
}

// Filter reports whether the stated cost is what the budgets imply.
func (s Subject) Filter() bool { return s.Standing.Guarantee == ledger.GuaranteeFilter }

// Budgets returns a ledger's budgets in force.
func Budgets(v ledger.View) (list []accountant.Budget) {
	for _, b := range v.Balance.Budgets {
		list = append(list, b.Budget)
	}
	if list == nil { // a plan's have no balance
		list = v.Genesis.Spec.Budgets
	}
	return list
}

// Ask answers under the guarantee.
func (s Subject) Ask(q accountant.Question) (accountant.Answer, error) {
	return s.AskIn(&accountant.Session{}, q)
}

// AskIn is ask with a session about the stated composition.
func (s Subject) AskIn(session *accountant.Session, q accountant.Question) (accountant.Answer, error) {
	if s.Filter() {
		return accountant.AskFilter(s.Limits, q)
	}
	return session.Ask(s.Stated, q)
}

// AskCurve answers under the guarantee.
func (s Subject) AskCurve(q accountant.CurveQuestion) (accountant.Curve, error) {
	if s.Filter() {
		return accountant.AskFilterCurve(s.Limits, q)
	}
	return accountant.AskCurve(s.Stated, q)
}
