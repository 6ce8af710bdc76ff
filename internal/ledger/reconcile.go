package ledger

import (
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Reconcile says what was charged to a ledger and is lost: by a restore of a copy, or by the database.
// Its Events are charged even where budgets or the plan do not allow it, as they were
// released all the same. A ledger that is reconciled takes further ones, which correct
// it by more events. That nothing was lost may be the right answer, too. Or the loss is
// accepted.
type Reconcile struct {
	Events     []mechanism.Event
	AcceptLoss bool   // then without Events
	Reason     string // may be empty, unless the loss is accepted

	Over bool // budgets or the plan did not allow the Events; set by the decision

	Approval // by two people; not part of what is asked
}

// By implements Approvable.
func (v Reconcile) By(a Approval) Action {
	v.Approval = a
	return v
}

// Asked implements Approvable.
func (v Reconcile) Asked() Action {
	v.Approval, v.Over = Approval{}, false
	return v
}

// Kind implements Action.
func (Reconcile) Kind() string { return "reconcile" }

// Details implements Action.
func (v Reconcile) Details() Details {
	return Details{Events: v.Events, Reason: v.Reason, From: PotBudget, To: PotCharged}
}

func (v Reconcile) decide(b *Batch) error {
	spec := b.spec()
	switch {
	case len(b.amended.restored) == 0:
		return refuse(ErrReconcile, "ledger: %s was not restored from a backup, and no failover is known to have "+
			"lost entries of it; allowed: a ledger that has lost entries", spec.Name)
	case !b.amended.unreconciled && len(v.Events) == 0:
		return refuse(ErrReconcile, "ledger: %s is reconciled; allowed: more events that were lost", spec.Name)
	case v.AcceptLoss && len(v.Events) > 0:
		return refuse(ErrReconcile, "events: %d with an accepted loss; allowed: one or the other", len(v.Events))
	}
	if !b.amended.unreconciled {
		if err := b.amendable(); err != nil {
			return err
		}
	}
	if err := b.inRange(v.Events); err != nil {
		return err
	}
	before := b.draft.PriceWork()
	within := b.take(v.Events)
	if v.Over = within != nil; v.Over {
		if parent := parentOf(*spec, b.amended); parent != "" {
			return refuse(ErrReconcile, "ledger: %s has a parent, %s, which answers for no more than its budget (%v); "+
				"allowed: what that allows; charge the rest by reconciling %[2]s, and say so in the reason here",
				spec.Name, parent, within)
		}
		b.force(v.Events)
	}
	b.request.Action = v
	return b.readable(v.Events, before, "or declare what was lost as renyi_dp, which may be an upper bound of it")
}

func (v Reconcile) effect(b *Batch, e Entry) {
	b.charge(v.Events)
	b.amend(v, e)
}

func (Reconcile) reconciles() bool { return true }

func (v Reconcile) amend(a amendments, e Entry) amendments {
	var restored uint64 // there always is one, but in a damaged store
	if n := len(a.restored); n > 0 {
		restored = a.restored[n-1].position
	}
	lost := fmt.Sprintf("what was charged before entry %d and lost, as that entry says", restored)
	as := Assumption{Position: e.Position, Kind: "reconciled", Descriptive: v.Over}
	switch {
	case v.AcceptLoss:
		as.Kind, as.Descriptive = "loss", true
		as.Text = lost + ", is not counted: the loss was accepted"
	case len(v.Events) == 0:
		as.Text = lost + ", is nothing"
	case a.unreconciled:
		as.Text = lost + ", is no more than " + listed(v.Events)
	default:
		as.Text = lost + ", was also " + listed(v.Events)
	}
	if v.Over {
		as.Text += ", which the budgets or the plan do not allow"
	}
	if v.Reason != "" {
		as.Text += " (reason given: " + v.Reason + ")"
	}
	a.assumptions = slices.Clone(a.assumptions)
	for i := range a.assumptions {
		if a.assumptions[i].Kind == "restored" { // the guarantee is now as this entry leaves it
			a.assumptions[i].Descriptive = false
		}
	}
	a.reconciled++
	a.unreconciled = false
	return a.assuming(as)
}
