// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/keeper/lookup"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// prepare completes a request with what its decision needs and cannot find itself. The
// decision compares that with its state.
func (k *Keeper) prepare(ctx context.Context, q *queue, r *ledger.Request) error {
	incomplete, ok := r.Action.(ledger.Incomplete)
	if !ok {
		return k.price(ctx, q, r)
	}
	if written, err := k.written(q.name, r); err != nil || written {
		return err // a duplicate gets its receipt whatever has become of the ledger
	}
	from := &sources{ctx: ctx, keeper: k, queue: q}
	complete, err := incomplete.Complete(from)
	if err != nil {
		if written, e := k.written(q.name, r); e != nil || written { // since, by another daemon
			return e
		}
		return err
	}
	r.Action, r.Prices = complete, from.prices
	return nil
}

// sources are where a request's action finds what it needs.
type sources struct {
	ctx    context.Context
	keeper *Keeper
	queue  *queue
	prices *budget.Prices // found for a raise
}

// Resolve implements ledger.Sources.
func (s *sources) Resolve(v ledger.Raise) (to ledger.Resolution, err error) {
	var raising ledger.Raising
	if err := s.queue.read(s.ctx, func(st *ledger.State) { raising = st.Raising(v) }); err != nil {
		return to, err
	}
	if to, err = s.keeper.resolve(s.ctx, raising); err != nil {
		return to, err
	}
	s.prices, err = s.keeper.find(s.ctx, raising.Prices(to))
	return to, err
}

// ChargedBy implements ledger.Sources.
func (s *sources) ChargedBy(position uint64) ([]mechanism.Event, error) {
	return lookup.Charged(s.ctx, s.keeper.config.Store, s.queue.name, position)
}
