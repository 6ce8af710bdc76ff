// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Ended follows a reservation through a ledger's entries, and returns the record of the entry at which charged finds
// that its rest was charged.
func Ended(ctx context.Context, store ledger.Store, name string, reservation uint64,
	charged func(*ledger.Ended) (ledger.Entry, error)) (end ledger.Record, err error) {
	x, err := ended(ctx, store, name, reservation, math.MaxUint64)
	if err != nil {
		return end, err
	}
	e, err := charged(x)
	if err != nil {
		return end, err
	}
	found, err := store.Records(name, e.Position, 1)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: %s: entry %d", ledger.ErrNotFound, name, e.Position)
	}
	if err != nil {
		return end, err
	}
	return found[0], nil
}

// ended follows a reservation through the entries before a position.
func ended(ctx context.Context, store ledger.Store, name string, reservation, before uint64) (*ledger.Ended, error) {
	var x *ledger.Ended
	for from := max(reservation, 1); from < before; from += page {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		records, err := store.Records(name, from, int(min(page, before-from)))
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if x != nil {
				err = x.Follow(r.Entry)
			} else if made, ok := ledger.Made(r.Entry); ok {
				x = made
			} else {
				return nil, noReservation(reservation)
			}
			if err != nil {
				return nil, fmt.Errorf("ledger %s: %w", name, err)
			}
		}
		if len(records) < page {
			break
		}
	}
	if x == nil {
		return nil, noReservation(reservation)
	}
	return x, nil
}

func noReservation(position uint64) error {
	return fmt.Errorf("%w: reservation: %d; allowed: the position of one", ledger.ErrReservation, position)
}
