package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/keeper/brief"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
)

// ErrLate means that something which a request needs before it can be decided was not computed in
// time. Nothing was written.
var ErrLate = brief.ErrLate

// compute runs f, which computes something that a write needs: see brief.Compute.
func (k *Keeper) compute(ctx context.Context, what string, f func(stop func() bool) error) error {
	return brief.Compute(ctx, k.config.Compute, what, f)
}

// resolve computes what the budgets of a spec allow (see ledger.Resolve).
func (k *Keeper) resolve(ctx context.Context, s interface {
	Resolve(stop func() bool) (ledger.Resolution, error)
}) (r ledger.Resolution, err error) {
	var found ledger.Resolution
	err = k.compute(ctx, "what the budgets and the described run or plan come to was not found; allowed: a longer "+
		"call, or fewer or simpler mechanisms", func(stop func() bool) (err error) {
		found, err = s.Resolve(stop)
		return err
	})
	if err == nil {
		r = found
	}
	return r, err
}

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

// find computes the costs that p lists and returns p. If p is nil, there is nothing to compute.
func (k *Keeper) find(ctx context.Context, p *budget.Prices) (*budget.Prices, error) {
	if p == nil {
		return nil, nil
	}
	err := k.compute(ctx, "the costs of all mechanisms that are new in this ledger were not found; allowed: the same "+
		"request again, which goes on from here, in a longer call, or fewer mechanisms in each "+
		"request", func(stop func() bool) error {
		if !p.Find(stop) {
			return ErrLate
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}
