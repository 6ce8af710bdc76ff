// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/keeper/lookup"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/share"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Summary returns a ledger's committed state without its counts.
func (k *Keeper) Summary(ctx context.Context, name string) (s ledger.Summary, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { s = state.Summary() })
	return s, err
}

// Adjacency returns a ledger's adjacency, which never changes. It is cheap: a queue that is there need not be pinned.
func (k *Keeper) Adjacency(ctx context.Context, name string) (adj mechanism.Adjacency, err error) {
	read := func(state *ledger.State) { adj = state.Adjacency() }
	k.mu.Lock()
	q := k.queues[name]
	k.mu.Unlock()
	if q == nil || !q.see(read) {
		err = k.read(ctx, name, read)
	}
	return adj, err
}

// Composition returns what outputs there may be of (see ledger.State.Composition) and
// the summary of the same committed position.
func (k *Keeper) Composition(ctx context.Context, name string) (c mechanism.Composition, s ledger.Summary, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { c, s = state.Composition(), state.Summary() })
	return c, s, err
}

// View returns a ledger as it is committed, with its balances.
func (k *Keeper) View(ctx context.Context, name string) (v ledger.View, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { v = state.View() })
	return v, err
}

// ViewFrom is View of a state that has the entry at head, which the store has said is committed. It asks the store only
// if that entry is not in memory.
func (k *Keeper) ViewFrom(ctx context.Context, name string, head ledger.Head) (v ledger.View, err error) {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return v, err
	}
	defer k.release(q, 1)
	err = q.meet(ctx, head, func(state *ledger.State) { v = state.View() })
	return v, err
}

// Standing returns what answers about a ledger stand on. It is cheap.
func (k *Keeper) Standing(ctx context.Context, name string) (st ledger.Standing, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { st = state.Standing() })
	return st, err
}

// Joint is what several ledgers have committed, each at its own head. Every charge that was acknowledged
// before the call of Keeper.Joint is in it.
type Joint struct {
	Views []ledger.View // in the order of the names that were asked for
}

// Joint reads several ledgers, at least one. It fails with ErrSet
// where two of them have another adjacency or unit of privacy, and with ErrOutOfRange where they have
// more distinct mechanisms than one ledger may have.
func (k *Keeper) Joint(ctx context.Context, names []string) (j Joint, err error) {
	if k.fleet != nil { // one reading for all
		ctx = fleet.Within(ctx)
		if _, _, err := k.fleet.Of(ctx, names...); err != nil {
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
	if err := ledger.Agree(specs); err != nil {
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

// Writer returns the last committed sequence number and position of a lane,
// zeros if its writer has written nothing.
func (k *Keeper) Writer(ctx context.Context, name string, w ledger.Writer) (sequence, position uint64, err error) {
	if err := k.enter(ctx); err != nil {
		return 0, 0, err
	}
	defer k.leave()
	return k.config.Store.Writer(name, w)
}

// Waiting is how many requests of all ledgers wait to be decided; those that are
// being decided or written are not among them.
func (k *Keeper) Waiting() int64 { return k.waiting.Load() }

// BudgetOf returns the name of the record whose budget ledgers with this dataset_id take: see lookup.BudgetOf.
func (k *Keeper) BudgetOf(datasetID string) (string, error) {
	return lookup.BudgetOf(k.config.Store, datasetID)
}

// Shares returns the ledgers of a dataset's record with what is set aside or charged for them there: see
// lookup.Shares.
func (k *Keeper) Shares(ctx context.Context, dataset string) ([]share.Share, error) {
	if err := k.enter(ctx); err != nil {
		return nil, err
	}
	defer k.leave()
	return lookup.Shares(ctx, k.config.Store, dataset)
}

// InRange returns the names of the ledgers in a range: see lookup.InRange.
func (k *Keeper) InRange(ctx context.Context, r ledger.NameRange, shown func(ledger.Spec) bool) ([]string, error) {
	if err := k.enter(ctx); err != nil {
		return nil, err
	}
	defer k.leave()
	return lookup.InRange(ctx, k.config.Store, r, shown)
}

// Reserved returns what a set has reserved: the journal's entry, and who wrote it.
func (k *Keeper) Reserved(ctx context.Context, journal string, position uint64) (ledger.Together, string, error) {
	if err := k.enter(ctx); err != nil {
		return ledger.Together{}, "", err
	}
	defer k.leave()
	e, err := lookup.Entry(k.config.Store, journal, position)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return ledger.Together{}, "", err
	}
	v, ok := e.Action.(ledger.Together)
	if _, reserve := v.Action.(ledger.Reserve); !ok || !reserve {
		return ledger.Together{}, "", NotReserved(journal, position)
	}
	return v, e.Writer.Principal, nil
}

// NotReserved is the error of a commit or a release of what no set has reserved.
func NotReserved(journal string, position uint64) error {
	return fmt.Errorf("%w: reservation: %d in %s; allowed: the journal and the position that you were told when you "+
		"reserved in several ledgers", ledger.ErrReservation, position, journal)
}

// ChargedBefore returns the receipt of the entry that has charged what v commits, when its reservation ended: see
// ledger.Ended. It fails with ledger.ErrReservation if none has.
func (k *Keeper) ChargedBefore(ctx context.Context, name string, w ledger.Writer,
	v ledger.Commit) (ledger.Receipt, error) {
	if err := k.enter(ctx); err != nil {
		return ledger.Receipt{}, err
	}
	defer k.leave()
	r, err := lookup.Ended(ctx, k.config.Store, name, v.Reservation,
		func(x *ledger.Ended) (ledger.Entry, error) { return x.Charged(v, w) })
	storeID := ""
	if err == nil {
		err = k.ask(ctx, name, func(s *ledger.State) { storeID = s.StoreOf(r.Entry.Position) })
	}
	if err != nil {
		return ledger.Receipt{}, err
	}
	return r.Receipt(storeID, name), nil
}
