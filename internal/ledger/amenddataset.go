// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
)

// AmendDataset changes a dataset's record: what is not given stays. It is the one action
// that changes a budget or a cap of a dataset.
type AmendDataset struct {
	Title       *string             `field:"1" most:"256"`
	Owners      []string            `field:"2" most:"16"`
	Labels      []Label             `field:"3"`
	Caps        *Caps               `field:"4"`
	Budgets     []accountant.Budget `field:"5" most:"16"` // all of them, none smaller: as of a Raise
	Independent bool                `field:"6"`           // as of a Raise
	AddVersion  *DatasetVersion     `field:"7"`
	Reason      string              `field:"8" need:"why, 1 to 1,024 bytes" most:"1024"`
	Confirm     bool                `field:"9"` // the registration, which was proposed; alone, and by two people only

	// what the budgets come to
	Resolution Resolution `field:"10" decided:"the daemon finds out"`
	// as of a Raise
	Late bool `field:"11" decided:"the daemon finds out"`
}

// CheckDecided checks what the budgets have come to.
func (v AmendDataset) CheckDecided() error { return v.Resolution.CheckOf(v.Budgets, false) }

// needsTwoPeople: a change that gives nobody more to spend does not.
func (v AmendDataset) needsTwoPeople() bool { return len(v.Budgets) > 0 || v.Caps != nil || v.Confirm }

// Kind implements Action.
func (AmendDataset) Kind() string { return "amend_dataset" }

// Details implements Action.
func (v AmendDataset) Details() Details {
	d := Details{Reason: v.Reason, Labels: v.Labels, More: 64*len(v.Budgets) + 256*len(v.Owners)}
	if v.AddVersion != nil {
		d.Shares = v.AddVersion.Of.ID
	}
	return d
}

// changes reports whether v changes anything but that the registration is confirmed.
func (v AmendDataset) changes() bool {
	return v.Title != nil || len(v.Owners) > 0 || len(v.Labels) > 0 || v.Caps != nil || len(v.Budgets) > 0 ||
		v.AddVersion != nil
}

// raise is the part of v that raises the budgets.
func (v AmendDataset) raise() Raise {
	return Raise{Budgets: v.Budgets, Independent: v.Independent, Reason: v.Reason, Resolution: v.Resolution,
		Late: v.Late}
}

// Complete implements Incomplete.
func (v AmendDataset) Complete(from Sources) (_ Action, err error) {
	if len(v.Budgets) > 0 {
		v.Resolution, err = from.Resolve(v.raise())
	}
	return v, err
}

func (v AmendDataset) decide(b *Batch) error {
	d := b.amended.dataset
	switch {
	case d == nil:
		return refuse(ErrDataset, "ledger %s is no dataset; allowed: a dataset", b.spec().Name)
	case d.BudgetOf != "" && (len(v.Budgets) > 0 || v.Caps != nil || v.AddVersion != nil):
		return refuse(ErrDataset, "dataset %q shares the budget of %s; allowed: to amend budgets, caps and versions "+
			"there", b.spec().DatasetID, d.BudgetOf)
	case !v.changes() && !v.Confirm:
		return refuse(ErrDataset, "amend: nothing to change; allowed: a title, owners, labels, caps, budgets or a "+
			"version")
	}
	if add := v.AddVersion; add != nil {
		if slices.ContainsFunc(d.Versions, func(has DatasetVersion) bool { return has.Of == add.Of }) {
			return refuse(ErrDataset, "add_version: %v is there already; allowed: a new version", add.Of)
		}
		if b.request.Writer.Principal != Daemon &&
			!slices.ContainsFunc(d.Versions, func(has DatasetVersion) bool { return has.Of.ID == add.Of.ID }) {
			return refuse(ErrDataset, "add_version: dataset %q is not registered with this budget; allowed: "+
				"accountctl dataset create %[1]q --derived-from %[2]q", add.Of.ID, b.spec().DatasetID)
		}
		for _, from := range add.DerivedFrom {
			if err := d.Has(from); err != nil {
				return err
			}
		}
	}
	if err := v.confirms(b, d); err != nil {
		return err
	}
	if err := b.amendable(); err != nil {
		return err
	}
	if len(v.Budgets) == 0 {
		return nil
	}
	late, err := v.raise().judge(b)
	v.Late = late
	b.request.Action = v
	return err
}

func (AmendDataset) reconciles() bool { return false }

func (v AmendDataset) amend(a amendments, e Entry) amendments {
	if a.dataset == nil { // only in a damaged store
		return a
	}
	d := *a.dataset
	if v.Title != nil {
		d.Title = *v.Title
	}
	if len(v.Owners) > 0 {
		d.Owners = v.Owners
	}
	if len(v.Labels) > 0 {
		d.Labels = v.Labels
	}
	if v.Caps != nil {
		d.Caps = *v.Caps
	}
	if v.AddVersion != nil {
		d.Versions = append(slices.Clip(d.Versions), *v.AddVersion)
	}
	if v.Confirm {
		d.Confirmation = Confirmation{e.Writer.Principal, e.Time, Approval{}}
		if e.Approval != nil { // always, but in a damaged store
			d.Confirmation.Approval = *e.Approval
		}
	}
	a.dataset = &d
	if len(v.Budgets) == 0 {
		a.amended++
		return a
	}
	return v.raise().amend(a, e)
}

func (AmendDataset) ofDataset() {}
