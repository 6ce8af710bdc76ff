// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/dpaccountant/accountant/internal/server/turns"
)

// Who looks at a ledger asks again soon, and by then a busy ledger has thousands of new entries. What was kept of a
// ledger therefore follows it for a while after each question: the daemon reads a few entries at a time, rests four
// times as long as that took, and lets questions go first, so that the next question finds little to read.
const (
	followTime  = time.Minute // after a question
	followEvery = 200 * time.Millisecond
	followRests = 4    // times as long as it has read
	followStep  = 2000 // entries, which take less than a question's first slice of time
	followMost  = 64   // values

	followSeldom  = 5 * time.Second // while nothing is new
	followLongest = 10 * time.Second
)

// daemon is who asks when a value follows its ledger: nobody can have this name, so that no caller's questions are
// refused for it.
const daemon = "\x00the daemon itself"

// following is what follows its ledger, until beyond ends.
type following struct {
	beyond *beyond

	mu      sync.Mutex
	of      map[any]*followed // by key
	running bool
}

// followed is a kept value that follows its ledger.
type followed struct {
	until time.Time
	read  func(context.Context) (moved bool, err error)

	next  time.Time     // when to read again; only run uses it
	pause time.Duration // that grows while nothing is new
}

// reading is a value that reads a ledger's entries in their order.
type reading interface {
	value
	Position() uint64
	readOn(to uint64, stop func() bool) error
}

// errForgotten means that a value is not kept any more.
var errForgotten = errors.New("forgotten")

// follow has what is kept under a key follow its ledger from now on.
func follow[K comparable, V reading](h *Handlers, of *kept[K, V], key K, ledger string) {
	in := h.InTime
	in.Analysis = nil // nobody has asked
	in.Caller = func(context.Context) string { return daemon }
	h.following.add(key, func(ctx context.Context) (moved bool, err error) {
		now, err := h.Ledgers.Summary(ctx, ledger)
		if err != nil {
			return false, err
		}
		o, err := of.begin(ctx, in, key, nil)
		if err != nil {
			return false, err
		}
		return run(ctx, in, o, func(t *turns.Turn) (bool, error) {
			at := o.value.Position()
			err := o.value.readOn(max(at, min(now.Head.Position, at+followStep)),
				func() bool { return t.Stop() || o.waiting.Load() > 0 })
			return o.value.Position() > at, err
		})
	})
}

func (f *following) add(key any, read func(context.Context) (moved bool, err error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[any]*followed{}
	}
	if f.of[key] == nil && len(f.of) == followMost {
		return // its next question reads what is new by itself
	}
	f.of[key] = &followed{until: time.Now().Add(followTime), read: read}
	if !f.running {
		f.running = f.beyond.begin(f.run)
	}
}

// run reads on until nothing is to be followed any more.
func (f *following) run() {
	for {
		began := time.Now()
		list := f.due(began)
		if list == nil {
			return
		}
		for key, one := range list {
			ctx, cancel := context.WithTimeout(f.beyond.ctx, followLongest)
			moved, err := one.read(ctx)
			if err != nil && !turns.Refused(err) && (ctx.Err() != nil || !resumable(err)) {
				f.forget(key, one)
			}
			cancel()
			if one.pause = min(2*one.pause+followEvery, followSeldom); moved {
				one.pause = 0
			}
			one.next = time.Now().Add(one.pause)
		}
		rest := time.NewTimer(max(followEvery, followRests*time.Since(began)))
		select {
		case <-rest.C:
		case <-f.beyond.ctx.Done():
			rest.Stop()
		}
	}
}

// due returns what is to be read now. It returns nil, and the caller is to return, if nothing is followed any more.
func (f *following) due(now time.Time) map[any]*followed {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.of, func(_ any, one *followed) bool { return f.beyond.ctx.Err() != nil || now.After(one.until) })
	if len(f.of) == 0 {
		f.running = false
		return nil
	}
	list := map[any]*followed{}
	for key, one := range f.of {
		if !now.Before(one.next) {
			list[key] = one
		}
	}
	return list
}

// forget ends what has failed, unless a question has begun it again meanwhile. The next question does so.
func (f *following) forget(key any, failed *followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[key] == failed {
		delete(f.of, key)
	}
}
