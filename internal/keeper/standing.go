package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Standing returns what answers about a ledger stand on. It is cheap.
func (k *Keeper) Standing(ctx context.Context, name string) (st ledger.Standing, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { st = state.Standing() })
	return st, err
}
