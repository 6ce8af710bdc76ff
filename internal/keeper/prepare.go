package keeper

import (
	"context"
	"errors"
	"fmt"

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

// written reports whether the store has a request. Another daemon may write it at any moment, for a client that has
// sent it to both, and what that changes may be why it is refused here. So whoever refuses a request without
// asking its lane asks this again, and last: nobody is told of a refusal who was charged before.
func (k *Keeper) written(name string, r *ledger.Request) (bool, error) {
	last, _, err := k.config.Store.Writer(name, r.Writer)
	if errors.Is(err, ledger.ErrNotFound) { // a journal that is not there yet
		return false, nil
	}
	return err == nil && r.Sequence > 0 && r.Sequence <= last, err
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
	const allowed = "the position of a charge, a commit or an expiry"
	e, err := s.keeper.entry(s.queue.name, position)
	if err != nil {
		return nil, err
	}
	if e.Action == nil {
		return nil, fmt.Errorf("%w: position: %d is not there; allowed: %s", ledger.ErrRefund, position, allowed)
	}
	charging, ok := e.Action.(ledger.Refundable)
	if !ok {
		return nil, fmt.Errorf("%w: position: %d is a %s; allowed: %s", ledger.ErrRefund, position,
			e.Action.Kind(), allowed)
	}
	return charging.Charged(func(reservation uint64) ([]mechanism.Event, error) {
		return s.keeper.leftBefore(s.ctx, s.queue.name, reservation, position)
	})
}

// entry reads one entry, the zero Entry where there is none.
func (k *Keeper) entry(name string, position uint64) (ledger.Entry, error) {
	records, err := k.config.Store.Records(name, position, 1)
	if err != nil || len(records) == 0 || records[0].Entry.Position != position {
		return ledger.Entry{}, err
	}
	return records[0].Entry, nil
}

// leftBefore reads what was left of a reservation before the entry at end.
func (k *Keeper) leftBefore(ctx context.Context, name string, reservation, end uint64) ([]mechanism.Event, error) {
	const page = 100
	var made ledger.Entry
	var later []ledger.Entry
	for from := reservation; from < end; from += page {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		records, err := k.config.Store.Records(name, from, int(min(page, end-from)))
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			switch {
			case r.Entry.Position == reservation:
				made = r.Entry
			case r.Entry.Action.Details().About == reservation:
				later = append(later, r.Entry)
			}
		}
	}
	left, ok := ledger.Left(made, later)
	if !ok {
		return nil, fmt.Errorf("%w: %s: the entries of reservation %d do not fit together",
			ledger.ErrDamaged, name, reservation)
	}
	return left, nil
}
