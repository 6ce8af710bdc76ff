// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Places are taken and given back. Of all places one caller has a part at most, so that nobody can hold all of
// them; those who wait get a place in the order in which they came.
type Places struct {
	all  *semaphore.Weighted
	each int64

	mu    sync.Mutex
	taken int
	of    map[string]*callers
}

// callers are those with the same name.
type callers struct {
	places *semaphore.Weighted
	here   int // with a place, or waiting for one
}

// NewPlaces returns so many places, of which each caller has a part at most.
func NewPlaces(all, each int) *Places {
	return &Places{all: semaphore.NewWeighted(int64(all)), each: int64(each), of: map[string]*callers{}}
}

// Taken is how many places are taken.
func (p *Places) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// Take waits for a place until ctx ends. own reports whether it was the caller's own part that was taken. leave
// gives the place back; it is nil where there was none.
func (p *Places) Take(ctx context.Context, caller string) (leave func(), own bool) {
	p.mu.Lock()
	c := p.of[caller]
	if c == nil {
		c = &callers{places: semaphore.NewWeighted(p.each)}
		p.of[caller] = c
	}
	c.here++
	p.mu.Unlock()
	gone := func(places int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken -= places
		if c.here--; c.here == 0 {
			delete(p.of, caller)
		}
	}
	if c.places.Acquire(ctx, 1) != nil {
		gone(0)
		return nil, true
	}
	if p.all.Acquire(ctx, 1) != nil {
		c.places.Release(1)
		gone(0)
		return nil, false
	}
	p.mu.Lock()
	p.taken++
	p.mu.Unlock()
	return sync.OnceFunc(func() {
		p.all.Release(1)
		c.places.Release(1)
		gone(1)
	}), false
}
