package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/keeper/setlanes"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// Standing returns what answers about a ledger stand on. It is cheap.
func (k *Keeper) Standing(ctx context.Context, name string) (st ledger.Standing, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { st = state.Standing() })
	return st, err
}

// FirstTogether returns the first entry of a ledger that was made together with entries of others: see
// setlanes.First.
func (k *Keeper) FirstTogether(ctx context.Context, name string) (first ledger.Entry, found bool, err error) {
	if err := k.enter(ctx); err != nil {
		return first, false, err
	}
	defer k.leave()
	return setlanes.First(k.config.Store, name)
}
