// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Join finds whose budget a dataset shares by what it is derived from, and notes it in the dataset's spec. A dataset
// with a budget of its own needs a reason why it is independent of those that are there. view reads a ledger.
func Join(ctx context.Context, store ledger.Store, view func(ctx context.Context, name string) (ledger.View, error),
	spec *ledger.Spec) error {
	d := spec.Dataset
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ledger.ErrDataset, fmt.Sprintf(format, args...))
	}
	for _, from := range d.DerivedFrom {
		budget, err := BudgetOf(store, from.ID)
		switch {
		case err != nil:
			return err
		case budget == "":
			return refuse("derived_from: dataset %q is not registered; allowed: a registered one", from.ID)
		case d.BudgetOf != "" && budget != d.BudgetOf:
			return refuse("derived_from: %v has the budget of %s, others that of %s; allowed: datasets that share one "+
				"budget", from, budget, d.BudgetOf)
		}
		d.BudgetOf = budget
		v, err := view(ctx, budget)
		if err != nil {
			return err
		}
		if err := v.Dataset.Has(from); err != nil {
			return err
		}
		if of := v.Genesis.Spec; of.Adjacency != spec.Adjacency || of.PrivacyUnit != spec.PrivacyUnit {
			return refuse("derived_from: %v is registered with the adjacency %v and the privacy unit %q; allowed: "+
				"the same for all that share a budget", from, of.Adjacency, of.PrivacyUnit)
		}
	}
	switch {
	case d.BudgetOf != "" && (spec.Policy != ledger.Descriptive || d.Caps != ledger.Caps{} || d.Independence != ""):
		return refuse("budgets, caps and independence; allowed: none of them for a dataset that shares the budget "+
			"of %s",
			d.BudgetOf)
	case d.BudgetOf != "" && d.ToConfirm:
		return refuse("propose: the dataset shares the budget of %s; allowed: for a dataset with a budget of its own",
			d.BudgetOf)
	case d.BudgetOf != "" || d.Independence != "":
		return nil
	}
	others, err := store.List(ledger.DatasetsPrefix, "", 1)
	if err != nil || len(others) == 0 {
		return err
	}
	return refuse("independence: missing, as other datasets are registered (%s is one): a budget of its own holds "+
		"for people whose data is in one of them only; allowed: why nobody's data is in both (--independent REASON), "+
		"or the dataset that it overlaps (--derived-from), whose budget it then "+
		"shares", others[0].Genesis.Spec.DatasetID)
}
