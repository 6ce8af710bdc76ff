// SPDX-License-Identifier: Apache-2.0

// Package lookup finds what a store already says: ledgers, by going through its list, and what entries say of budgets,
// datasets, refunds and sets. It only reads, and knows no lock, queue or goroutine, so none of these waits for it.
//
// It is a package of its own so that the compiler keeps it without a lock.
package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/share"
)

// page is how many entries are read at once.
const page = 1000

// specs goes through the ledgers whose names begin with prefix and come after a name, in order, as long as the context
// lasts. An error is the last it gives.
func specs(ctx context.Context, store ledger.Store, prefix, after string) iter.Seq2[ledger.Spec, error] {
	return func(yield func(ledger.Spec, error) bool) {
		for l, err := range ledger.All(store, prefix, after) {
			if err = cmp.Or(err, ctx.Err()); !yield(l.Genesis.Spec, err) || err != nil {
				return
			}
		}
	}
}

// Summary reads a ledger's summary.
func Summary(store ledger.Store, name string) (ledger.Summary, error) {
	all, err := store.List(name, "", 1) // the name itself comes before all that start with it
	if err == nil && (len(all) == 0 || all[0].Genesis.Spec.Name != name) {
		err = fmt.Errorf("ledger %s: %w", name, ledger.ErrNotFound)
	}
	if err != nil {
		return ledger.Summary{}, err
	}
	return all[0], nil
}

// Entry reads one entry. It returns the zero Entry if there is none.
func Entry(store ledger.Store, name string, position uint64) (ledger.Entry, error) {
	records, err := store.Records(name, position, 1)
	if err != nil || len(records) == 0 || records[0].Entry.Position != position {
		return ledger.Entry{}, err
	}
	return records[0].Entry, nil
}

// BudgetOf returns the name of the record whose budget ledgers with this dataset_id take; "" where no such
// dataset is registered.
func BudgetOf(store ledger.Store, datasetID string) (string, error) {
	if datasetID == "" {
		return "", nil
	}
	sum, err := Summary(store, ledger.DatasetName(datasetID))
	if errors.Is(err, ledger.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if d := sum.Genesis.Spec.Dataset; d != nil && d.BudgetOf != "" {
		return d.BudgetOf, nil
	}
	return sum.Genesis.Spec.Name, nil
}

// Family returns the ledgers that carry a dataset's identifier, in the order of their names: those without a parent,
// and those below these. The dataset is given by the name of its record.
func Family(ctx context.Context, store ledger.Store, dataset string) (roots, below []string, err error) {
	for s, err := range specs(ctx, store, "", "") {
		switch {
		case err != nil:
			return nil, nil, err
		case s.Dataset != nil || s.DatasetID == "" || ledger.DatasetName(s.DatasetID) != dataset:
		case s.Parent == "":
			roots = append(roots, s.Name)
		case !ledger.IsDataset(s.Parent):
			below = append(below, s.Name)
		}
	}
	return roots, below, nil
}

// OfBudget returns the ledgers that the budget of a dataset's record pays for, at any depth.
func OfBudget(ctx context.Context, store ledger.Store, payer string) (names []string, err error) {
	payers := map[string]string{} // by dataset_id
	for s, err := range specs(ctx, store, "", "") {
		if err != nil {
			return nil, err
		}
		if s.Dataset != nil || s.DatasetID == "" {
			continue
		}
		of, known := payers[s.DatasetID]
		if !known {
			if of, err = BudgetOf(store, s.DatasetID); err != nil {
				return nil, err
			}
			payers[s.DatasetID] = of
		}
		if of == payer {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// Shares returns the ledgers of a dataset's record, in the order in which they came, with what is set aside or
// charged for them there. They are followed by ledgers that were adopted with nothing to be charged for, because
// everything had been refunded.
func Shares(ctx context.Context, store ledger.Store, dataset string) ([]share.Share, error) {
	var tally share.Tally
	for from := uint64(1); ; from += page {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		records, err := store.Records(dataset, from, page)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			tally.Add(r.Entry)
		}
		if len(records) < page {
			break
		}
	}
	var adopted []string
	for _, record := range tally.Adopting(dataset) {
		names, _, err := Family(ctx, store, record)
		if err != nil {
			return nil, err
		}
		adopted = append(adopted, names...)
	}
	return tally.Shares(adopted), nil
}

// InRange returns the names of the ledgers in a range, in order, for which shown holds; nil: of all. It fails
// with ledger.ErrNotFound if there are none, and with ledger.ErrOutOfRange if there are more than a set can
// have.
func InRange(ctx context.Context, store ledger.Store, r ledger.NameRange,
	shown func(ledger.Spec) bool) (names []string, err error) {
	for s, err := range specs(ctx, store, r.Prefix, r.After()) {
		if err != nil {
			return nil, err
		}
		if r.IsBefore(s.Name) {
			break
		}
		if r.Contains(s.Name) && (shown == nil || shown(s)) {
			names = append(names, s.Name)
		}
		if len(names) > ledger.MaxMembers {
			return nil, fmt.Errorf("%w: more than %d ledgers %v; allowed: at most %[2]d: a narrower range",
				ledger.ErrOutOfRange, ledger.MaxMembers, r)
		}
	}
	if names == nil {
		return nil, fmt.Errorf("%w: no ledger %v; allowed: a range with at least one ledger that you may "+
			"see (accountctl ledger list --prefix)", ledger.ErrNotFound, r)
	}
	return names, nil
}
