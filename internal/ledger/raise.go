// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Raise makes budgets, or the plan, larger; they are enforced from then on. Once
// something was charged or set aside, the decision to raise may depend on outputs,
// which no guard allows: later answers list it, and are descriptive unless
// Independent is asserted.
type Raise struct {
	// all of them, none smaller; of Planned maybe none: those there are
	Budgets []accountant.Budget `field:"1" most:"16"`
	// of Planned: the whole new plan, no count smaller
	Plan        Workload `field:"2"`
	Independent bool     `field:"3"` // asserts that the decision did not depend on outputs
	Reason      string   `field:"4" need:"why, 1 to 1,024 bytes" most:"1024"`

	// what they come to (see State.Raising)
	Resolution Resolution `field:"5" decided:"the daemon finds out"`
	// something had been charged or set aside
	Late bool `field:"6" decided:"the daemon finds out"`
}

// CheckAsked checks which fields belong together.
func (v Raise) CheckAsked() error {
	if len(v.Budgets) == 0 && v.Plan.IsZero() {
		return &mechanism.ParameterError{Field: "budgets", Value: "missing",
			Allowed: "all budgets of the ledger, or a plan"}
	}
	for i, b := range v.Budgets {
		if planned := len(v.Plan.Events) > 0; planned != (b.Guard == accountant.GuardNone) {
			return &mechanism.ParameterError{Field: fmt.Sprintf("budgets[%d].guard", i), Value: b.Guard.String(),
				Allowed: "a guard without a plan, none with one"}
		}
	}
	return nil
}

// CheckDecided checks what the raise has come to.
func (v Raise) CheckDecided() error { return v.Resolution.CheckOf(v.Budgets, len(v.Plan.Events) > 0) }

// Kind implements Action.
func (Raise) Kind() string { return "raise" }

func (Raise) needsTwoPeople() bool { return true }

// Details implements Action.
func (v Raise) Details() Details {
	more := 64*len(v.Budgets) + 96*len(v.Resolution.Plan)
	for _, e := range v.Plan.Events {
		more += 32 + mechanism.Size(e.Mechanism)
	}
	return Details{Reason: v.Reason, More: more}
}

// Complete implements Incomplete.
func (v Raise) Complete(from Sources) (_ Action, err error) {
	v.Resolution, err = from.Resolve(v)
	return v, err
}

func (v Raise) decide(b *Batch) error {
	if err := b.amendable(); err != nil {
		return err
	}
	if _, err := b.state.raised(b.amended, v); err != nil {
		return err
	}
	if b.alone && IsDataset(parentOf(*b.spec(), b.amended)) {
		return ErrTogether
	}
	late, err := v.judge(b)
	v.Late = late
	b.request.Action = v
	return err
}

// judge refuses what v comes to where that is no raise, and reports whether something had
// been charged or set aside.
func (v Raise) judge(b *Batch) (late bool, err error) {
	late = b.total > 0 || b.held.Total > 0 || len(b.amended.refunded)+len(b.amended.restored)+b.amended.freed > 0
	return late, grown(b.amended.resolution, v.Resolution)
}

func (Raise) reconciles() bool { return false }

func (v Raise) amend(a amendments, e Entry) amendments {
	a.raises++
	if len(v.Budgets) > 0 {
		a.budgets = v.Budgets
	}
	a.resolution = v.Resolution
	if !v.Late {
		return a
	}
	what, how := "the plan was", "which may have depended on outputs"
	if len(v.Plan.Events) == 0 {
		what = "budgets were"
	}
	if v.Independent {
		how = "which did not depend on outputs"
	}
	return a.assuming(Assumption{e.Position, "raise", fmt.Sprintf(
		"%s made larger by entry %d, after something was charged or set aside, by a decision %s (reason given: %s)",
		what, e.Position, how, v.Reason), !v.Independent})
}

// raised is the spec with what a raise asks for instead, or why it is no raise of
// what is in force.
func (s *State) raised(now amendments, v Raise) (Spec, error) {
	spec := s.summary.Genesis.Spec
	switch {
	case spec.Policy == Descriptive:
		return spec, refuse(ErrRaise, "ledger: %s has no budget; allowed: a ledger with the policy PLAN or FILTER",
			spec.Name)
	case spec.Parent != "" && !IsDataset(spec.Parent):
		return spec, refuse(ErrRaise, "ledger: %s has a parent, which has set aside what it may spend; allowed: a "+
			"ledger without, or a new child of the parent", spec.Name)
	case spec.Policy == Planned && len(v.Plan.Events) == 0:
		return spec, refuse(ErrRaise, "plan: missing; allowed: the whole new plan with the policy PLAN")
	case spec.Policy == Filtered && !v.Plan.IsZero():
		return spec, refuse(ErrRaise, "plan: given; allowed: budgets only with the policy FILTER")
	case len(v.Budgets) != len(now.budgets) && !(spec.Policy == Planned && len(v.Budgets) == 0):
		return spec, refuse(ErrRaise, "budgets: %d; allowed: %d, all of them in their order",
			len(v.Budgets), len(now.budgets))
	}
	spec.Budgets = now.budgets
	if len(v.Budgets) > 0 {
		spec.Budgets = slices.Clone(v.Budgets)
		for i, b := range v.Budgets {
			was := now.budgets[i]
			if i < len(now.resolution.Limits) { // orders stay as they were chosen
				was.Order = now.resolution.Limits[i].Order
				b.Order = cmp.Or(b.Order, was.Order)
			}
			if err := b.Grown(was); err != nil {
				return spec, refuse(ErrRaise, "%v", mechanism.AtIndex(err, "budgets", i))
			}
			spec.Budgets[i] = b
		}
	}
	if spec.Policy == Planned {
		spec.Plan = v.Plan
	}
	return spec, nil
}

// Raising is what a State knows of a raise: what is needed to resolve it.
type Raising struct {
	spec       Spec
	now        Resolution
	mechanisms []mechanism.Mechanism // charged or reserved
	err        error
}

// Raising takes from s what v is to be resolved with.
func (s *State) Raising(v Raise) Raising {
	spec, err := s.raised(s.amended, v)
	r := Raising{spec: spec, now: s.amended.resolution, err: err}
	for _, parts := range [][]mechanism.Part{s.parts, s.Reserved()} {
		for _, p := range parts {
			r.mechanisms = append(r.mechanisms, p.Mechanism)
		}
	}
	return r
}

// Prices are to be found before the raise is decided: all costs are shares of limits.
func (r Raising) Prices(to Resolution) *budget.Prices {
	if len(to.Limits) == 0 {
		return nil
	}
	return budget.NewPrices(budget.NewFinder(to.Limits, r.spec.Adjacency), nil, r.mechanisms)
}

// Resolve finds what the raise comes to. Like ledger.Resolve it can take long; the
// State may have moved on when the raise is decided. Limits never become smaller:
// what keeps within the old one of a budget keeps within every larger budget.
func (r Raising) Resolve(stop func() bool) (Resolution, error) {
	if r.err != nil {
		return Resolution{}, r.err
	}
	out, err := Resolve(r.spec, stop)
	if err != nil {
		return Resolution{}, err
	}
	for i, l := range r.now.Limits {
		out.Limits[i].Value = max(out.Limits[i].Value, l.Value)
		out.Limits[i].Delta = max(out.Limits[i].Delta, l.Delta)
	}
	return out, nil
}

// grown checks that a resolution covers the one before, and is another.
func grown(old, now Resolution) error {
	if len(now.Limits) != len(old.Limits) || len(now.Plan) < len(old.Plan) {
		return refuse(ErrRaise, "plan: %d mechanisms; allowed: at least the %d before", len(now.Plan), len(old.Plan))
	}
	for i, l := range now.Limits {
		if was := old.Limits[i]; l.Guard != was.Guard || l.Order != was.Order ||
			l.Value < was.Value || l.Delta < was.Delta {
			return refuse(ErrRaise, "budgets[%d]: %+v; allowed: at least %+v, as before", i, l, was)
		}
	}
	counts := make(map[mechanism.Mechanism]uint64, len(now.Plan))
	for _, p := range now.Plan {
		counts[p.Mechanism] = p.Count
	}
	for _, p := range old.Plan {
		if n := counts[p.Mechanism]; n < p.Count {
			return refuse(ErrRaise, "plan: %d × %v; allowed: at least %d, as before", n, p.Mechanism, p.Count)
		}
	}
	if now.Equal(old) {
		return refuse(ErrRaise, "budgets: as before; allowed: a larger one, or a larger plan")
	}
	return nil
}
