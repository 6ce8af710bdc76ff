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
	err = fleet.Until(func() (err error) {
		if sum, err = k.tryUnder(ctx, g, caller, prices); !errors.Is(err, ledger.ErrConflict) {
			return err
		}
		if _, _, e := k.config.Store.GenesisRecord(g.Spec.Name); e == nil { // the name was taken meanwhile
			return ledger.ErrExists
		}
		return err
	})
	return sum, err == nil, err
}

func (k *Keeper) tryUnder(ctx context.Context, g ledger.Genesis, caller string,
	prices *budget.Prices) (ledger.Summary, error) {
	all, err := k.hold(ctx, g.Spec.Parent)
	if err != nil {
		return ledger.Summary{}, err
	}
	defer k.free(all)
	h := all[0]
	dataset, err := h.view(ctx)
	if err != nil {
		return ledger.Summary{}, err
	}
	if err := k.allocate(h, dataset, g, caller, prices); err != nil {
		err = share.InItsWords(err, dataset, g.Spec, g.Resolution)
		if d := dataset.Genesis.Spec; d.Dataset != nil {
			return ledger.Summary{}, fmt.Errorf("dataset %s: %w", d.DatasetID, err)
		}
		return ledger.Summary{}, fmt.Errorf("parent: %s: %w", g.Spec.Parent, err)
	}
	if err := k.writeTogether(all, ledger.Proposal{Ledger: g.Spec.Name, Genesis: &g}); err != nil {
		return ledger.Summary{}, err
	}
	return lookup.Summary(k.config.Store, g.Spec.Name)
}

// allocation is the lane in which a new ledger's share is set aside.
func allocation(name string) string { return "request/allocate-" + token(name) + "-0" }

// token stands for a text in the name of a lane.
func token(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// A child ledger's share is set aside in its parent by the write that makes the child. It is given back or spent
// after the child is closed, each by an entry in a lane of its own: what a crash cuts off is completed when it is
// tried again. Until then the parent holds too much, never too little.

// allocate sets aside what a new ledger may spend in its parent, which is held.
func (k *Keeper) allocate(h *held, parent ledger.View, g ledger.Genesis, caller string,
	prices *budget.Prices) error {
	v, err := share.Allocate(parent, g.Spec, g.Resolution)
	if err == nil {
		_, err = k.decideShare(h.batch, allocation(g.Spec.Name), v, caller, prices)
	}
	return err
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
	raise := r.Action.(ledger.Raise) // nothing else is decided together with the dataset
	spec.Budgets = raise.Budgets
	prices, err := k.priceChild(ctx, parent, spec, raise.Resolution)
	if err != nil {
		if written, e := k.written(name, &r); e != nil || !written {
			return Result{}, cmp.Or(e, err)
		}
	}
	err = fleet.Until(func() (err error) {
		result, err = k.tryRaiseUnder(ctx, name, parent, r, prices)
		return err
	})
	return result, err
}

func (k *Keeper) tryRaiseUnder(ctx context.Context, name, parent string, r ledger.Request,
	prices *budget.Prices) (Result, error) {
	all, err := k.hold(ctx, name, parent)
	if err != nil {
		return Result{}, err
	}
	defer k.free(all)
	h, d := all[0], all[1]
	result, done, err := k.decideFor(h, r)
	if err != nil || done {
		return result, err
	}
	view, err := d.view(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := k.retake(h, d, view, r, prices); err != nil {
		spec, resolution := h.batch.Raised()
		err = share.InItsWords(err, view, spec, resolution)
		return Result{}, fmt.Errorf("dataset %s: %w", view.Genesis.Spec.DatasetID, err)
	}
	if r.CheckOnly {
		return Result{}, nil
	}
	if err := k.writeTogether(all); err != nil {
		return Result{}, err
	}
	record, err := k.config.Store.RecordOf(name, r.Writer, r.Sequence)
	return Result{record.Receipt(k.storeID, name), false}, err
}

// decideFor decides a caller's request on a held ledger. A duplicate is done: it gets its
// first receipt.
func (k *Keeper) decideFor(h *held, r ledger.Request) (_ Result, done bool, err error) {
	last, at, err := k.config.Store.Writer(h.q.name, r.Writer)
	if err != nil {
		return Result{}, false, err
	}
	if r.Sequence == 1 && last == 0 {
		clear(h.q.begun)
		if err := h.q.taken(r); err != nil {
			return Result{}, false, err
		}
	}
	check := r
	check.CheckOnly = false
	d := h.batch.Decide(check, ledger.Lane{Sequence: last, Position: at}, k.Now())
	if d.Outcome != ledger.Duplicate {
		return Result{}, false, d.Err
	}
	record, err := k.config.Store.RecordOf(h.q.name, r.Writer, r.Sequence)
	if err != nil {
		return Result{}, false, err
	}
	if record.Entry.Digest != r.Digest {
		return Result{}, false, reused(r)
	}
	return Result{record.Receipt(h.batch.StoreOf(record.Entry.Position), h.q.name), true}, true, nil
}

// retake gives back what a ledger holds of its dataset, and takes what it may spend after
// a raise. A share that is not held any more, as a restore has charged it, stays charged.
func (k *Keeper) retake(h, d *held, dataset ledger.View, r ledger.Request, prices *budget.Prices) error {
	spec, resolution := h.batch.Raised()
	for _, open := range dataset.Reservations {
		if open.Child == spec.Name {
			lane := fmt.Sprintf("request/release-%d", open.Position)
			if _, err := k.decideOwn(d.batch, lane, ledger.Release{Reservation: open.Position}); err != nil {
				return err
			}
		}
	}
	v, err := share.Allocate(dataset, spec, resolution)
	if err != nil {
		return err
	}
	lane := "request/raise-" + token(fmt.Sprintf("%s %q %q "+
		"%d", spec.Name, r.Writer.Principal, r.Writer.Name, r.Sequence))
	_, err = k.decideShare(d.batch, lane, v, r.Caller, prices)
	return err
}
