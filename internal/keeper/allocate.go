package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/ledger/share"
)

// A child ledger's share is set aside in its parent by the write that makes the child. It is given back or spent
// after the child is closed, each by an entry in a lane of its own: what a crash cuts off is completed when it is
// tried again. Until then the parent holds too much, never too little.

// allocate sets aside what a new ledger may spend in its parent, which is held. Earlier versions made the child
// after that, so the parent may hold a share of an attempt that failed. It is given back.
func (k *Keeper) allocate(h *held, parent ledger.View, g ledger.Genesis, caller string,
	prices *budget.Prices) error {
	for _, r := range parent.Reservations {
		if r.Child != g.Spec.Name {
			continue
		}
		lane := fmt.Sprintf("request/release-%d", r.Position)
		if _, err := k.decideOwn(h.batch, lane, ledger.Release{Reservation: r.Position}); err != nil {
			return err
		}
	}
	v, err := share.Allocate(parent, g.Spec, g.Resolution)
	if err != nil {
		return err
	}
	for n := 0; ; n++ { // an attempt each
		lane := fmt.Sprintf("request/allocate-%s-%d", token(g.Spec.Name), n)
		_, err := k.config.Store.RecordOf(h.q.name, ledger.Writer{Principal: ledger.Daemon, Name: lane}, 1)
		if errors.Is(err, ledger.ErrNotFound) {
			_, err = k.decideShare(h.batch, lane, v, caller, prices)
			return err
		}
		if err != nil {
			return err
		}
	}
}

// giveBack releases what is left of a child's reservation.
func (k *Keeper) giveBack(ctx context.Context, parent string, position uint64) error {
	_, err := k.write(ctx, parent, fmt.Sprintf("request/release-%d", position), ledger.Release{Reservation: position})
	return moot(err)
}

// settle charges a parent for what its closed child has spent, and gives back the
// rest.
func (k *Keeper) settle(ctx context.Context, parent string, r ledger.Reservation) error {
	sum, err := k.Summary(ctx, r.Child)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && !sum.Closed {
		return nil // it is being created, or open
	}
	var child ledger.View
	if err == nil {
		child, err = k.View(ctx, r.Child)
	}
	if err != nil {
		return fmt.Errorf("child %s: %w", r.Child, err)
	}
	spent, left := share.Settle(child, r)
	if len(spent.Events) > 0 {
		_, err := k.write(ctx, parent, fmt.Sprintf("request/settle-%d", r.Position), spent)
		if errors.Is(err, ErrBusy) {
			return nil // another settles it, and may yet fail: nothing is given back before it is charged
		}
		if moot(err) != nil {
			return err
		}
	}
	if left {
		return k.giveBack(ctx, parent, r.Position)
	}
	return nil
}

// settleChild settles a ledger that was just closed with its parent, if it has one.
// What fails here, Expire makes up for.
func (k *Keeper) settleChild(ctx context.Context, name string) {
	var parent string
	err := k.read(ctx, name, func(s *ledger.State) { parent = s.Parent() })
	if err != nil || parent == "" || k.config.Digest == nil {
		return
	}
	var open []ledger.Reservation
	if err := k.read(ctx, parent, func(s *ledger.State) { open = s.Reservations() }); err != nil {
		return
	}
	for _, r := range open {
		if r.Child == name {
			_ = k.settle(ctx, parent, r) // Expire tells
		}
	}
}

// write appends an action of the daemon's own, in a lane of its own.
func (k *Keeper) write(ctx context.Context, name, lane string, v ledger.Action) (Result, error) {
	return k.writeFor(ctx, name, lane, v, "")
}

// writeFor is write of what a caller must have the right to.
func (k *Keeper) writeFor(ctx context.Context, name, lane string, v ledger.Action, caller string) (Result, error) {
	return k.Do(ctx, name, ledger.Request{
		Writer: ledger.Writer{Principal: ledger.Daemon, Name: lane}, Sequence: 1, Digest: k.config.Digest(v),
		Action: v, Caller: caller,
	})
}

// moot drops errors that say that a reservation is not open any more, or is being
// settled by another.
func moot(err error) error {
	if errors.Is(err, ledger.ErrReservation) || errors.Is(err, ledger.ErrClosed) || errors.Is(err, ErrBusy) {
		return nil
	}
	return err
}
