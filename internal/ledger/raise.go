package ledger

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Raise makes budgets, or the plan, larger; they are enforced from then on. Once
// something was charged or set aside, the decision to raise may depend on outputs,
// which no guard allows: later answers list it, and are descriptive unless
// Independent is asserted.
type Raise struct {
	Budgets     []accountant.Budget // all of them, none smaller; of Planned maybe none: those there are
	Plan        Workload            // of Planned: the whole new plan, no count smaller
	Independent bool                // asserts that the decision did not depend on outputs
	Reason      string

	Resolution Resolution // what they come to (see State.Raising); not part of what is asked
	Late       bool       // something had been charged or set aside; set by the decision

	Approval // by two people; not part of what is asked
}

// By implements Approvable.
func (v Raise) By(a Approval) Action {
	v.Approval = a
	return v
}

// Asked implements Approvable.
func (v Raise) Asked() Action {
	v.Approval, v.Resolution, v.Late = Approval{}, Resolution{}, false
	return v
}

// Kind implements Action.
func (Raise) Kind() string { return "raise" }

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

func (v Raise) effect(b *Batch, e Entry) {
	b.amend(v, e)
	b.reprice()
}

// reprice finds all costs anew, after a raise: they are shares of limits.
func (b *Batch) reprice() {
	if b.draft != nil {
		b.draft = budget.New(b.spec().terms(b.amended), b.parts(), b.held.Merged(), b.request.Prices).Draft()
	}
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
