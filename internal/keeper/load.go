package keeper

import (
	"context"
	"fmt"

	"github.com/dpaccountant/accountant/internal/keeper/brief"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// loading is one reading of a ledger from the store. All calls that need the ledger meanwhile wait for
// the same reading, each no longer than its own time allows. The reading goes on when no call waits any
// more, so that a ledger that takes long to read is there when somebody asks for it again.
type loading struct {
	done chan struct{} // closed at the end
	err  error         // then
}

// read calls f with the committed state, and reads the state from the store first if it is not in
// memory. The caller has a pin on the queue.
func (q *queue) read(ctx context.Context, f func(*ledger.State)) error {
	for {
		q.stateMu.RLock()
		if q.state != nil {
			defer q.stateMu.RUnlock()
			f(q.state)
			return nil
		}
		q.stateMu.RUnlock()
		q.k.pin(q)
		l, begun := q.load()
		if !begun {
			q.k.release(q, 1)
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if l.err != nil {
			return l.err
		}
	}
}

// load returns the reading that is under way, or begins one. The caller has taken a pin for it. Nothing
// is decided while the state is not in memory, so the state that is read is the newest.
func (q *queue) load() (l *loading, begun bool) {
	q.stateMu.Lock()
	defer q.stateMu.Unlock()
	if q.loading != nil {
		return q.loading, false
	}
	l = &loading{done: make(chan struct{})}
	if q.state != nil { // meanwhile somebody has read it
		close(l.done)
		return l, false
	}
	q.loading = l
	go q.fetch(l)
	return l, true
}

// fetch reads the ledger from the store, and then releases the pin of the reading.
func (q *queue) fetch(l *loading) {
	defer q.k.release(q, 1)
	var state *ledger.State
	defer func() {
		if p := recover(); p != nil {
			l.err = fmt.Errorf("ledger %s: reading it failed: %v", q.name, p)
		}
		q.stateMu.Lock()
		if l.err == nil {
			q.state = state
		}
		q.loading = nil
		q.stateMu.Unlock()
		close(l.done)
	}()
	snapshot, tail, err := q.k.config.Store.Load(q.name)
	if err != nil {
		l.err = err
		return
	}
	stop, done := brief.Pauses(q.k.config.LongRead, q.k.closed.Load)
	defer done()
	var ok bool
	if state, ok = ledger.NewStateWithin(snapshot, tail, stop); !ok {
		l.err = errClosed
	}
}
