// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// toPolicy converts the policy with what belongs to it.
func toPolicy(s *pb.LedgerSpec, spec *ledger.Spec) (err error) {
	switch s.GetPolicy() {
	case pb.LedgerSpec_POLICY_UNSPECIFIED, pb.LedgerSpec_DESCRIPTIVE:
		spec.Policy = ledger.Descriptive
	case pb.LedgerSpec_PLAN:
		spec.Policy = ledger.Planned
	case pb.LedgerSpec_FILTER:
		spec.Policy = ledger.Filtered
	default:
		return Invalid("policy", s.Policy.String(), "PLAN, FILTER or DESCRIPTIVE (or unset)")
	}
	if spec.Plan, err = toPlan("plan", spec.Adjacency, s.GetPlan()); err != nil {
		return err
	}
	if spec.ExpectedRun, err = toPlan("expected_run", spec.Adjacency, s.GetExpectedRun()); err != nil {
		return err
	}
	spec.Budgets, err = budgetForm.ReadAll("budgets", s.GetBudgets())
	return err
}

func fromPolicy(p ledger.Policy) pb.LedgerSpec_Policy {
	switch p {
	case ledger.Planned:
		return pb.LedgerSpec_PLAN
	case ledger.Filtered:
		return pb.LedgerSpec_FILTER
	}
	return pb.LedgerSpec_DESCRIPTIVE
}

// toPlan converts a workload of a spec; its events' ranges are checkPolicy's.
func toPlan(field string, adj mechanism.Adjacency, w *pb.Workload) (ledger.Workload, error) {
	if w == nil {
		return ledger.Workload{}, nil
	}
	if err := Known(field, w); err != nil {
		return ledger.Workload{}, err
	}
	if a := w.GetAdjacency(); a != FromAdjacency(adj) {
		return ledger.Workload{}, Invalid(field+".adjacency", a.String(), adj.String()+", the ledger's")
	}
	switch n := len(w.GetEvents()); {
	case n == 0:
		return ledger.Workload{}, Absent(field+".events", "at least one event, or no "+field)
	case n > MaxWorkloadEvents:
		return ledger.Workload{}, Invalid(field+".events", fmt.Sprintf("%d events", n),
			fmt.Sprintf("at most %d", MaxWorkloadEvents))
	}
	events, err := toEvents(field+".events", w.GetEvents())
	if err != nil {
		return ledger.Workload{}, err
	}
	return ledger.Workload{Name: w.GetName(), Events: events}, nil
}

func fromPlan(adj mechanism.Adjacency, w ledger.Workload) *pb.Workload {
	if w.IsZero() {
		return nil
	}
	return &pb.Workload{Name: w.Name, Adjacency: FromAdjacency(adj), Events: FromEvents(w.Events)}
}

var budgetForm = FormOf[accountant.Budget, *pb.Budget]()

// ToBudget converts a budget. A number that is given must not be 0, which stands
// for one that is not.
func ToBudget(b *pb.Budget) (accountant.Budget, error) { return budgetForm.Read("", b) }

// FromBudget is the inverse of ToBudget.
func FromBudget(b accountant.Budget) *pb.Budget { return budgetForm.Write(b) }

// checkPolicy checks what CheckPolicy does, with the fields in the API's path.
func checkPolicy(s ledger.Spec) error {
	for _, w := range []struct {
		field  string
		events []mechanism.Event
	}{{"plan.events", s.Plan.AsCharged()}, {"expected_run.events", s.ExpectedRun.Events}} {
		if err := checkEvents(s.Adjacency, w.field, w.events); err != nil {
			return err
		}
	}
	if err := s.CheckPolicy(); err != nil {
		return FromDomain(err)
	}
	return nil
}
