package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/journals"
)

// Standing returns what answers about a ledger stand on. It is cheap.
func (k *Keeper) Standing(ctx context.Context, name string) (st ledger.Standing, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { st = state.Standing() })
	return st, err
}

// FirstTogether returns the first entry of a ledger that was made together with entries of others; false if
// there is none. It needs no scan: each principal has one lane for them.
func (k *Keeper) FirstTogether(ctx context.Context, name string) (first ledger.Entry, found bool, err error) {
	if err := k.enter(ctx); err != nil {
		return first, false, err
	}
	defer k.leave()
	lanes, err := k.config.Store.Namesakes(name, ledger.Writer{Name: journals.Lane})
	for _, r := range lanes {
		if !found || r.Entry.Position < first.Position {
			first, found = r.Entry, true
		}
	}
	return first, found, err
}
