// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// maxFollowed bounds the entries that are read after those in memory. Where there are more, reading the
// whole ledger is cheaper.
const maxFollowed = 1_000

// known returns the head of the state that is in memory, or the zero Head.
func (q *queue) known() ledger.Head {
	q.stateMu.RLock()
	defer q.stateMu.RUnlock()
	if q.state == nil {
		return ledger.Head{}
	}
	return q.state.Summary().Head
}

// forget drops the state, so that the next use reads it again. The batch may have been written all the
// same, so watchers are woken to look.
func (q *queue) forget() {
	defer q.changes.happened()
	q.stateMu.Lock()
	defer q.stateMu.Unlock()
	q.state = nil
	q.epoch++
}

// apply makes a batch that was written part of the state.
func (q *queue) apply(b *ledger.Batch, hashes []ledger.Hash) {
	q.stateMu.Lock()
	defer q.changes.happened()
	defer q.stateMu.Unlock()
	entries := b.Entries()
	last := len(entries) - 1
	q.state.Apply(b, ledger.Head{Position: entries[last].Position, Hash: hashes[last]})
	if ledger.IsDataset(q.name) {
		q.k.caps.Store(q.name, q.state.ChargeCap())
	}
}

// passed has the lanes know of entries in them that they did not write themselves.
func (q *queue) passed(entries ...ledger.Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range entries {
		if w := q.writers[e.Writer]; w != nil && w.epoch == q.epoch {
			w.last, w.at, w.first = e.Sequence, e.Position, receipt{}
		}
	}
}

// follow adds to the state what others have written since. Where that is not cheap, or where what is in memory
// is not in the store any more, it forgets the state, and the next use reads the whole ledger. On an error the
// state stays as it is. Only the deciding goroutine calls it, or who holds the queue.
func (q *queue) follow() error {
	q.stateMu.RLock()
	state := q.state
	q.stateMu.RUnlock()
	if state == nil {
		return nil
	}
	records, err := q.k.config.Store.Records(q.name, max(state.Summary().Head.Position, 1), maxFollowed)
	if errors.Is(err, ledger.ErrNotFound) {
		q.forget()
		return nil
	}
	if err == nil {
		q.goOn(state, records)
	}
	return err
}

// goOn adds records to the state that is in memory, or forgets it.
func (q *queue) goOn(state *ledger.State, records []ledger.Record) {
	head := state.Summary().Head
	newer, ok := after(head, records)
	if ok && len(newer) == 0 {
		return
	}
	if !ok || len(records) == maxFollowed {
		q.forget()
		return
	}
	q.take(newer, false)
}

// take adds records that continue the state that is in memory, or forgets it where that is not cheap. ahead says that
// they may not be durable.
func (q *queue) take(newer []ledger.Record, ahead bool) {
	q.stateMu.Lock()
	ok := q.state.Follow(newer)
	q.ahead = q.ahead || ok && ahead
	q.stateMu.Unlock()
	if !ok {
		q.forget()
		return
	}
	for _, r := range newer {
		q.passed(r.Entry)
	}
	q.changes.happened()
}

// after returns the records behind a head, and false if it is not known that they continue it.
func after(head ledger.Head, records []ledger.Record) (newer []ledger.Record, ok bool) {
	switch {
	case len(records) == 0: // of a ledger without entries nothing but its genesis can be compared
		return nil, false
	case head.Position == 0:
		return records, records[0].Previous == head.Hash
	}
	return records[1:], records[0].Hash == head.Hash && records[0].Entry.Position == head.Position
}

// lost is called when others have written. If what they wrote cannot be read, the next use reads the whole
// ledger.
func (q *queue) lost() {
	if q.k.fleet == nil || q.follow() != nil {
		q.forget()
	}
}

// lostAll does for several queues what lost does for each of them, by one reading.
func (k *Keeper) lostAll(queues []*queue) {
	names, from := make([]string, len(queues)), make([]uint64, len(queues))
	states := make([]*ledger.State, len(queues))
	for i, q := range queues {
		q.stateMu.RLock()
		names[i], states[i] = q.name, q.state
		q.stateMu.RUnlock()
		if states[i] == nil {
			continue
		}
		from[i] = max(states[i].Summary().Head.Position, 1)
	}
	records, err := k.fleet.Newer(names, from, maxFollowed)
	for i, q := range queues {
		switch {
		case err != nil:
			q.lost()
		case states[i] != nil:
			q.goOn(states[i], records[i])
		}
	}
}

// followAll renews the states of queues that the caller holds, where others have written, and reports whether they
// have. One reading says where. Of several queues, those are damaged whose head cannot be read. Otherwise it is an
// error only that this reading fails.
func (k *Keeper) followAll(ctx context.Context, queues []*queue) (moved bool, damaged map[*queue]error, err error) {
	if k.fleet == nil || len(queues) == 0 {
		return false, nil, nil
	}
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.name
	}
	heads, _, err := k.fleet.Of(ctx, names...)
	if errors.Is(err, ledger.ErrDamaged) && len(queues) > 1 { // the others are not affected
		damaged = map[*queue]error{}
		for _, q := range queues {
			one, _, err := k.followAll(ctx, []*queue{q})
			if moved = moved || one; errors.Is(err, ledger.ErrDamaged) {
				damaged[q] = err
			} else if err != nil {
				return false, nil, err
			}
		}
		return moved, damaged, nil
	}
	if err != nil {
		return false, nil, err
	}
	var behind []*queue
	for i, q := range queues {
		if known := q.known(); known != (ledger.Head{}) && known != heads[i] {
			behind = append(behind, q)
		}
	}
	switch moved = len(behind) > 0; len(behind) {
	case 0:
	case 1:
		behind[0].lost()
	default:
		k.lostAll(behind)
	}
	return moved, nil, nil
}
