package keeper

import (
	"context"
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// prepare completes a request with what its decision needs and cannot find itself:
// what a refund's entry charged, which the log tells, and what a raise comes to,
// which can take long, as the costs of new mechanisms can. The decision compares them with
// its state.
func (k *Keeper) prepare(ctx context.Context, q *queue, r *ledger.Request) error {
	switch r.Action.(type) {
	case ledger.Refund, ledger.Raise:
	case ledger.Charge, ledger.Reserve, ledger.Reconcile:
		return k.price(ctx, q, r)
	default:
		return nil
	}
	last, _, err := k.config.Store.Writer(q.name, r.Writer)
	if err != nil || r.Sequence <= last { // a duplicate gets its receipt whatever has become of the ledger
		return err
	}
	switch v := r.Action.(type) {
	case ledger.Refund:
		v.Events, err = k.chargedBy(ctx, q.name, v.Position)
		r.Action = v
	case ledger.Raise:
		var raising ledger.Raising
		if err := q.read(ctx, func(s *ledger.State) { raising = s.Raising(v) }); err != nil {
			return err
		}
		if v.Resolution, err = k.resolve(ctx, raising); err != nil {
			return err
		}
		r.Action = v
		return k.find(ctx, r, raising.Prices(v.Resolution))
	}
	return err
}

// chargedBy reads what an entry has charged.
func (k *Keeper) chargedBy(ctx context.Context, name string, position uint64) ([]mechanism.Event, error) {
	const allowed = "the position of a charge, a commit or an expiry"
	e, err := k.entry(name, position)
	if err != nil {
		return nil, err
	}
	switch v := e.Action.(type) {
	case ledger.Charge:
		return v.Events, nil
	case ledger.Commit:
		return v.Events, nil
	case ledger.Expire:
		return k.expired(ctx, name, v.Reservation, position)
	case nil:
		return nil, fmt.Errorf("%w: position: %d is not there; allowed: %s", ledger.ErrRefund, position, allowed)
	}
	what := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e.Action), "ledger."))
	return nil, fmt.Errorf("%w: position: %d is a %s; allowed: %s", ledger.ErrRefund, position, what, allowed)
}

// entry reads one entry, the zero Entry where there is none.
func (k *Keeper) entry(name string, position uint64) (ledger.Entry, error) {
	records, err := k.config.Store.Records(name, position, 1)
	if err != nil || len(records) == 0 || records[0].Entry.Position != position {
		return ledger.Entry{}, err
	}
	return records[0].Entry, nil
}

// expired reads what was left of a reservation when it expired by the entry at end.
func (k *Keeper) expired(ctx context.Context, name string, reservation, end uint64) ([]mechanism.Event, error) {
	const page = 100
	var made ledger.Reserve
	var commits []ledger.Commit
	for from := reservation; from < end; from += page {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		records, err := k.config.Store.Records(name, from, int(min(page, end-from)))
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			switch v := r.Entry.Action.(type) {
			case ledger.Reserve:
				if r.Entry.Position == reservation {
					made = v
				}
			case ledger.Commit:
				if v.Reservation == reservation {
					commits = append(commits, v)
				}
			}
		}
	}
	rest, ok := made.Rest(commits)
	if !ok {
		return nil, fmt.Errorf("%w: %s: the entries of reservation %d do not fit together", ledger.ErrDamaged, name, reservation)
	}
	return ledger.Events(rest), nil
}
