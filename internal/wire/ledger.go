// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// ToSpec converts a ledger's spec. What it comes to, and its parent, are not looked
// at. Fields in errors start with "spec.".
func ToSpec(s *pb.LedgerSpec) (ledger.Spec, error) {
	spec, err := ReadSpec(s)
	if err == nil && ledger.IsSystem(spec.Name) {
		err = Invalid("name", Quote(spec.Name), nameAllowed)
	}
	if err == nil && ledger.IsDataset(spec.Name) {
		err = Invalid("name", Quote(spec.Name), nameAllowed+"; CreateDataset registers a dataset")
	}
	if err != nil {
		return ledger.Spec{}, Under("spec", err)
	}
	return spec, nil
}

// Inherit gives a ledger that has a parent the parent's adjacency, privacy unit and dataset, each where it has none of
// its own, and the parent's rule about charges to several ledgers.
func Inherit(child, parent *pb.LedgerSpec) {
	if child.GetAdjacency() == pb.Workload_ADJACENCY_UNSPECIFIED {
		child.Adjacency = parent.GetAdjacency()
	}
	for _, w := range []*pb.Workload{child.Plan, child.ExpectedRun} {
		if w != nil && w.Adjacency == pb.Workload_ADJACENCY_UNSPECIFIED {
			w.Adjacency = child.Adjacency
		}
	}
	child.OverAllOnly = child.GetOverAllOnly() || parent.GetOverAllOnly()
	if child.GetPrivacyUnit() == "" {
		child.PrivacyUnit = parent.GetPrivacyUnit()
	}
	if child.GetDatasetId() == "" && child.GetDatasetVersion() == "" {
		child.DatasetId, child.DatasetVersion = parent.GetDatasetId(), parent.GetDatasetVersion()
	}
}

// InSpec puts the field of an error that a spec came to below "spec."; other errors
// stay as they are.
func InSpec(err error) error {
	var wrong *InvalidError
	if converted := FromDomain(err); errors.As(converted, &wrong) {
		return Under("spec", converted)
	}
	return err
}

// ReadSpec converts a ledger's spec as ToSpec does. Fields in errors start at the spec.
func ReadSpec(s *pb.LedgerSpec) (ledger.Spec, error) {
	adj, err := ToAdjacency("adjacency", s.GetAdjacency())
	if err != nil {
		return ledger.Spec{}, err
	}
	labels, err := ToLabels("labels", s.GetLabels())
	if err != nil {
		return ledger.Spec{}, err
	}
	spec := ledger.Spec{
		Name: s.GetName(), Adjacency: adj, PrivacyUnit: s.GetPrivacyUnit(),
		DatasetID: s.GetDatasetId(), DatasetVersion: s.GetDatasetVersion(),
		Owner: s.GetOwner(), Labels: labels, Parent: s.GetParent(), OverAllOnly: s.GetOverAllOnly(),
	}
	if err := toPolicy(s, &spec); err != nil {
		return ledger.Spec{}, err
	}
	return spec, checkSpec(spec)
}

// checkSpec checks all but labels.
func checkSpec(s ledger.Spec) error {
	if err := CheckLedgerName("name", s.Name); err != nil {
		return err
	}
	for _, t := range []struct {
		field, text string
		limit       int
	}{
		{"privacy_unit", s.PrivacyUnit, maxUnit}, {"dataset_id", s.DatasetID, maxText},
		{"dataset_version", s.DatasetVersion, maxText}, {"owner", s.Owner, maxText},
		{"plan.name", s.Plan.Name, maxText}, {"expected_run.name", s.ExpectedRun.Name, maxText},
	} {
		if err := checkText(t.field, t.text, t.limit); err != nil {
			return err
		}
	}
	if s.Parent != "" {
		if err := CheckLedgerName("parent", s.Parent); err != nil {
			return err
		}
		if s.Parent == s.Name {
			return Invalid("parent", Quote(s.Parent), "another ledger")
		}
	}
	return checkPolicy(s)
}

// FromSpec is the inverse of ToSpec.
func FromSpec(s ledger.Spec) *pb.LedgerSpec {
	return &pb.LedgerSpec{
		Name: s.Name, Adjacency: FromAdjacency(s.Adjacency), PrivacyUnit: s.PrivacyUnit,
		DatasetId: s.DatasetID, DatasetVersion: s.DatasetVersion,
		Owner: s.Owner, Labels: fromLabels(s.Labels), Policy: fromPolicy(s.Policy),
		Plan: fromPlan(s.Adjacency, s.Plan), Budgets: budgetForm.WriteAll(s.Budgets),
		ExpectedRun: fromPlan(s.Adjacency, s.ExpectedRun),
		Parent:      s.Parent, OverAllOnly: s.OverAllOnly,
	}
}

// ToLabels converts labels, sorted by key.
func ToLabels(field string, m map[string]string) ([]ledger.Label, error) {
	if len(m) == 0 {
		return nil, nil
	}
	if len(m) > maxLabels {
		return nil, Invalid(field, fmt.Sprintf("%d labels", len(m)), fmt.Sprintf("at most %d", maxLabels))
	}
	out := make([]ledger.Label, 0, len(m))
	for k, v := range m {
		out = append(out, ledger.Label{Key: k, Value: v})
	}
	slices.SortFunc(out, func(x, y ledger.Label) int { return strings.Compare(x.Key, y.Key) })
	return out, checkLabels(field, out)
}

// checkLabels checks labels of the domain.
func checkLabels(field string, labels []ledger.Label) error {
	if len(labels) > maxLabels {
		return Invalid(field, fmt.Sprintf("%d labels", len(labels)), fmt.Sprintf("at most %d", maxLabels))
	}
	for i, l := range labels {
		switch {
		case !isSegment(l.Key):
			return Invalid(field, "key "+Quote(l.Key), "keys [a-z0-9][a-z0-9._-]{0,62}")
		case i > 0 && labels[i-1].Key >= l.Key:
			return Invalid(field, "key "+Quote(l.Key)+" after "+Quote(labels[i-1].Key), "distinct keys in order")
		}
		if err := checkText(l.Key, l.Value, maxText); err != nil {
			return Under(field, err)
		}
	}
	return nil
}

func fromLabels(labels []ledger.Label) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	m := make(map[string]string, len(labels))
	for _, l := range labels {
		m[l.Key] = l.Value
	}
	return m
}
