// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// hold waits until the batches that are being decided in ledgers are written. Their queues then stand
// still until they are freed. What it returns is in the order of the names, which are distinct.
func (k *Keeper) hold(ctx context.Context, names ...string) ([]*member, error) {
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
			k.freeAll(queues)
		}()
		return nil, ctx.Err()
	}
	r := round{k: k}
	err = r.begin(ctx, queues)
	for _, m := range r.members {
		if m.lost != nil {
			err = fmt.Errorf("ledger %s: %w", m.q.name, m.lost)
			break
		}
	}
	if err != nil {
		k.freeAll(queues)
		return nil, err
	}
	return r.members, nil
}

// together calls f with ledgers that it holds, which are in the order of the names. f reports whether it has asked the
// store to write. Otherwise what it says has to hold of one moment: ErrConflict if the ledgers did not all stand so.
func (k *Keeper) together(ctx context.Context, names []string, f func(all []*member) (asked bool, err error)) error {
	all, err := k.hold(ctx, names...)
	if err != nil {
		return err
	}
	defer k.free(all)
	asked, err := f(all)
	if asked {
		return err
	}
	queues := make([]*queue, len(all))
	for i, m := range all {
		queues[i] = m.q
	}
	return cmp.Or(k.compare(queues...), err)
}

// freeAll lets queues go on that hold has got, and takes back their pins.
func (k *Keeper) freeAll(queues []*queue) {
	k.letGo(queues)
	k.releaseAll(queues)
}

// free is freeAll of what hold has returned.
func (k *Keeper) free(all []*member) {
	queues := make([]*queue, len(all))
	for i, h := range all {
		queues[i] = h.q
	}
	k.freeAll(queues)
}

// daemons is a lane of the daemon's own.
func daemons(lane string) ledger.Writer { return ledger.Writer{Principal: ledger.Daemon, Name: lane} }

// decideOwn decides an action of the daemon's own in a lane of its own.
func (k *Keeper) decideOwn(b *ledger.Batch, lane string, v ledger.Action) (ledger.Entry, error) {
	return k.decideAs(b, ledger.Request{Writer: daemons(lane), Action: v})
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
