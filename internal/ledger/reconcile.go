// SPDX-License-Identifier: Apache-2.0

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
	Events     []mechanism.Event `field:"1" most:"1000"`
	AcceptLoss bool              `field:"2"`             // then without Events
	Reason     string            `field:"3" most:"1024"` // may be empty, unless the loss is accepted

	// Contribution is that of the Events. It is OverAll if they were charged to this ledger alone. 0 of Events is as
	// InEach.
	Contribution Contribution `field:"5"`

	// budgets or the plan did not allow the Events
	Over bool `field:"4" decided:"the daemon finds out"`
}

// CheckAsked checks which fields belong together.
func (v Reconcile) CheckAsked() error {
	switch n := len(v.Events); {
	case n > 0 && v.AcceptLoss:
		return &mechanism.ParameterError{Field: "events", Value: fmt.Sprintf("%d events", n),
			Allowed: "none where the loss is accepted"}
	case n > 0 && v.Contribution == 0:
		return &mechanism.ParameterError{Field: "contribution", Value: "missing",
			Allowed: "OVER_ALL if the events were charged to this ledger alone, or to several with that " +
				"contribution; otherwise the contribution with which they were charged to several"}
	case n == 0 && v.Contribution != 0:
		return &mechanism.ParameterError{Field: "contribution", Value: fmt.Sprint(v.Contribution),
			Allowed: "none without events"}
	case v.AcceptLoss && v.Reason == "":
		return &mechanism.ParameterError{Field: "reason", Value: "missing", Allowed: "why, 1 to 1,024 bytes"}
	}
	return v.Contribution.Check(v.Events)
}

// Kind implements Action.
func (Reconcile) Kind() string { return "reconcile" }

func (Reconcile) needsTwoPeople() bool { return true }

// Details implements Action.
func (v Reconcile) Details() Details {
	return Details{Events: v.Events, Reason: v.Reason, From: PotBudget, To: PotCharged,
		Elsewhere: v.elsewhere()}
}

// elsewhere is the contribution of events that other ledgers may have been charged with, too; 0 if none were.
func (v Reconcile) elsewhere() Contribution {
	switch {
	case len(v.Events) == 0 || v.Contribution == OverAll:
		return 0
	case v.Contribution == 0:
		return InEach
	}
	return v.Contribution
}

// fits refuses events that were charged in each of several ledgers where this ledger takes no such charge, or where
// the budget that pays for it may pay for the other ledgers by now. docs/math/children.md §5.6.1.
func (v Reconcile) fits(b *Batch) error {
	spec, in := b.spec(), v.elsewhere()
	switch payer := parentOf(*spec, b.amended); {
	case in == 0:
		return nil
	case spec.OverAllOnly:
		return refuse(ErrReconcile, "contribution: a sensitivity in each ledger, but ledger %s was created to take "+
			"only charges with a sensitivity over all ledgers; allowed: OVER_ALL", spec.Name)
	case in == PeopleDrawnInEach && spec.Policy != Descriptive:
		return refuse(ErrReconcile, "contribution: PEOPLE_DRAWN_IN_EACH, but ledger %s has a budget or a plan and "+
			"takes no such charge; allowed: the contribution of what was charged", spec.Name)
	case payer != "" && !b.amended.unreconciled:
		return refuse(ErrReconcile, "contribution: a sensitivity in each ledger, but %s pays for ledger %s and "+
			"perhaps for the others, each alone; allowed: OVER_ALL with events that cost what somebody with "+
			"rows in all of the ledgers loses, such as group with their number", payer, spec.Name)
	}
	return nil
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
	if err := v.fits(b); err != nil {
		return err
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
	if v.elsewhere() != 0 {
		as.Text += ", with a sensitivity in each of several ledgers"
		a.lostInEach = true
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

func (Reconcile) ofDataset() {}
