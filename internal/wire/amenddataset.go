package wire

import (
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// ToAmendDataset converts an amendment. What its budgets come to is found by package
// keeper. Fields in errors start with "amend.".
func ToAmendDataset(m *pb.AmendDataset) (ledger.AmendDataset, error) {
	v, err := toAmendDataset(m)
	if err == nil {
		err = noApproval("amend", m)
	}
	if err == nil {
		err = checkAmendDataset(v)
	}
	if err != nil {
		return ledger.AmendDataset{}, err
	}
	return v, nil
}

var amendDatasetForm = travels[ledger.AmendDataset, *pb.AmendDataset]{toAmendDataset, checkAmendDataset,
	fromAmendDataset}

// toAmendDataset converts without a check of ranges.
func toAmendDataset(m *pb.AmendDataset) (v ledger.AmendDataset, err error) {
	if err := Known("amend", m); err != nil {
		return v, err
	}
	v = ledger.AmendDataset{Title: m.Title, Owners: m.GetOwners(), Independent: m.GetIndependentOfOutputs(),
		Confirm: m.GetConfirm(), Reason: m.GetReason(), Approval: toApproval(m.GetApproval())}
	if v.Labels, err = ToLabels("amend.labels", m.GetLabels()); err != nil {
		return v, err
	}
	if m.GetCaps() != nil {
		caps := toCaps(m.GetCaps())
		v.Caps = &caps
	}
	for i, b := range m.GetBudgets() {
		budget, err := ToBudget(b)
		if err != nil {
			return v, Under(fmt.Sprintf("amend.budgets[%d]", i), err)
		}
		v.Budgets = append(v.Budgets, budget)
	}
	if m.GetAddVersion() != nil {
		version := toVersion(m.GetAddVersion())
		v.AddVersion = &version
	}
	return v, nil
}

// checkAmendDataset checks all but what the budgets have come to.
func checkAmendDataset(v ledger.AmendDataset) error {
	if n := len(v.Budgets); n > ledger.MaxBudgets {
		return Invalid("amend.budgets", fmt.Sprintf("%d budgets", n), fmt.Sprintf("at most %d", ledger.MaxBudgets))
	}
	for i, b := range v.Budgets {
		if err := b.Check(); err != nil {
			return Under(fmt.Sprintf("amend.budgets[%d]", i), FromDomain(err))
		}
	}
	if n := len(v.Owners); n > maxOwners {
		return Invalid("amend.owners", fmt.Sprintf("%d owners", n), fmt.Sprintf("at most %d", maxOwners))
	}
	for i, o := range v.Owners {
		if err := checkText(fmt.Sprintf("amend.owners[%d]", i), o, maxText); err != nil {
			return err
		}
	}
	if v.Title != nil {
		if err := checkText("amend.title", *v.Title, maxText); err != nil {
			return err
		}
	}
	if v.Caps != nil {
		if err := checkCaps("amend.caps", *v.Caps); err != nil {
			return err
		}
	}
	if v.AddVersion != nil {
		if n := len(v.AddVersion.DerivedFrom); n > maxDerivedFrom {
			return Invalid("amend.add_version.derived_from", fmt.Sprintf("%d datasets", n),
				fmt.Sprintf("at most %d", maxDerivedFrom))
		}
		if err := checkReferences("amend.add_version.of", []ledger.DatasetReference{v.AddVersion.Of}); err != nil {
			return err
		}
		if err := checkReferences("amend.add_version.derived_from", v.AddVersion.DerivedFrom); err != nil {
			return err
		}
	}
	if err := checkLabels("amend.labels", v.Labels); err != nil {
		return err
	}
	if err := checkApproval("amend", v.Approval); err != nil {
		return err
	}
	return checkReason("amend.reason", v.Reason)
}

func fromAmendDataset(v ledger.AmendDataset) *pb.AmendDataset {
	m := &pb.AmendDataset{Title: v.Title, Owners: v.Owners, Labels: fromLabels(v.Labels),
		Budgets: fromBudgets(v.Budgets), IndependentOfOutputs: v.Independent, Confirm: v.Confirm,
		Reason: v.Reason, Approval: fromApproval(v.Approval)}
	if v.Caps != nil { // both may be 0
		m.Caps = &pb.DatasetCaps{Charge: v.Caps.Charge, Ledger: v.Caps.Ledger}
	}
	if v.AddVersion != nil {
		m.AddVersion = fromVersion(*v.AddVersion)
	}
	return m
}
