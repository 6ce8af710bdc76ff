package record

import (
	"fmt"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// fromDataset is nil for a ledger.
func fromDataset(d *ledger.Dataset) *recordv1.Dataset {
	if d == nil {
		return nil
	}
	return &recordv1.Dataset{Title: d.Title, Owners: d.Owners, MaxRecordsPerUnit: d.MaxRecords,
		BoundEnforcedBy: d.EnforcedBy, Caps: wire.FromCaps(d.Caps), DerivedFrom: wire.FromReferences(d.DerivedFrom),
		BudgetOf: d.BudgetOf, Independence: d.Independence, ToConfirm: d.ToConfirm}
}

// toDataset is the inverse of fromDataset, without a check of ranges.
func toDataset(r *recordv1.Dataset) *ledger.Dataset {
	if r == nil {
		return nil
	}
	d := wire.ToStoredDataset(r.GetTitle(), r.GetOwners(), r.GetMaxRecordsPerUnit(), r.GetBoundEnforcedBy(),
		r.GetCaps(), r.GetDerivedFrom(), r.GetBudgetOf(), r.GetIndependence())
	d.ToConfirm = r.GetToConfirm()
	return d
}

// checkDataset checks that a record is a dataset's by its name and by what is in it, or by neither.
func checkDataset(s ledger.Spec) error {
	if is := ledger.IsDataset(s.Name); is != (s.Dataset != nil) {
		return invalid("name", wire.Quote(s.Name), "a dataset's record begins with dataset:, and nothing else does")
	}
	if s.Dataset == nil {
		return nil
	}
	if shared := s.Dataset.BudgetOf != ""; shared != (s.Policy == ledger.Descriptive) || s.Policy == ledger.Planned ||
		shared && !ledger.IsDataset(s.Dataset.BudgetOf) {
		return invalid("budget_of", wire.Quote(s.Dataset.BudgetOf), "a dataset's record without budgets, or none with")
	}
	return wire.CheckDataset(s)
}

// toStoredAmendDataset converts an amendment with what it has come to, without a check of
// ranges.
func toStoredAmendDataset(r *recordv1.AmendDataset) (ledger.AmendDataset, error) {
	if err := wire.RejectUnknown(r); err != nil {
		return ledger.AmendDataset{}, wire.Under("amend_dataset", err)
	}
	action, err := wire.ReadAction("amend_dataset", r.GetAmend())
	if err != nil {
		return ledger.AmendDataset{}, err
	}
	v := action.(ledger.AmendDataset)
	v.Late = r.GetLate()
	v.Resolution, err = toResolution(r.GetResolution())
	return v, err
}

func fromStoredAmendDataset(v ledger.AmendDataset) *recordv1.AmendDataset {
	return &recordv1.AmendDataset{Amend: wire.FromAction(v).(*pb.AmendDataset),
		Resolution: fromResolution(v.Resolution), Late: v.Late}
}

// checkAmended checks what an amendment has come to.
func checkAmended(v ledger.AmendDataset) error {
	if n := len(v.Resolution.Limits); n != len(v.Budgets) || len(v.Resolution.Plan) > 0 {
		return invalid("amend_dataset.resolution.limits", fmt.Sprintf("%d limits", n), "one of each budget")
	}
	for i, l := range v.Resolution.Limits {
		if err := checkLimit(v.Budgets[i], l); err != nil {
			return wire.Under(fmt.Sprintf("amend_dataset.resolution.limits[%d]", i), err)
		}
	}
	return nil
}
