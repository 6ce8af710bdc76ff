package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/caps"
	"github.com/dpaccountant/accountant/internal/keeper/fresh"
	"github.com/dpaccountant/accountant/internal/keeper/rivals"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// Shared is implemented by a store that other daemons may write to at the same time. Each call has a time
// limit of its own.
//
// What this Keeper has in memory may then be old. That is safe for what is decided, since ledger.Store.Append
// compares the heads. An answer to a question is compared by Heads.
type Shared interface {
	// Heads returns the newest committed head of each ledger, in order. What it returns is at least as new as
	// everything that was acknowledged before it was called. A ledger that does not exist has the zero Head.
	Heads(names []string) ([]ledger.Head, error)

	// Changes calls f with the names of ledgers that others may have changed, and with none if any ledger may
	// have changed, for example because a connection was lost. f does not block. stop ends it.
	Changes(f func(names ...string)) (stop func())
}

// Clock is implemented by a Shared store that has a clock of its own, by which all its daemons go: a daemon whose
// machine is an hour fast would end the others' reservations.
type Clock interface {
	// Ahead returns by how much the store's clock is ahead of this machine's; 0 where they are close.
	Ahead() (time.Duration, error)
}

const (
	// pollInterval is how often a watcher looks by itself whether another daemon has written.
	pollInterval = 5 * time.Second
	// maxFollowed bounds the entries that are read after those in memory. Where there are more, reading the
	// whole ledger is cheaper.
	maxFollowed = 1_000
)

// share begins to follow what other daemons write, where there are others.
func (k *Keeper) share() {
	shared := k.config.Shared
	if shared == nil {
		shared, _ = k.config.Store.(Shared)
	}
	k.unwatch = func() {}
	if shared != nil {
		k.heads, k.newest = fresh.New(shared.Heads), caps.New(k.config.Store)
		k.unwatch = shared.Changes(k.changed)
		k.clock, _ = shared.(Clock)
	}
}

// changed wakes those who watch ledgers that others may have changed: all ledgers if names is empty.
func (k *Keeper) changed(names ...string) {
	k.mu.Lock()
	var found []*queue
	for _, name := range names {
		if q := k.queues[name]; q != nil {
			found = append(found, q)
		}
	}
	if len(names) == 0 {
		for _, q := range k.queues {
			found = append(found, q)
		}
	}
	k.mu.Unlock()
	for _, q := range found {
		q.changes.Happened()
	}
}

// poll returns a channel that says when a watcher should look by itself, and what ends it.
func (k *Keeper) poll() (again <-chan time.Time, stop func() bool) {
	if k.heads == nil {
		return nil, func() bool { return true }
	}
	t := time.NewTimer(pollInterval)
	return t.C, t.Stop
}

// ask calls f with a committed state that has everything that was acknowledged before the call, by
// whichever daemon.
func (k *Keeper) ask(ctx context.Context, name string, f func(*ledger.State)) error {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer k.release(q, 1)
	return q.ask(ctx, f)
}

func (q *queue) ask(ctx context.Context, f func(*ledger.State)) error {
	if q.k.heads == nil {
		return q.read(ctx, f)
	}
	known := q.known()
	heads, now, err := q.k.heads.Of(ctx, q.name)
	if err != nil {
		return err
	}
	newest := heads[0]
	if now && (known.Position > newest.Position || known.Position == newest.Position && known.Hash != newest.Hash) {
		// The store has lost what was in memory before it was asked.
		if err := q.renew(ctx); err != nil {
			return err
		}
	}
	return q.meet(ctx, newest, f)
}

// meet calls f with a committed state in which the head is newest, or further.
func (q *queue) meet(ctx context.Context, newest ledger.Head, f func(*ledger.State)) error {
	for range rivals.MaxAttempts {
		met := false
		err := q.read(ctx, func(s *ledger.State) {
			head := s.Summary().Head
			if met = head.Position > newest.Position || head == newest || newest == (ledger.Head{}); met {
				f(s)
			}
		})
		if err == nil && !met {
			err = q.renew(ctx)
		}
		if err != nil || met {
			return err
		}
	}
	return fmt.Errorf("%w: ledger %s: the store says that its head is entry %d with hash %x, and gives other entries",
		ledger.ErrUnavailable, q.name, newest.Position, newest.Hash)
}

// known returns the head of the state that is in memory, or the zero Head.
func (q *queue) known() ledger.Head {
	q.stateMu.RLock()
	defer q.stateMu.RUnlock()
	if q.state == nil {
		return ledger.Head{}
	}
	return q.state.Summary().Head
}

// renew waits until the state has what the store had when renew was called. Everybody who waits for the same
// ledger waits for the same renewal. The caller has a pin on the queue.
func (q *queue) renew(ctx context.Context) error {
	q.k.pin(q)
	q.stateMu.Lock()
	r := q.renewal
	begin := r == nil
	if begin {
		r = &loading{done: make(chan struct{})}
		q.renewal = r
	}
	q.stateMu.Unlock()
	if begin {
		go q.holdAndFollow(r)
	} else {
		q.k.release(q, 1)
	}
	patience := time.NewTimer(fresh.Patience)
	defer patience.Stop()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	case <-patience.C:
		return fmt.Errorf("%w: ledger %s: what another daemon has written there could not be read within %v; allowed: "+
			"the same question again", ledger.ErrUnavailable, q.name, fresh.Patience)
	}
}

// holdAndFollow renews the state while nothing is decided on it. It has a pin, which letGo takes back.
func (q *queue) holdAndFollow(r *loading) {
	q.k.placing.Lock()
	c := place([]*queue{q})
	q.k.placing.Unlock()
	<-c.reached
	q.stateMu.Lock()
	q.renewal = nil // who comes from now on waits for the next one
	q.stateMu.Unlock()
	r.err = q.follow()
	close(r.done)
	q.k.letGo([]*queue{q})
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
	head := state.Summary().Head
	records, err := q.k.config.Store.Records(q.name, max(head.Position, 1), maxFollowed)
	if errors.Is(err, ledger.ErrNotFound) {
		q.forget()
		return nil
	}
	if err != nil {
		return err
	}
	newer, ok := after(head, records)
	if ok && len(newer) == 0 {
		return nil
	}
	if ok = ok && len(records) < maxFollowed; ok {
		q.stateMu.Lock()
		ok = state.Follow(newer)
		q.stateMu.Unlock()
	}
	if !ok {
		q.forget()
		return nil
	}
	q.passed(newer)
	q.changes.Happened()
	return nil
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

// passed has the lanes know what others have written in them.
func (q *queue) passed(newer []ledger.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range newer {
		e := r.Entry
		if w := q.writers[e.Writer]; w != nil && w.epoch == q.epoch {
			w.last, w.at, w.first = e.Sequence, e.Position, receipt{}
		}
		if _, known := q.setLanes.At(q.epoch, e.Writer); known {
			q.setLanes.Put(q.epoch, e)
		}
	}
}

// followAll renews the states of queues that the caller holds, where others have written, and reports whether they
// have. One reading says where. It is an error only that this reading fails.
func (k *Keeper) followAll(ctx context.Context, queues []*queue) (moved bool, err error) {
	if k.heads == nil {
		return false, nil
	}
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.name
	}
	heads, _, err := k.heads.Of(ctx, names...)
	if err != nil {
		return false, err
	}
	for i, q := range queues {
		if known := q.known(); known != (ledger.Head{}) && known != heads[i] {
			q.lost()
			moved = true
		}
	}
	return moved, nil
}

// lost is called when others have written. If what they wrote cannot be read, the next use reads the whole
// ledger.
func (q *queue) lost() {
	if q.k.heads == nil || q.follow() != nil {
		q.forget()
	}
}
