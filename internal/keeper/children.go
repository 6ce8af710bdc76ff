// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/keeper/lookup"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/ledger/share"
)

// createRoot makes a ledger that no other ledger pays for. Where its dataset is registered
// it takes its share of that; and while it does, none is registered.
func (k *Keeper) createRoot(ctx context.Context, g ledger.Genesis, caller string) (ledger.Summary, bool, error) {
	payer, err := k.BudgetOf(g.Spec.DatasetID)
	var prices *budget.Prices
	if err == nil && payer != "" {
		prices, err = k.priceChild(ctx, payer, g.Spec, g.Resolution)
	}
	if err != nil {
		return ledger.Summary{}, false, err
	}
	k.registering.RLock()
	defer k.registering.RUnlock()
	payer, err = k.BudgetOf(g.Spec.DatasetID) // which may have been registered meanwhile
	switch {
	case err != nil:
		return ledger.Summary{}, false, err
	case payer != "":
		g.Spec.Parent = payer
		return k.createUnder(ctx, g, caller, prices)
	case ledger.IsDataset(g.Spec.Parent):
		return ledger.Summary{}, false, fmt.Errorf("%w: parent: %s; allowed: none: the dataset_id says whose "+
			"budget it is",
			ledger.ErrDataset, g.Spec.Parent)
	case k.fleet != nil && g.Spec.DatasetID != "":
		// Another daemon may register the dataset at this moment, and has listed its ledgers already.
		return ledger.Summary{}, false, fmt.Errorf("%w: dataset_id: %q is of no registered dataset, and where several "+
			"daemons serve the ledgers it must be registered first: accountctl dataset create %s; allowed: that, or "+
			"no dataset_id", ledger.ErrDataset, g.Spec.DatasetID, g.Spec.DatasetID)
	case k.config.RequireDataset != nil && k.config.RequireDataset() && !ledger.IsSystem(g.Spec.Name):
		return ledger.Summary{}, false, fmt.Errorf("%w: dataset_id: %q is of no registered dataset, which the "+
			"store requires; allowed: that of a registered one (accountctl dataset list), or to register it: "+
			"accountctl dataset create", ledger.ErrDataset, g.Spec.DatasetID)
	}
	return k.config.Store.Create(g)
}

// createUnder makes a ledger and takes its share of its dataset's or its parent's budget, in one write.
func (k *Keeper) createUnder(ctx context.Context, g ledger.Genesis, caller string,
	prices *budget.Prices) (sum ledger.Summary, created bool, err error) {
	if k.config.Digest == nil {
		return ledger.Summary{}, false, errNoDigest
	}
	err = fleet.Until(func() error {
		return k.together(ctx, []string{g.Spec.Parent}, func(all []*member) (bool, error) {
			if err := k.allocate(ctx, all[0], g, caller, prices); err != nil {
				return false, err
			}
			err := k.commit(all, ledger.Proposal{Ledger: g.Spec.Name, Genesis: &g})
			if errors.Is(err, ledger.ErrConflict) {
				if _, _, e := k.config.Store.GenesisRecord(g.Spec.Name); e == nil { // the name was taken meanwhile
					err = ledger.ErrExists
				}
			}
			return true, err
		})
	})
	if err == nil {
		sum, err = lookup.Summary(k.config.Store, g.Spec.Name)
	}
	return sum, err == nil, err
}

// allocation is the lane in which a new ledger's share is set aside.
func allocation(name string) string { return "request/allocate-" + token(name) + "-0" }

// token stands for a text in the name of a lane.
func token(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// A child ledger's share is set aside in its parent by the write that makes the child. It is given back or spent
// after the child is closed, each by an entry in a lane of its own: what a crash cuts off is completed when it is
// tried again. Until then the parent holds too much, never too little.

// allocate sets aside what a new ledger may spend in its parent, which is held.
func (k *Keeper) allocate(ctx context.Context, parent *member, g ledger.Genesis, caller string,
	prices *budget.Prices) error {
	view, err := parent.view(ctx)
	if err != nil {
		return err
	}
	v, err := share.Allocate(view, g.Spec, g.Resolution)
	if err == nil {
		_, err = k.decideShare(parent.batch, allocation(g.Spec.Name), v, caller, prices)
	}
	if err == nil {
		return nil
	}
	err = share.InItsWords(err, view, g.Spec, g.Resolution)
	if d := view.Genesis.Spec; d.Dataset != nil {
		return fmt.Errorf("dataset %s: %w", d.DatasetID, err)
	}
	return fmt.Errorf("parent: %s: %w", g.Spec.Parent, err)
}

// raiseUnder raises the budgets of a ledger below a dataset, and takes the new share of
// the dataset's instead of the old one, in one write.
func (k *Keeper) raiseUnder(ctx context.Context, name string, r ledger.Request) (result Result, err error) {
	if k.config.Digest == nil {
		return Result{}, errNoDigest
	}
	var spec ledger.Spec
	var parent string // which never changes once there is one
	err = k.read(ctx, name, func(s *ledger.State) { spec, parent = s.Summary().Genesis.Spec, s.Parent() })
	if err != nil {
		return Result{}, err
	}
	raised := r
	raised.CheckOnly = false         // what is taken of the dataset depends on it
	raise := r.Action.(ledger.Raise) // nothing else is decided together with the dataset
	spec.Budgets = raise.Budgets
	prices, err := k.priceChild(ctx, parent, spec, raise.Resolution)
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
			if err := k.retake(ctx, all[0], all[1], r, prices); err != nil || r.CheckOnly {
				return false, err
			}
			err := k.commit(all)
			if err == nil {
				result = Result{all[0].receipt(v.entry), false}
			}
			return true, err
		})
	})
	return result, err
}

// retake gives back what a ledger holds of its dataset, and takes what it may spend after
// a raise. A share that is not held any more, as a restore has charged it, stays charged.
func (k *Keeper) retake(ctx context.Context, h, d *member, r ledger.Request, prices *budget.Prices) error {
	dataset, err := d.view(ctx)
	if err != nil {
		return err
	}
	spec, resolution := h.batch.Raised()
	for _, open := range dataset.Reservations {
		if open.Child == spec.Name && err == nil {
			lane := fmt.Sprintf("request/release-%d", open.Position)
			_, err = k.decideOwn(d.batch, lane, ledger.Release{Reservation: open.Position})
		}
	}
	var v ledger.Reserve
	if err == nil {
		v, err = share.Allocate(dataset, spec, resolution)
	}
	if err == nil {
		lane := "request/raise-" + token(fmt.Sprintf("%s %q %q %d", spec.Name, r.Writer.Principal, r.Writer.Name,
			r.Sequence))
		_, err = k.decideShare(d.batch, lane, v, r.Caller, prices)
	}
	if err != nil {
		err = share.InItsWords(err, dataset, spec, resolution)
		return fmt.Errorf("dataset %s: %w", dataset.Genesis.Spec.DatasetID, err)
	}
	return nil
}
