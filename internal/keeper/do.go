// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/share"
)

// Do decides one request and answers after the commit. It returns ErrBusy while the lane has a stream
// or another call in flight. If ctx ends first, Do returns ctx.Err(), but the request stays in the
// queue and will be decided: the lane is busy until then, and the same request gets its receipt when
// it is sent again.
//
// A refund's events and a raise's resolution need not be given: Do finds them.
//
// Errors of the request: ledger.ErrGap, ErrReused, ErrTaken, ErrClosed, ErrBudget,
// ErrReservation, ErrRefund, ErrRaise, ErrEnded, ErrUnreconciled, ErrReconcile, ErrOutOfRange,
// ErrTooLarge, or those of ledger.Resolve. Errors of the store: ledger.ErrUnavailable (nothing
// was written), ErrUnknown (send the request again to find out), ErrDamaged, ErrNotFound.
func (k *Keeper) Do(ctx context.Context, name string, r ledger.Request) (Result, error) {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return Result{}, err
	}
	err = k.prepare(ctx, q, &r)
	var c *call
	if err == nil {
		c, err = q.call(k.config.Batch.origin(ctx), r)
	}
	if err != nil {
		k.release(q, 1)
		return Result{}, err
	}
	result, err := c.wait(ctx)
	if errors.Is(err, ledger.ErrTogether) {
		return k.raiseUnder(ctx, name, r)
	}
	if r.Action.Details().Closes && err == nil && !r.CheckOnly {
		k.settleChild(ctx, name)
	}
	return result, err
}

func (c *call) wait(ctx context.Context) (Result, error) {
	select {
	case <-c.done:
		return c.result, c.err
	case <-ctx.Done():
	}
	select {
	case <-c.done: // both: the answer is the better news
		return c.result, c.err
	default:
		return Result{}, ctx.Err()
	}
}

// call queues a unary request. The caller has a pin on the queue, which is released when the request is
// answered.
func (q *queue) call(origin context.Context, r ledger.Request) (*call, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if limit := q.k.config; q.waiting >= limit.QueueRequests || q.bytes >= limit.QueueBytes {
		return nil, fmt.Errorf("%w: %d requests wait in %s", ledger.ErrUnavailable, q.waiting, q.name)
	}
	c := newCall(origin)
	w, err := q.occupy(r.Writer, &c)
	if err != nil {
		return nil, err
	}
	q.add(item{w: w, call: &c, request: r, bytes: r.Weight()})
	return &c, nil
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
	if err != nil || parent == "" {
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
	return k.Do(ctx, name, ledger.Request{
		Writer: daemons(lane), Sequence: 1, Digest: k.config.Digest(v), Action: v,
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
