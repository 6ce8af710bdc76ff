// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"sync"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// patience is how long a call that asks for progress waits before it says how far the reading is.
const patience = 300 * time.Millisecond

// soon returns nil once the kept value of a key has read a ledger, nearly up to its head. If that takes longer than
// patience, it returns how far the reading is; whole, which reads on to the head, then goes on without the call,
// within the time that one question has. Of one caller there is one such reading of a value at a time.
func soon[K comparable, V value](ctx context.Context, h *Handlers, of *kept[K, V], key K, head uint64,
	whole func(context.Context) error) (*pb.Reading, error) {
	isRead := func(entries uint64) bool { return head-min(head, entries) <= head/100 }
	began := of.read(key)
	if isRead(began) {
		return nil, nil
	}
	who := ""
	if h.InTime.Caller != nil {
		who = h.InTime.Caller(ctx)
	}
	reading := h.beyond.once(ctx, readKey{who, key}, whole)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-reading.done:
		if reading.err == nil {
			return nil, nil
		}
		if !resumable(reading.err) || of.read(key) <= began {
			return nil, reading.err
		}
	case <-late.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := of.read(key)
	if isRead(now) { // which may have happened just now, or the numbers of all may take long
		return nil, nil
	}
	return &pb.Reading{EntriesRead: min(now, head), Entries: head}, nil
}

// beyond is what goes on after the calls that began it were answered, until the server stops taking calls.
type beyond struct {
	ctx  context.Context // done when nothing may go on any more
	stop context.CancelFunc

	mu      sync.Mutex
	working sync.WaitGroup
	reads   map[readKey]*reads
}

// reads is a reading to whose end nobody has to wait.
type reads struct {
	done chan struct{} // closed at its end
	err  error         // then
}

// readKey is who has a kept value read on.
type readKey struct {
	who string
	key any
}

func newBeyond() *beyond {
	ctx, stop := context.WithCancel(context.Background())
	return &beyond{ctx: ctx, stop: stop, reads: map[readKey]*reads{}}
}

// begin has work done beside everything else, and reports whether it does; at the end it does not.
func (b *beyond) begin(work func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return false
	}
	b.working.Go(work)
	return true
}

// once begins a reading for a call, or returns the one that is under way.
func (b *beyond) once(ctx context.Context, key readKey, read func(context.Context) error) *reads {
	b.mu.Lock()
	r, ok := b.reads[key]
	if !ok {
		r = &reads{done: make(chan struct{})}
		b.reads[key] = r
	}
	b.mu.Unlock()
	if ok {
		return r
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(b.ctx, cancel)
	end := func(err error) {
		b.mu.Lock()
		delete(b.reads, key)
		b.mu.Unlock()
		r.err = err
		close(r.done)
		forget()
		cancel()
	}
	if !b.begin(func() { end(read(ctx)) }) {
		end(nil) // the call reads by itself
	}
	return r
}

// close ends what goes on, and waits for its end. Nothing begins afterwards.
func (b *beyond) close() {
	b.mu.Lock()
	b.stop()
	b.mu.Unlock()
	b.working.Wait()
}

// Background returns when ctx ends, and what went on without a call has ended too.
func (h *Handlers) Background(ctx context.Context) {
	<-ctx.Done()
	h.beyond.close()
}
