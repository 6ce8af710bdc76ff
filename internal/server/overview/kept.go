// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/dpaccountant/accountant/internal/server/turns"
)

// kept are values that one question at a time uses, such as what was read of a ledger so far. Those that were
// not asked for the longest time are forgotten once there are too many, or they are too large.
type kept[K comparable, V value] struct {
	most int // bytes

	mu     sync.Mutex // held for moments only
	recent *simplelru.LRU[K, *one[V]]
	bytes  int
}

// value is what is kept.
type value interface {
	Bytes() int
	Read() uint64 // how many entries it has read, which anybody may ask at any time
}

// one is a value that a question has taken.
type one[V any] struct {
	value   V
	turn    chan struct{}    // full while a question has it
	waiting atomic.Int64     // questions, for their turn
	bytes   int              // by kept.mu
	back    func(sound bool) // gives the value back
}

func newKept[K comparable, V value](number, bytes int) *kept[K, V] {
	k := &kept[K, V]{most: bytes}
	recent, err := simplelru.NewLRU(number, func(_ K, old *one[V]) { k.bytes -= old.bytes })
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	k.recent = recent
	return k
}

// begin admits a question, and waits until it alone has the value of a key; run must follow. Without make
// there may be no such value, which is errForgotten.
func (k *kept[K, V]) begin(ctx context.Context, in turns.InTime, key K, make func() V) (*one[V], error) {
	if err := in.Admit(ctx); err != nil {
		return nil, err
	}
	for {
		o := k.get(key, make)
		if o == nil {
			in.Leave(ctx)
			return nil, errForgotten
		}
		o.waiting.Add(1)
		select {
		case o.turn <- struct{}{}:
			o.waiting.Add(-1)
		case <-ctx.Done():
			o.waiting.Add(-1)
			in.Leave(ctx)
			return nil, ctx.Err()
		}
		if k.current(key, o) {
			o.back = func(sound bool) { k.settle(key, o, sound) }
			return o, nil
		}
		<-o.turn // forgotten meanwhile
	}
}

func (k *kept[K, V]) get(key K, make func() V) *one[V] {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, ok := k.recent.Get(key)
	if !ok && make != nil {
		o = &one[V]{value: make(), turn: newTurn()}
		k.recent.Add(key, o)
	}
	return o
}

func newTurn() chan struct{} { return make(chan struct{}, 1) }

func (k *kept[K, V]) current(key K, o *one[V]) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, ok := k.recent.Peek(key)
	return ok && now == o
}

// read is how far the value of a key has read its ledger, also while a question has it; 0 if there is none.
func (k *kept[K, V]) read(key K) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if o, ok := k.recent.Peek(key); ok {
		return o.value.Read()
	}
	return 0
}

// settle gives a value back, counts the bytes that it has grown to, and forgets others if there are too many. A
// value that is not sound is forgotten.
func (k *kept[K, V]) settle(key K, o *one[V], sound bool) {
	k.mu.Lock()
	defer func() { k.mu.Unlock(); <-o.turn }()
	if now, ok := k.recent.Peek(key); !ok || now != o {
		return // forgotten meanwhile
	}
	if !sound {
		k.recent.Remove(key)
		return
	}
	bytes := o.value.Bytes()
	k.bytes += bytes - o.bytes
	o.bytes = bytes
	for k.bytes > k.most && k.recent.Len() > 1 {
		k.recent.RemoveOldest()
	}
}

// run computes an answer with a value that begin has returned, in turns with other questions, and gives the value
// back. It is forgotten if the computation fails otherwise than by its time, or panics.
func run[V value, A any](ctx context.Context, in turns.InTime, o *one[V],
	compute func(*turns.Turn) (A, error)) (A, error) {
	back, sound := o.back, true // as it is if its time is over before its first turn
	return turns.Beside(ctx, in.Ending(func() { back(sound) }), turns.NothingYet, func(t *turns.Turn) (a A, err error) {
		sound = false
		a, err = compute(t)
		sound = err == nil || resumable(err)
		return a, err
	})
}
