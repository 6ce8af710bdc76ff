package keeper

import (
	"context"
	"fmt"

	"github.com/dpaccountant/accountant/internal/keeper/fresh"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/set"
)

// Joint is what several ledgers have committed, each at its own head. Every charge that was acknowledged
// before the call of Keeper.Joint is in it.
type Joint struct {
	Views []ledger.View // in the order of the names that were asked for
}

// Joint reads several ledgers, at least one. It fails with ErrSet
// where two of them have another adjacency or unit of privacy, and with ErrOutOfRange where they have
// more distinct mechanisms than one ledger may have.
func (k *Keeper) Joint(ctx context.Context, names []string) (j Joint, err error) {
	if k.heads != nil { // one reading for all
		ctx = fresh.Within(ctx)
		if _, _, err := k.heads.Of(ctx, names...); err != nil {
			return Joint{}, err
		}
	}
	specs, distinct := make([]ledger.Spec, len(names)), 0
	for i, name := range names {
		s, err := k.Summary(ctx, name)
		if err != nil {
			return Joint{}, err
		}
		specs[i] = s.Genesis.Spec
		if distinct += s.Distinct; distinct > ledger.MaxDistinct {
			return Joint{}, fmt.Errorf("%w: mechanisms of %d ledgers: more than %d; allowed: at most that many, as "+
				"in one ledger: ask about fewer ledgers", ledger.ErrOutOfRange, len(names), ledger.MaxDistinct)
		}
	}
	if err := set.Agree(specs); err != nil {
		return Joint{}, err
	}
	j.Views = make([]ledger.View, len(names))
	for i, name := range names {
		if j.Views[i], err = k.View(ctx, name); err != nil {
			return Joint{}, err
		}
	}
	return j, nil
}
