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

// priceShares finds what the shares of ledgers cost of the limits of the one above them, before anything is held or
// locked: whoever needs a ledger that the decision holds would wait for the prices as well. read reads the ledger
// above. If that or a share fails, no prices are found, and the decision says what is wrong.
func (k *Keeper) priceShares(ctx context.Context, read reading, all ...share.Child) (*budget.Prices, error) {
	var above ledger.View
	if read(ctx, func(s *ledger.State) { above = s.View() }) != nil {
		return nil, ctx.Err()
	}
	var taken ledger.Reserve
	for _, c := range all {
		shares, err := c.Shares(above)
		if err != nil {
			return nil, ctx.Err()
		}
		for _, v := range shares {
			taken.Events = append(taken.Events, v.Events...)
		}
	}
	var p *budget.Prices
	if read(ctx, func(s *ledger.State) { p = s.Unpriced(taken.Details()) }) != nil {
		return nil, ctx.Err()
	}
	return k.find(ctx, p)
}

// priceAdopted finds what the shares of the ledgers that a dataset adopts cost of its limits. fresh is the dataset's
// record if it has a budget of its own. What fails, the decision says.
func (k *Keeper) priceAdopted(ctx context.Context, g *ledger.Genesis, fresh *ledger.State) (*budget.Prices, error) {
	err := lookup.Join(ctx, k.config.Store, k.View, &g.Spec)
	var names []string
	if err == nil {
		names, _, err = lookup.Family(ctx, k.config.Store, g.Spec.Name)
	}
	all := make([]share.Child, len(names))
	for i, name := range names {
		if err == nil {
			err = k.read(ctx, name, func(s *ledger.State) { all[i] = share.Adopted(s.View()) })
		}
	}
	if err != nil {
		return nil, ctx.Err()
	}
	read := func(_ context.Context, f func(*ledger.State)) error { f(fresh); return nil }
	if of := g.Spec.Dataset.BudgetOf; of != "" {
		read = k.reading(of)
	}
	return k.priceShares(ctx, read, all...)
}
