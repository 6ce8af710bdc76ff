// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"sync"

	"github.com/dpaccountant/accountant/internal/num"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// mostRemembered bounds how many results are remembered: they take about 0.1 MB each.
const mostRemembered = 64

// Remembered has results by what they are of. One question keeps what it has got as well, so that
// it gets nothing twice, and announces the work once.
type Remembered struct {
	mu     sync.Mutex
	recent *simplelru.LRU[any, result]
}

// result is a value and the work that it took.
type result struct {
	value any
	work  int
}

// NewRemembered has nothing yet.
func NewRemembered() *Remembered {
	recent, err := simplelru.NewLRU[any, result](mostRemembered, nil)
	if err != nil {
		panic(err) // a size below 1
	}
	return &Remembered{recent: recent}
}

// Recall returns the value of a key, which compute finds within an interrupt. What it returns is a function of
// the key alone, and so is the work that it announces to the interrupt, whether it was remembered or not:
// nobody can tell, but by the time. Two that ask at the same time may both compute it.
func Recall[V any](r *Remembered, key any, in *num.Interrupt, compute func(*num.Interrupt) V) V {
	if v, ok := in.Known(key); ok {
		return v.(V)
	}
	r.mu.Lock()
	found, ok := r.recent.Get(key)
	r.mu.Unlock()
	if ok {
		in.Repeat(found.work)
	} else {
		counting := in
		if in == nil {
			counting = new(num.Interrupt)
		}
		before := counting.Spent()
		found.value = compute(counting)
		found.work = counting.Spent() - before
		r.mu.Lock()
		r.recent.Add(key, found)
		r.mu.Unlock()
	}
	in.Know(key, found.value)
	return found.value.(V)
}
