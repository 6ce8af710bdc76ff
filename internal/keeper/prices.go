package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/keeper/lineage"
	"github.com/dpaccountant/accountant/internal/keeper/lists"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/ledger/share"
)

// reading reads the committed state of one ledger.
type reading = func(ctx context.Context, f func(*ledger.State)) error

// priceShares finds what shares cost of the limits of the ledger above, before anything is held or locked: whoever
// needs a ledger that the decision holds would wait for the prices as well. read reads the ledger above, and taken
// says what is to be set aside in it. If either fails, no prices are found, and the decision says what is wrong.
func (k *Keeper) priceShares(ctx context.Context, read reading,
	taken func(above ledger.View) ([]ledger.Reserve, error)) (*budget.Prices, error) {
	var above ledger.View
	if read(ctx, func(s *ledger.State) { above = s.View() }) != nil {
		return nil, ctx.Err()
	}
	shares, err := taken(above)
	if err != nil {
		return nil, ctx.Err()
	}
	var all ledger.Reserve
	for _, v := range shares {
		all.Events = append(all.Events, v.Events...)
	}
	var p *budget.Prices
	if read(ctx, func(s *ledger.State) { p = s.Unpriced(all.Details()) }) != nil {
		return nil, ctx.Err()
	}
	return k.find(ctx, p)
}

// priceChild finds what the share of a ledger with this spec, which came to r, costs of the ledger above.
func (k *Keeper) priceChild(ctx context.Context, above string, spec ledger.Spec,
	r ledger.Resolution) (*budget.Prices, error) {
	return k.priceShares(ctx, k.reading(above), func(above ledger.View) ([]ledger.Reserve, error) {
		v, err := share.Allocate(above, spec, r)
		return []ledger.Reserve{v}, err
	})
}

// priceAdopted finds what the shares of the ledgers that a dataset adopts cost of its limits. fresh is the dataset's
// record if it has a budget of its own.
func (k *Keeper) priceAdopted(ctx context.Context, g *ledger.Genesis, fresh *ledger.State) (*budget.Prices, error) {
	if lineage.Join(ctx, k.config.Store, k.View, &g.Spec) != nil {
		return nil, ctx.Err() // the decision says what is wrong
	}
	read := func(_ context.Context, f func(*ledger.State)) error { f(fresh); return nil }
	if of := g.Spec.Dataset.BudgetOf; of != "" {
		read = k.reading(of)
	}
	return k.priceShares(ctx, read, func(dataset ledger.View) (all []ledger.Reserve, _ error) {
		names, _, err := lists.Family(ctx, k.config.Store, g.Spec.Name)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			var child ledger.View
			if err := k.read(ctx, name, func(s *ledger.State) { child = s.View() }); err != nil {
				return nil, err
			}
			shares, err := share.AllocatePast(dataset, child)
			if err != nil {
				return nil, err
			}
			all = append(all, shares...)
		}
		return all, nil
	})
}

// reading reads the ledger with this name.
func (k *Keeper) reading(name string) reading {
	return func(ctx context.Context, f func(*ledger.State)) error { return k.read(ctx, name, f) }
}
