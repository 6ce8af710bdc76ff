package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
)

// What concerns several ledgers at once, such as a ledger's creation and the share that it
// takes of its dataset, is decided while their queues are held, and written by one Append.

// held is a ledger whose queue decides nothing until it is let go. Its owner decides in its
// place.
type held struct {
	q     *queue
	batch *ledger.Batch // on top of the committed state
}

// hold waits until the batches that are being decided in ledgers are written. Their queues then stand
// still until letGo. What it returns is in the order of the names, which are distinct.
func (k *Keeper) hold(ctx context.Context, names ...string) ([]*held, error) {
	queues, err := k.acquireAll(ctx, names)
	if err != nil {
		return nil, err
	}
	k.placing.Lock()
	c := place(queues)
	k.placing.Unlock()
	select {
	case <-c.reached:
	case <-ctx.Done():
		go func() {
			<-c.reached
			k.letGo(queues)
		}()
		return nil, ctx.Err()
	}
	if _, err := k.followAll(ctx, queues); err != nil {
		k.letGo(queues)
		return nil, err
	}
	all := make([]*held, len(queues))
	for i, q := range queues {
		all[i] = &held{q: q}
		if err := all[i].begin(ctx); err != nil {
			k.letGo(queues)
			return nil, fmt.Errorf("ledger %s: %w", q.name, err)
		}
	}
	return all, nil
}

// begin starts a batch on the committed state.
func (h *held) begin(ctx context.Context) error {
	return h.q.read(ctx, func(s *ledger.State) {
		h.batch = ledger.NewBatch(s)
		h.batch.Bound()
	})
}

// free lets held ledgers go.
func (k *Keeper) free(all []*held) {
	queues := make([]*queue, len(all))
	for i, h := range all {
		queues[i] = h.q
	}
	k.letGo(queues)
}

// view is the committed state.
func (h *held) view(ctx context.Context) (v ledger.View, err error) {
	err = h.q.read(ctx, func(s *ledger.State) { v = s.View() })
	return v, err
}

// decideOwn decides an action of the daemon's own in a lane of its own.
func (k *Keeper) decideOwn(b *ledger.Batch, lane string, v ledger.Action) (ledger.Entry, error) {
	return k.decideShare(b, lane, v, "", nil)
}

// decideShare is decideOwn of what a caller must have the right to, with its prices.
func (k *Keeper) decideShare(b *ledger.Batch, lane string, v ledger.Action, caller string,
	prices *budget.Prices) (ledger.Entry, error) {
	return k.decideAs(b, ledger.Request{Writer: ledger.Writer{Principal: ledger.Daemon, Name: lane}, Action: v,
		Caller: caller, Prices: prices})
}

// decideAs decides the first request of a writer's lane.
func (k *Keeper) decideAs(b *ledger.Batch, r ledger.Request) (ledger.Entry, error) {
	r.Sequence, r.Digest = 1, k.config.Digest(r.Action)
	d := b.Decide(r, ledger.Lane{}, k.Now())
	if d.Err != nil {
		return ledger.Entry{}, d.Err
	}
	return b.Entries()[d.Entry], nil
}

// writeTogether writes what was decided on held ledgers, and new ledgers, in one Append,
// and makes it part of the states.
func (k *Keeper) writeTogether(all []*held, created ...ledger.Proposal) error {
	proposals := make([]ledger.Proposal, 0, len(all)+len(created))
	for _, h := range all {
		proposals = append(proposals, h.batch.Proposal())
	}
	proposals = append(proposals, created...)
	hashes, err := k.appendTogether(proposals)
	switch {
	case errors.Is(err, ledger.ErrTooLarge), errors.Is(err, ledger.ErrUnavailable):
		return err
	case err != nil:
		for _, h := range all {
			h.q.forget()
		}
		return err
	}
	for i, h := range all {
		h.q.passed(h.batch.Entries()...)
		h.q.apply(h.batch, hashes[i])
	}
	return nil
}

// appendTogether is Store.Append, whose errors it makes those of the contract: after ErrTooLarge and
// ErrUnavailable nothing was written, and after all others the states are to be read again.
func (k *Keeper) appendTogether(proposals []ledger.Proposal) ([][]ledger.Hash, error) {
	hashes, err := k.config.Store.Append(proposals)
	for _, known := range []error{ledger.ErrTooLarge, ledger.ErrUnavailable, ledger.ErrConflict, ledger.ErrUnknown} {
		if errors.Is(err, known) {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ledger.ErrUnknown, err)
	}
	whole := len(hashes) == len(proposals)
	for i := 0; whole && i < len(hashes); i++ {
		whole = len(hashes[i]) == len(proposals[i].Entries)
	}
	if !whole {
		return nil, fmt.Errorf("%w: the store answered %d proposals with hashes of others", ledger.ErrUnknown,
			len(proposals))
	}
	return hashes, nil
}
