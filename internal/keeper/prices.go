// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/keeper/lookup"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/ledger/share"
)

// price finds the costs of mechanisms that are new in the ledger, before the request enters the queue.
// This can take long, and if it were part of the decision, all other requests would wait for it.
func (k *Keeper) price(ctx context.Context, q *queue, r *ledger.Request) error {
	details := r.Action.Details()
	if !details.Spends() {
		return nil
	}
	var p *budget.Prices
	if q.read(ctx, func(s *ledger.State) { p = s.Unpriced(details) }) != nil {
		return ctx.Err() // of what else was wrong the decision tells
	}
	found, err := k.find(ctx, p)
	r.Prices = found
	return err
}

// capOf returns the cap of one charge to a ledger with this parent, at any depth below a
// dataset; nil where there is none. An error says that the newest cap is not known.
func (k *Keeper) capOf(ctx context.Context, parent string) (*ledger.ChargeCap, error) {
	for parent != "" && !ledger.IsDataset(parent) {
		if k.read(ctx, parent, func(s *ledger.State) { parent = s.Parent() }) != nil {
			return nil, nil // what is wrong with the parent does not keep its children from going on
		}
	}
	if parent == "" {
		return nil, nil
	}
	if k.fleet != nil { // another daemon may have changed the cap; the dataset's queue may wait for the caller's
		return k.fleet.CapOf(ctx, parent)
	}
	known, ok := k.caps.Load(parent)
	if !ok {
		err := k.read(ctx, parent, func(s *ledger.State) { known, _ = k.caps.LoadOrStore(parent, s.ChargeCap()) })
		if err != nil {
			return nil, nil
		}
	}
	return known.(*ledger.ChargeCap), nil
}

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
	if lookup.Join(ctx, k.config.Store, k.View, &g.Spec) != nil {
		return nil, ctx.Err() // the decision says what is wrong
	}
	read := func(_ context.Context, f func(*ledger.State)) error { f(fresh); return nil }
	if of := g.Spec.Dataset.BudgetOf; of != "" {
		read = k.reading(of)
	}
	return k.priceShares(ctx, read, func(dataset ledger.View) (all []ledger.Reserve, _ error) {
		names, _, err := lookup.Family(ctx, k.config.Store, g.Spec.Name)
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
