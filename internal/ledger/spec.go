package ledger

import (
	"slices"

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
	// of that (docs/math.md §5).
	Planned
	// Filtered allows whatever its budgets' guards can charge: parameters may
	// depend on earlier outputs too.
	Filtered
)

// Valid reports whether p is one of the policies.
func (p Policy) Valid() bool { return p <= Filtered }

// Label is a key with a value. Lists of labels are sorted by key, keys distinct.
type Label struct{ Key, Value string }

// Workload is a list of events under the ledger's adjacency. In a plan whose
// only event has count 0 that stands for as many as fit the budgets.
type Workload struct {
	Name   string // for people
	Events []mechanism.Event
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
}

// Equal reports whether two requests ask for the same ledger.
func (s Spec) Equal(o Spec) bool {
	same := slices.Equal(s.Labels, o.Labels) && slices.Equal(s.Budgets, o.Budgets) &&
		s.Plan.Equal(o.Plan) && s.ExpectedRun.Equal(o.ExpectedRun)
	return same && s.Name == o.Name && s.Adjacency == o.Adjacency && s.PrivacyUnit == o.PrivacyUnit &&
		s.DatasetID == o.DatasetID && s.DatasetVersion == o.DatasetVersion &&
		s.Owner == o.Owner && s.Policy == o.Policy
}

// Resolution is what a spec came to when its ledger was created. It is kept with
// it: were it found anew, a better analysis or another order would move limits
// after outputs were seen.
type Resolution struct {
	Limits []accountant.Limit // of Filtered: of each budget, in order
	Plan   []mechanism.Part   // of Planned: the largest counts, distinct mechanisms in the plan's order
}

// Equal reports whether two resolutions are the same.
func (r Resolution) Equal(o Resolution) bool {
	return slices.Equal(r.Limits, o.Limits) && slices.Equal(r.Plan, o.Plan)
}
