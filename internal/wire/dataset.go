// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// ToDataset converts what a dataset is registered with into the spec of its record, with
// the policy FILTER. Whose budget it shares is not looked at. Fields in errors start with
// "spec.".
func ToDataset(s *pb.DatasetSpec) (ledger.Spec, error) {
	spec, err := toDataset(s)
	if err == nil {
		err = CheckDataset(spec)
	}
	if err != nil {
		return ledger.Spec{}, Under("spec", err)
	}
	return spec, nil
}

func toDataset(s *pb.DatasetSpec) (ledger.Spec, error) {
	if s == nil {
		return ledger.Spec{}, Absent("id", "a dataset's identifier")
	}
	if err := Known("spec", s); err != nil {
		return ledger.Spec{}, err
	}
	adj, err := ToAdjacency("adjacency", s.GetAdjacency())
	if err != nil {
		return ledger.Spec{}, err
	}
	labels, err := ToLabels("labels", s.GetLabels())
	if err != nil {
		return ledger.Spec{}, err
	}
	name, err := DatasetName("id", s.GetId())
	if err != nil {
		return ledger.Spec{}, err
	}
	spec := ledger.Spec{
		Name: name, Adjacency: adj, PrivacyUnit: s.GetPrivacyUnit(), DatasetID: s.GetId(),
		DatasetVersion: s.GetVersion(), Labels: labels, Policy: ledger.Filtered,
		Dataset: &ledger.Dataset{Title: s.GetTitle(), Owners: s.GetOwners(), MaxRecords: s.GetMaxRecordsPerUnit(),
			EnforcedBy: s.GetBoundEnforcedBy(), Caps: capsForm.Plain(s.GetCaps()),
			Independence: s.GetIndependence()},
	}
	if spec.Dataset.DerivedFrom, err = referenceForm.ReadAll("derived_from", s.GetDerivedFrom()); err != nil {
		return ledger.Spec{}, err
	}
	if spec.Budgets, err = budgetForm.ReadAll("budgets", s.GetBudgets()); err != nil {
		return ledger.Spec{}, err
	}
	if len(spec.Budgets) == 0 {
		if len(spec.Dataset.DerivedFrom) == 0 {
			return ledger.Spec{}, Absent("budgets", "the total budget, or the dataset in derived_from whose budget it "+
				"shares")
		}
		spec.Policy = ledger.Descriptive
	}
	return spec, nil
}

// DatasetName checks a dataset's identifier and returns the name of its record.
func DatasetName(field, id string) (string, error) {
	const allowed = "1 to 200 bytes that are not all white space or invisible, without them at the beginning or the end"
	if id == "" {
		return "", Absent(field, allowed)
	}
	if err := checkText(field, id, ledger.MaxDatasetID); err != nil {
		return "", err
	}
	name := ledger.DatasetName(id)
	if name == ledger.DatasetsPrefix || len(name) > maxName || strings.TrimSpace(id) != id {
		return "", Invalid(field, Quote(id), allowed)
	}
	return name, nil
}

// CheckDataset checks what makes a spec a dataset's record.
func CheckDataset(s ledger.Spec) error {
	name, err := DatasetName("id", s.DatasetID)
	switch {
	case err != nil:
		return err
	case name != s.Name:
		return Invalid("name", Quote(s.Name), name)
	}
	if err := DatasetForm.Check("", *s.Dataset); err != nil {
		return err
	}
	return checkSpec(s)
}

// DatasetForm converts what a dataset's record keeps beside a spec. Its fields are called as in the API.
var DatasetForm = FormOf[ledger.Dataset, *recordv1.Dataset]()

// The parts of a dataset, by their tables.
var (
	capsForm      = FormOf[ledger.Caps, *pb.DatasetCaps]()
	referenceForm = FormOf[ledger.DatasetReference, *pb.DatasetReference]()
	versionForm   = FormOf[ledger.DatasetVersion, *pb.DatasetVersion]()
)

// FromDataset makes the API's view of what a dataset's record has beside other ledgers.
func FromDataset(v ledger.View) *pb.Dataset {
	s, d := v.Genesis.Spec, v.Dataset
	out := &pb.Dataset{
		Spec: &pb.DatasetSpec{
			Id: s.DatasetID, Version: s.DatasetVersion, Title: d.Title, Owners: d.Owners,
			Adjacency: FromAdjacency(s.Adjacency), PrivacyUnit: s.PrivacyUnit,
			MaxRecordsPerUnit: d.MaxRecords, BoundEnforcedBy: d.EnforcedBy, Labels: fromLabels(d.Labels),
			Caps: capsForm.given(d.Caps), DerivedFrom: referenceForm.WriteAll(d.DerivedFrom),
			Independence: d.Independence,
		},
		BudgetOf: d.BudgetOf, NeedsConfirming: d.Waits(), Confirmation: ApprovalForm.given(d.Confirmation.Approval),
		ConfirmedBy: d.Confirmation.By, Versions: versionForm.WriteAll(d.Versions),
	}
	for _, b := range v.Budgets {
		out.Spec.Budgets = append(out.Spec.Budgets, FromBudget(b.Budget))
	}
	return out
}

// FromListedDataset is FromSummary of a dataset's record, which says what its amendments have made of it.
func FromListedDataset(v ledger.View) *pb.Ledger {
	out := FromSummary(v.Summary)
	out.Dataset = FromDataset(v)
	out.Dataset.Versions = nil
	return out
}

// MaxDatasetLedgers bounds the ledgers of a dataset's statement, so that it stays below the
// 4 MiB that clients accept.
const MaxDatasetLedgers = 5000

// CheckAssertion checks an assertion of independence of outputs with its reason.
func CheckAssertion(asserted bool, reason string) error {
	if asserted {
		return checkReason("reason", reason)
	}
	return checkText("reason", reason, maxReason)
}

// FromDatasetLedger makes the API's view of a ledger of a dataset.
func FromDatasetLedger(v ledger.View, share float64) *pb.DatasetLedger {
	s := v.Genesis.Spec
	return &pb.DatasetLedger{Name: s.Name, Of: &pb.DatasetReference{Id: s.DatasetID, Version: s.DatasetVersion},
		Policy: fromPolicy(s.Policy), Closed: v.Closed, TotalCount: v.Total, Share: share, Guarantee: v.Guarantee}
}
