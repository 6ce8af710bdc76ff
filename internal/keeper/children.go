// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/ledger/share"
)

// A ledger's share is set aside in what stands above it, its parent or its dataset's record, by the write that makes
// the ledger, raises its budgets or registers the dataset. It is given back or spent after the ledger is closed, each
// by an entry in a lane of its own: what a crash cuts off is completed when it is tried again. Until then what stands
// above holds too much, never too little.

// giver gives ledgers their shares of one that stands above them, and is held.
type giver struct {
	k      *Keeper
	batch  *ledger.Batch
	view   ledger.View
	prices *budget.Prices // of the shares
	caller string         // who must have the right to take them
}

// gives has a ledger that is held give shares of what it may spend.
func (m *member) gives(ctx context.Context, prices *budget.Prices, caller string) (giver, error) {
	view, err := m.view(ctx)
	return giver{m.q.k, m.batch, view, prices, caller}, err
}

// give sets aside what a ledger may spend; of an adopted one that is closed it charges what that has spent. It does so
// in lanes of its own, whose names begin with lane.
func (g *giver) give(c share.Child, lane string) error {
	shares, err := c.Shares(g.view)
	if err != nil {
		return err
	}
	for i, share := range shares {
		made, err := g.k.decideAs(g.batch, ledger.Request{Writer: daemons(fmt.Sprintf("%s-%d", lane, i)), Action: share,
			Caller: g.caller, Prices: g.prices})
		if err == nil && c.Ended() {
			_, err = g.k.decideOwn(g.batch, fmt.Sprintf("request/settle-%d", made.Position),
				ledger.Commit{Reservation: made.Position, Events: share.Events})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allocation begins the lanes in which a new ledger's share is set aside.
func allocation(name string) string { return "request/allocate-" + token(name) }

// token stands for a text in the name of a lane.
func token(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// above returns the name of what stands above a ledger: its parent, or the record of its dataset; "" for none.
func (k *Keeper) above(s ledger.Spec) (string, error) {
	if s.Parent != "" && !ledger.IsDataset(s.Parent) {
		return s.Parent, nil
	}
	return k.BudgetOf(s.DatasetID)
}

// create makes a ledger that is not there. While it does, no dataset is registered: a registration knows all ledgers
// that it adopts, and those below them.
func (k *Keeper) create(ctx context.Context, g ledger.Genesis, caller string) (created bool, err error) {
	above, err := k.above(g.Spec)
	var prices *budget.Prices
	if err == nil && above != "" {
		prices, err = k.priceShares(ctx, k.reading(above), share.Child{Spec: g.Spec, Resolution: g.Resolution})
	}
	if err != nil {
		return false, err
	}
	k.registering.RLock()
	defer k.registering.RUnlock()
	refuse := func(format string, args ...any) (bool, error) {
		return false, fmt.Errorf("%w: %s", ledger.ErrDataset, fmt.Sprintf(format, args...))
	}
	above, err = k.above(g.Spec) // the dataset may have been registered meanwhile
	switch id := g.Spec.DatasetID; {
	case err != nil:
		return false, err
	case above != "":
		g.Spec.Parent = above
		err = k.createUnder(ctx, g, caller, prices)
		return err == nil, err
	case g.Spec.Parent != "":
		return refuse("parent: %s; allowed: none: the dataset_id says whose budget it is", g.Spec.Parent)
	case k.fleet != nil && id != "":
		// Another daemon may register the dataset at this moment, and has listed its ledgers already.
		return refuse("dataset_id: %q is of no registered dataset, and where several daemons serve the ledgers it "+
			"must be registered first: accountctl dataset create %s; allowed: that, or no dataset_id", id, id)
	case k.config.RequireDataset != nil && k.config.RequireDataset() && !ledger.IsSystem(g.Spec.Name):
		return refuse("dataset_id: %q is of no registered dataset, which the store requires; allowed: that of a "+
			"registered one (accountctl dataset list), or to register it: accountctl dataset create", id)
	}
	_, created, err = k.config.Store.Create(g)
	return created, err
}

// createUnder makes a ledger and takes its share of what stands above it, in one write.
func (k *Keeper) createUnder(ctx context.Context, g ledger.Genesis, caller string, prices *budget.Prices) error {
	child := share.Child{Spec: g.Spec, Resolution: g.Resolution}
	return fleet.Until(func() error {
		return k.together(ctx, []string{g.Spec.Parent}, func(all []*member) (bool, error) {
			above, err := all[0].gives(ctx, prices, caller)
			if err != nil {
				return false, err
			}
			if err := above.give(child, allocation(g.Spec.Name)); err != nil {
				return false, child.Refused(err, above.view)
			}
			return true, k.commit(all, ledger.Proposal{Ledger: g.Spec.Name, Genesis: &g})
		})
	})
}

// raiseUnder raises the budgets of a ledger below a dataset, and takes the new share of
// the dataset's instead of the old one, in one write.
func (k *Keeper) raiseUnder(ctx context.Context, name string, r ledger.Request) (result Result, err error) {
	var spec ledger.Spec
	var parent string // which never changes once there is one
	err = k.read(ctx, name, func(s *ledger.State) { spec, parent = s.Summary().Genesis.Spec, s.Parent() })
	if err != nil {
		return Result{}, err
	}
	raised := r
	raised.CheckOnly = false         // what is taken of the one above depends on it
	raise := r.Action.(ledger.Raise) // nothing else is decided together with that
	spec.Budgets = raise.Budgets
	prices, err := k.priceShares(ctx, k.reading(parent), share.Child{Spec: spec, Resolution: raise.Resolution})
	if err != nil {
		if written, e := k.written(name, &r); e != nil || !written {
			return Result{}, cmp.Or(e, err)
		}
	}
	err = fleet.Until(func() error {
		return k.together(ctx, []string{name, parent}, func(all []*member) (bool, error) {
			v := all[0].judge(&item{w: all[0].q.lane(r.Writer), request: raised}, k.Now())
			if result = v.result; v.kind == settled || v.err != nil {
				return v.kind == settled, v.err
			}
			above, err := all[1].gives(ctx, prices, r.Caller)
			if err != nil {
				return false, err
			}
			child := share.Child{}
			child.Spec, child.Resolution = all[0].batch.Raised()
			if err := above.again(child, r); err != nil {
				return false, child.Refused(err, above.view)
			}
			if r.CheckOnly {
				return false, nil
			}
			if err = k.commit(all); err == nil {
				result = Result{all[0].receipt(v.entry), false}
			}
			return true, err
		})
	})
	return result, err
}

// again takes back what a ledger holds, and gives it what it may spend after the raise r. A share that is not held any
// more, as a restore has charged it, stays charged.
func (g *giver) again(c share.Child, r ledger.Request) error {
	for _, open := range g.view.Reservations {
		if open.Child != c.Spec.Name {
			continue
		}
		lane := fmt.Sprintf("request/release-%d", open.Position)
		if _, err := g.k.decideOwn(g.batch, lane, ledger.Release{Reservation: open.Position}); err != nil {
			return err
		}
	}
	return g.give(c, "request/raise-"+token(fmt.Sprintf("%s %q %q %d", c.Spec.Name, r.Writer.Principal, r.Writer.Name,
		r.Sequence)))
}
