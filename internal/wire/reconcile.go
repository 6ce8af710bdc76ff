package wire

import (
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ToReconcile converts what a restored ledger has lost: events that are valid under
// adj, none, or an accepted loss. Fields in errors start with "reconcile.".
func ToReconcile(adj mechanism.Adjacency, r *pb.Reconcile) (ledger.Reconcile, error) {
	if r == nil { // which would say that nothing was lost
		return ledger.Reconcile{}, Absent("reconcile", "events, none, or accept_loss")
	}
	v, err := toReconcile(r)
	switch {
	case err != nil:
		return ledger.Reconcile{}, err
	case v.Over:
		return ledger.Reconcile{}, Invalid("reconcile.over_budget", "true", "false: the daemon finds out")
	}
	if err := noApproval("reconcile", r); err != nil {
		return ledger.Reconcile{}, err
	}
	if err := checkReconciling(v); err != nil {
		return ledger.Reconcile{}, err
	}
	if err := checkEvents(adj, "reconcile.events", v.Events); err != nil {
		return v, err
	}
	if len(v.Events) > 0 && v.Contribution == 0 {
		return v, Absent("reconcile.contribution", "OVER_ALL if the events were charged to this ledger alone, or to "+
			"several with that contribution; otherwise the contribution with which they were charged to several")
	}
	return v, nil
}

// toReconcile converts without a check of ranges.
func toReconcile(r *pb.Reconcile) (ledger.Reconcile, error) {
	v := ledger.Reconcile{AcceptLoss: r.GetAcceptLoss(), Reason: r.GetReason(), Over: r.GetOverBudget(),
		Approval: toApproval(r.GetApproval())}
	err := Known("reconcile", r)
	if err != nil || len(r.GetEvents()) == 0 {
		if err == nil && r.GetContribution() != pb.SetPart_CONTRIBUTION_UNSPECIFIED {
			err = Invalid("reconcile.contribution", r.GetContribution().String(), "none without events")
		}
		return v, err
	}
	if v.Events, err = toEvents("reconcile.events", r.GetEvents()); err == nil &&
		r.GetContribution() != pb.SetPart_CONTRIBUTION_UNSPECIFIED {
		v.Contribution, err = ToContribution("reconcile.contribution", r.GetContribution())
	}
	return v, err
}

// checkReconciling checks all but the events.
func checkReconciling(v ledger.Reconcile) error {
	if n := len(v.Events); n > MaxChargeEvents || n > 0 && v.AcceptLoss {
		return Invalid("reconcile.events", fmt.Sprintf("%d events", n),
			"at most 1,000, and none where the loss is accepted; the rest in further ones")
	}
	if v.Contribution != 0 && !v.Contribution.Valid() {
		return Invalid("reconcile.contribution", fmt.Sprint(v.Contribution), "one that is known")
	}
	if err := CheckContribution("reconcile.contribution", v.Contribution, v.Events); err != nil {
		return err
	}
	if err := checkApproval("reconcile", v.Approval); err != nil {
		return err
	}
	if v.AcceptLoss {
		return checkReason("reconcile.reason", v.Reason)
	}
	return checkText("reconcile.reason", v.Reason, maxReason)
}

func fromReconcile(v ledger.Reconcile) *pb.Reconcile {
	r := &pb.Reconcile{AcceptLoss: v.AcceptLoss, Reason: v.Reason, OverBudget: v.Over,
		Approval: fromApproval(v.Approval)}
	if len(v.Events) > 0 {
		r.Events, r.Contribution = FromEvents(v.Events), pb.SetPart_Contribution(v.Contribution)
	}
	return r
}

var reconcileForm = travels[ledger.Reconcile, *pb.Reconcile]{toReconcile, checkReconcile, fromReconcile}

func checkReconcile(v ledger.Reconcile) error {
	if err := checkReconciling(v); err != nil || len(v.Events) == 0 {
		return err
	}
	return checkCharged("reconcile", v.Events, nil)
}
