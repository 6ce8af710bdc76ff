// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Charged returns what the entry at a position has charged. It fails with ledger.ErrRefund if there is no such entry,
// or if it has charged nothing.
func Charged(ctx context.Context, store ledger.Store, name string, position uint64) ([]mechanism.Event, error) {
	const allowed = "the position of a charge, a commit or an expiry"
	e, err := Entry(store, name, position)
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
		return leftBefore(ctx, store, name, reservation, position)
	})
}

// leftBefore reads what was left of a reservation before the entry at end.
func leftBefore(ctx context.Context, store ledger.Store, name string, reservation,
	end uint64) ([]mechanism.Event, error) {
	x, err := ended(ctx, store, name, reservation, end)
	if err != nil {
		return nil, err
	}
	return x.Left(), nil
}
