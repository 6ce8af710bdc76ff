// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Policy says what guards a ledger's budget, and so what an answer guarantees.
type Policy uint8

const (
	// Descriptive has no budget: answers assume that parameters and stopping do
	// not depend on outputs. It is the zero value.
	Descriptive Policy = iota
	// Planned allows the events of a declared plan, in any order, skipped or
	// stopped at will, also depending on outputs: the plan's own curve covers all
	// of that (docs/math/adaptivity.md §5.2).
	Planned
	// Filtered allows whatever its budgets' guards can charge: parameters may
	// depend on earlier outputs too.
	Filtered
)

// String is the API's spelling: "DESCRIPTIVE".
func (p Policy) String() string {
	if !p.valid() {
		return fmt.Sprintf("Policy(%d)", uint8(p))
	}
	return [...]string{"DESCRIPTIVE", "PLAN", "FILTER"}[p]
}

// valid reports whether p is one of the policies.
func (p Policy) valid() bool { return p <= Filtered }

// Label is a key with a value. Lists of labels are sorted by key, keys distinct.
type Label struct{ Key, Value string }

// Workload is a list of events under the ledger's adjacency. In a plan whose
// only event has count 0 that stands for as many as fit the budgets.
type Workload struct {
	Name   string // for people
	Events []mechanism.Event
}

// AsCharged is the workload's events, one for as many as fit.
func (w Workload) AsCharged() []mechanism.Event {
	if len(w.Events) == 1 && w.Events[0].Count == 0 {
		return []mechanism.Event{{Mechanism: w.Events[0].Mechanism, Count: 1}}
	}
	return w.Events
}

// String is what people read: "700 × gaussian(noise multiplier 2)", after the name if it has one.
func (w Workload) String() string {
	events := make([]string, len(w.Events))
	for i, e := range w.Events {
		events[i] = fmt.Sprintf("%d × %v", e.Count, e.Mechanism)
	}
	text := strings.Join(events, ", ")
	if w.Name != "" {
		return strconv.Quote(w.Name) + ": " + text
	}
	return text
}

// Equal reports whether both say the same, in the same order.
func (w Workload) Equal(o Workload) bool {
	return w.Name == o.Name && slices.Equal(w.Events, o.Events)
}

// IsZero reports whether nothing was given.
func (w Workload) IsZero() bool { return w.Name == "" && len(w.Events) == 0 }

// Spec is what a ledger is created with, as requested. It never changes.
type Spec struct {
	Name           string
	Adjacency      mechanism.Adjacency
	PrivacyUnit    string // whose contribution the sensitivity bounds
	DatasetID      string
	DatasetVersion string
	Owner          string
	Labels         []Label
	Policy         Policy
	Plan           Workload            // of Planned
	Budgets        []accountant.Budget // of Filtered, all enforced; of Planned, what the plan must meet
	ExpectedRun    Workload            // of Filtered: what guards must be able to charge, and RDP orders are chosen for
	Parent         string              // the ledger that has set aside what this one may spend; "" if none has
	Dataset        *Dataset            // of a dataset's record; nil for a ledger
	OverAllOnly    bool                // sets charge it only with the contribution OverAll
}

// Equal reports whether two requests ask for the same ledger.
func (s Spec) Equal(o Spec) bool {
	field, _, _ := s.difference(o)
	return field == ""
}

// Conflict is ErrExists with the first field in which asked differs from there.
func Conflict(there, asked Spec) error {
	field, has, wants := there.difference(asked)
	return fmt.Errorf("ledger %s: %w: %s: %s; allowed: %s, as it was created, or another name",
		there.Name, ErrExists, field, wants, has)
}

// difference names the first field in which s and o differ, in the API's
// spelling, with both values; "" where there is none. Characters that are not
// ASCII are escaped, as the values may look alike.
func (s Spec) difference(o Spec) (field, mine, other string) {
	for _, f := range []struct{ name, mine, other string }{
		{"name", s.Name, o.Name},
		{"privacy_unit", s.PrivacyUnit, o.PrivacyUnit},
		{"dataset_id", s.DatasetID, o.DatasetID},
		{"dataset_version", s.DatasetVersion, o.DatasetVersion},
		{"owner", s.Owner, o.Owner},
		{"parent", s.Parent, o.Parent},
	} {
		if f.mine != f.other {
			return f.name, strconv.QuoteToASCII(f.mine), strconv.QuoteToASCII(f.other)
		}
	}
	switch {
	case s.Adjacency != o.Adjacency:
		return "adjacency", s.Adjacency.String(), o.Adjacency.String()
	case !slices.Equal(s.Labels, o.Labels):
		return "labels", shorten(s.Labels), shorten(o.Labels)
	case s.Policy != o.Policy:
		return "policy", s.Policy.String(), o.Policy.String()
	case !s.Plan.Equal(o.Plan):
		return "plan", shorten(s.Plan), shorten(o.Plan)
	case !slices.Equal(s.Budgets, o.Budgets):
		return "budgets", shorten(s.Budgets), shorten(o.Budgets)
	case !s.ExpectedRun.Equal(o.ExpectedRun):
		return "expected_run", shorten(s.ExpectedRun), shorten(o.ExpectedRun)
	case s.OverAllOnly != o.OverAllOnly:
		return "over_all_only", strconv.FormatBool(s.OverAllOnly), strconv.FormatBool(o.OverAllOnly)
	case !s.Dataset.Equal(o.Dataset):
		return "dataset", fmt.Sprintf("%+v", s.Dataset), fmt.Sprintf("%+v", o.Dataset)
	}
	return "", "", ""
}

// shorten describes a list, long ones cut.
func shorten(v any) string {
	text := []rune(fmt.Sprintf("%+v", v))
	if len(text) > 128 {
		return string(text[:128]) + "…"
	}
	return string(text)
}

// Resolution is what a spec came to when its ledger was created. It is kept with
// it: were it found anew, a better analysis or another order would move limits
// after outputs were seen.
type Resolution struct {
	Limits []accountant.Limit `field:"1" most:"16"` // of Filtered: of each budget, in order
	// of Planned: the largest counts, distinct mechanisms in the plan's order
	Plan []mechanism.Part `field:"2" most:"10000"`
}

// CheckOf checks that a resolution is one of these budgets, or with planned of a plan. It is not found anew: it is
// a fact.
func (r Resolution) CheckOf(budgets []accountant.Budget, planned bool) error {
	if planned {
		budgets = nil
	}
	if n := len(r.Limits); n != len(budgets) {
		return &mechanism.ParameterError{Field: "resolution.limits", Value: fmt.Sprintf("%d limits", n),
			Allowed: fmt.Sprintf("%d, one of each FILTER budget", len(budgets))}
	}
	if n := len(r.Plan); (n > 0) != planned {
		return &mechanism.ParameterError{Field: "resolution.plan", Value: fmt.Sprintf("%d mechanisms", n),
			Allowed: "at least one with the policy PLAN, none with others"}
	}
	for i, l := range r.Limits {
		if g := budgets[i].Guard; l.Guard != g {
			return &mechanism.ParameterError{Field: fmt.Sprintf("resolution.limits[%d].guard", i),
				Value: l.Guard.String(), Allowed: g.String() + ", the budget's"}
		}
	}
	return CheckParts("resolution.plan", r.Plan)
}

// CheckParts accepts distinct mechanisms with counts of at most 2^63 − 1 all together.
func CheckParts(field string, parts []mechanism.Part) error {
	seen := make(map[mechanism.Mechanism]bool, len(parts))
	total := uint64(0)
	for i, p := range parts {
		switch {
		case seen[p.Mechanism]:
			return &mechanism.ParameterError{Field: fmt.Sprintf("%s[%d].mechanism", field, i),
				Value: p.Mechanism.String() + " again", Allowed: "distinct mechanisms"}
		case p.Count == 0 || p.Count > math.MaxInt64-total:
			return &mechanism.ParameterError{Field: fmt.Sprintf("%s[%d].count", field, i), Value: fmt.Sprint(p.Count),
				Allowed: "a whole number ≥ 1, together at most 2^63 − 1"}
		}
		seen[p.Mechanism] = true
		total += p.Count
	}
	return nil
}

// IsZero reports whether nothing was resolved.
func (r Resolution) IsZero() bool { return len(r.Limits) == 0 && len(r.Plan) == 0 }

// Equal reports whether two resolutions are the same.
func (r Resolution) Equal(o Resolution) bool {
	return slices.Equal(r.Limits, o.Limits) && slices.Equal(r.Plan, o.Plan)
}
