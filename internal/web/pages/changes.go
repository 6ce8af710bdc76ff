// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
)

// change is what a proposal would do to one number: a budget, or how often a mechanism may be applied.
type change struct {
	What, Before, After, Growth string
	// EpsilonBefore and EpsilonAfter are what the budgets guarantee at a δ; empty where that cannot be told.
	EpsilonBefore, EpsilonAfter, At string
}

// Told reports whether it is known from which ε to which one it leads.
func (c change) Told() bool { return c.EpsilonBefore != "" && c.EpsilonAfter != "" }

// effect is what approving a proposal would do, as far as that can be told before.
type effect struct {
	Changes []change
	Notes   []string // in whole sentences
}

// effectOf finds what a proposal would do to a ledger, or to a dataset's record, as it is now. delta is the ledger's
// own.
func (s *site) effectOf(ctx context.Context, l *pb.Ledger, p *pb.Propose, delta float64) (e effect) {
	switch {
	case p.GetRaise() != nil:
		e = s.raised(ctx, l, p.GetRaise().GetBudgets(), delta)
		s.replanned(ctx, l, p.GetRaise().GetPlan(), delta, &e)
		e.independent(p.GetRaise().GetIndependentOfOutputs())
	case p.GetRefund() != nil:
		e.note("What entry %d has charged counts no longer. Whoever proposes it asserts that nothing computed for it "+
			"was or will be released. ε spent falls, and the guarantee is descriptive afterwards.",
			p.GetRefund().GetPosition())
		s.given(ctx, l, p.GetRefund().GetPosition(), &e)
	case p.GetFree() != nil:
		e.note("The rest of reservation %d is given back. Whoever proposes it asserts that nothing computed for it "+
			"was or will be released.", p.GetFree().GetReservation())
		for _, r := range l.GetReservations() {
			if r.GetPosition() == p.GetFree().GetReservation() {
				e.note("It holds %s, for %s.", spelling.Held(r), cmp.Or(r.GetHolder(), r.GetPrincipal()))
			}
		}
	case p.GetReconcile() != nil:
		if r := p.GetReconcile(); r.GetAcceptLoss() {
			e.note("What was lost is never counted, and the guarantee is descriptive afterwards.")
		} else if len(r.GetEvents()) == 0 {
			e.note("Nothing was lost, whoever proposes it says.")
		} else {
			e.note("This is charged as lost: %s.", spelling.Events(r.GetEvents()))
		}
	case p.GetAmendDataset() != nil:
		m := p.GetAmendDataset()
		if e = s.raised(ctx, l, m.GetBudgets(), delta); len(e.Changes) > 0 {
			e.independent(m.GetIndependentOfOutputs())
		}
		if m.GetConfirm() {
			e.note("The dataset is confirmed, and gives its ledgers shares of its budget from then on.")
		}
		if m.GetCaps() != nil {
			e.note("The caps change to: %s.", spelling.Proposed(p))
		}
	}
	return e
}

// independent says what is asserted of a larger budget, and what follows where nothing is.
func (e *effect) independent(asserted bool) {
	if asserted {
		e.note("Whoever proposes it asserts that the decision did not depend on outputs.")
		return
	}
	e.note("Nobody asserts that the decision did not depend on outputs, so once something was charged the guarantee " +
		"is descriptive afterwards: it is no longer one of the whole budget.")
}

func (e *effect) note(form string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(form, args...))
}

// budgetWords is a budget as the daemon spells it.
func budgetWords(b *pb.Budget) string {
	budget, err := wire.ToBudget(b)
	if err != nil {
		return spelling.Budget(b)
	}
	return spelling.Counted(budget.String())
}

// raised compares the budgets of a ledger with those that it would have. Without any nothing changes.
func (s *site) raised(ctx context.Context, l *pb.Ledger, after []*pb.Budget, delta float64) (e effect) {
	for i, b := range after {
		c := change{What: "budget", After: budgetWords(b)}
		c.EpsilonAfter, c.At = s.epsilonOf(ctx, l, b, delta)
		if i < len(l.GetBudgets()) {
			before := l.GetBudgets()[i].GetBudget()
			c.Before = budgetWords(before)
			c.EpsilonBefore, _ = s.epsilonOf(ctx, l, before, delta)
			c.Growth = growth(largest(before), largest(b))
			if before.GetDelta() != b.GetDelta() {
				c.Growth += ", and δ " + growth(before.GetDelta(), b.GetDelta())
			}
		}
		e.Changes = append(e.Changes, c)
	}
	return e
}

// largest is the number of a budget that its guard limits.
func largest(b *pb.Budget) float64 { return max(b.GetEpsilon(), b.GetRho(), b.GetMu()) }

// growth is by how much a number grows, rounded up.
func growth(before, after float64) string {
	switch {
	case after == before:
		return "nothing"
	case !(before > 0):
		return "from nothing"
	}
	return "+" + num.FormatReadUp(100*(after/before-1), 3) + " %"
}

// epsilonOf is the ε that a budget allows, at its own δ, or at the ledger's where it has none.
func (s *site) epsilonOf(ctx context.Context, l *pb.Ledger, b *pb.Budget, delta float64) (epsilon, at string) {
	m := &pb.Mechanism{}
	switch {
	case b.Epsilon != nil:
		return up(b.GetEpsilon()), spelling.Exact(b.GetDelta())
	case b.Rho != nil:
		of := &pb.ZeroConcentratedDp{Rho: b.Rho, Delta: b.Delta}
		m.Kind = &pb.Mechanism_ZeroConcentratedDp{ZeroConcentratedDp: of}
	case b.Mu != nil:
		m.Kind = &pb.Mechanism_GaussianDp{GaussianDp: &pb.GaussianDp{Mu: b.Mu}}
	}
	return s.epsilonFor(ctx, &pb.Workload{Adjacency: l.GetSpec().GetAdjacency(),
		Events: []*pb.Event{{Mechanism: m, Count: 1}}}, delta), spelling.Exact(delta)
}

// epsilonFor is the ε of a workload; empty where it cannot be told.
func (s *site) epsilonFor(ctx context.Context, w *pb.Workload, delta float64) string {
	answer, err := s.api.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Workload{Workload: w}, Given: &pb.QueryPrivacyRequest_Delta{Delta: delta}})
	if err != nil || answer.Epsilon == nil {
		return ""
	}
	return up(answer.GetEpsilon())
}

// replanned compares a ledger's plan with the one that it would have.
func (s *site) replanned(ctx context.Context, l *pb.Ledger, plan *pb.Workload, delta float64, e *effect) {
	if plan == nil {
		return
	}
	w := proto.Clone(plan).(*pb.Workload)
	w.Adjacency = l.GetSpec().GetAdjacency()
	before := &pb.Workload{Adjacency: w.GetAdjacency()}
	for _, p := range l.GetPlan() {
		for left := p.GetPlanned(); left > 0; { // an event has a smaller count
			n := min(left, math.MaxUint32)
			before.Events = append(before.Events, &pb.Event{Mechanism: p.GetMechanism(), Count: uint32(n)})
			if left -= n; len(before.Events) > 1000 {
				return
			}
		}
	}
	e.Changes = append(e.Changes, change{What: "the plan", Before: spelling.Events(before.GetEvents()),
		After: spelling.Events(w.GetEvents()), EpsilonBefore: s.epsilonFor(ctx, before, delta),
		EpsilonAfter: s.epsilonFor(ctx, w, delta), At: spelling.Exact(delta),
		Growth: growth(total64(before), total64(w))})
}

// total64 is how many applications a workload has.
func total64(w *pb.Workload) (n float64) {
	for _, e := range w.GetEvents() {
		n += float64(e.GetCount())
	}
	return n
}

// given says what an entry has charged, to those who may see entries.
func (s *site) given(ctx context.Context, l *pb.Ledger, position uint64, e *effect) {
	answer, err := s.api.ListEntries(ctx, &pb.ListEntriesRequest{Ledger: l.GetName(), StartPosition: position,
		EndPosition: position, PageSize: 1})
	if err != nil || len(answer.GetEntries()) == 0 {
		return
	}
	charged := answer.GetEntries()[0]
	e.note("Entry %d, by %s on %s: %s.", position, charged.GetPrincipal(), spelling.Time(charged.GetTime()),
		spelling.ActionOf(charged))
}
