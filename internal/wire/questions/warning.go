// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/wire"
)

// A warning is something that is allowed, and counted as it was reported, but rarely what
// somebody wants. Its name identifies it where a ledger's owners acknowledge it.
type warning struct{ name, text string }

// String returns the text with the name in brackets, as it is shown.
func (w warning) String() string { return w.text + " [" + w.name + "]" }

// maxWarned bounds the distinct mechanisms that are looked at.
const maxWarned = 1000

// Warnings returns the warnings about mechanisms in a fixed order, each once: a δ that is
// not well under one over the size of the dataset, sampling that amplifies nothing,
// mechanisms that protect nobody. deltas are those of the answers, of which the largest
// counts. Those that were acknowledged are left out.
func Warnings(deltas []float64, mechanisms []*pb.Mechanism, acknowledged []*pb.Acknowledgement) []string {
	return texts(warningsOf(deltas, mechanisms), names(acknowledged))
}

func warningsOf(deltas []float64, mechanisms []*pb.Mechanism) (out []warning) {
	f := found{}
	for _, m := range mechanisms[:min(len(mechanisms), maxWarned)] {
		f.walk(m.ProtoReflect())
	}
	delta := slices.Max(append(slices.Clone(deltas), 0))
	if n := f.largest; n > 0 && !(delta*float64(n) <= 0.1) {
		how := "close to"
		if delta*float64(n) > 1 {
			how = "more than"
		}
		safe, _ := strconv.ParseFloat(num.FormatReadDown(0.1/float64(n), 1), 64)
		out = append(out, warning{wire.LargeDelta, fmt.Sprintf("δ = %g is %s 1/%d. A δ of 1/n, with n records, would "+
			"allow publishing a random record outright; use at most %g for this dataset.", delta, how, n, safe)})
	}
	if f.has["shuffled"] {
		out = append(out, warning{wire.Shuffled, "Batches that are cut from shuffled data are counted as if the " +
			"order were known: no useful amplification is proven for them. A known attack learns at least the lower " +
			"bound of the answer. Poisson sampling or random allocation usually costs less."})
	}
	if f.has["name_and_shame"] {
		out = append(out, warning{wire.NameAndShame, "name_and_shame publishes each record with probability delta, " +
			"and protects nobody whose record it publishes. On average it publishes delta times dataset_size records."})
	}
	return out
}

// texts returns the warnings that were not acknowledged, as they are shown.
func texts(list []warning, acknowledged []string) (out []string) {
	for _, w := range list {
		if !slices.Contains(acknowledged, w.name) {
			out = append(out, w.String())
		}
	}
	return out
}

// names are those of acknowledged warnings.
func names[A interface{ GetWarning() string }](acknowledged []A) (list []string) {
	for _, a := range acknowledged {
		list = append(list, a.GetWarning())
	}
	return list
}

// found is what there is to warn about in some mechanisms.
type found struct {
	largest uint64          // dataset_size
	has     map[string]bool // kinds of mechanisms
}

// walk looks at a message and all in it.
func (f *found) walk(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Name() == "dataset_size":
			f.largest = max(f.largest, v.Uint())
		case field.Message() == nil:
		case field.IsList():
			for i := range v.List().Len() {
				f.walk(v.List().Get(i).Message())
			}
		default:
			if o := field.ContainingOneof(); o != nil && o.Name() == "kind" {
				if f.has == nil {
					f.has = map[string]bool{}
				}
				f.has[string(field.Name())] = true
			}
			f.walk(v.Message())
		}
		return true
	})
}

// warnings are those about a composition.
func warnings(c mechanism.Composition, deltas ...float64) []warning {
	parts := c.Parts[:min(len(c.Parts), maxWarned)]
	list := make([]*pb.Mechanism, len(parts))
	for i, p := range parts {
		list[i] = wire.FromMechanism(p.Mechanism)
	}
	return warningsOf(deltas, list)
}

// PlanBudgets are the δ at which a plan may cost more than a budget that it met when it was
// created: its parallel mechanisms were then taken to have partitions fixed in advance
// (docs/decisions/parallel.md). After a raise its budgets are others.
func PlanBudgets(v ledger.View) (list []accountant.Budget) {
	raised := slices.ContainsFunc(v.Balance.Assumptions, func(a ledger.Assumption) bool { return a.Kind == "raise" })
	if v.Guarantee != ledger.GuaranteePlan || raised ||
		!slices.ContainsFunc(v.Resolution.Plan,
			func(p mechanism.Part) bool { return mechanism.PartsByOutputs(p.Mechanism) }) {
		return nil
	}
	for _, b := range v.Genesis.Spec.Budgets {
		if b.Epsilon > 0 && b.Delta > 0 {
			list = append(list, b)
		}
	}
	return list
}

// timeNotes warns of an answer that was cut short.
func timeNotes(stopped bool) []string {
	if !stopped {
		return nil
	}
	return []string{"The time for this question ran out. The answer is proven, but may not be the tightest: " +
		"ask again with a longer deadline, or when the daemon is less busy."}
}

// PlanNotes warns where the plan of v costs more than a budget, by an answer at its δ.
func PlanNotes(v ledger.View, a accountant.Answer) []string {
	return texts(planWarnings(v, a), names(v.Acknowledged))
}

func planWarnings(v ledger.View, a accountant.Answer) (list []warning) {
	for _, b := range PlanBudgets(v) {
		if a.Delta == b.Delta && a.Epsilon > b.Epsilon {
			list = append(list, warning{wire.PlanOverBudget, fmt.Sprintf("The plan costs ε = %.6g at δ = %g, which is "+
				"more than its budget of ε = %g. When the ledger was created, the partitions of its parallel "+
				"mechanisms were taken to be fixed in advance. Nothing in the plan says so, and they now count as "+
				"chosen after seeing outputs.", a.Epsilon, b.Delta, b.Epsilon)})
		}
	}
	return list
}
