// SPDX-License-Identifier: Apache-2.0

package group

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type operation struct {
	number  int
	done    chan struct{}
	commits int // how often it was committed
}

// TestEveryOperationOnce: each operation is answered once, in the order of each caller, also when
// a commit takes only a part of those that wait, and all that were submitted before Close.
func TestEveryOperationOnce(t *testing.T) {
	for _, wait := range []time.Duration{-1, time.Millisecond} {
		var running atomic.Int64
		c := Start(wait, func(ops []*operation) int {
			if running.Add(1) != 1 {
				t.Error("two commits at once")
			}
			defer running.Add(-1)
			n := (len(ops) + 1) / 2
			for _, o := range ops[:n] {
				o.commits++
			}
			return n
		}, func(o *operation) { close(o.done) })
		const callers, each = 8, 200
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for i := range each {
					o := &operation{number: i, done: make(chan struct{})}
					if !c.Submit(o) {
						t.Error("an open committer refused an operation")
						return
					}
					if <-o.done; o.commits != 1 {
						t.Errorf("operation %d was committed %d times", o.number, o.commits)
					}
				}
			})
		}
		wg.Wait()
		late := make([]*operation, 10)
		for i := range late {
			late[i] = &operation{done: make(chan struct{})}
			c.Submit(late[i])
		}
		if !c.Close() || c.Close() {
			t.Error("Close does not know the first call")
		}
		<-c.Done()
		for _, o := range late {
			if o.commits != 1 {
				t.Error("an operation from before Close was not committed")
			}
		}
		if c.Submit(&operation{}) {
			t.Error("a closed committer takes operations")
		}
	}
}

// TestTogether: the operations that come while a commit is under way share the next one.
func TestTogether(t *testing.T) {
	var sizes []int
	held, release := make(chan struct{}), make(chan struct{})
	c := Start(-1, func(ops []*operation) int {
		sizes = append(sizes, len(ops))
		if len(sizes) == 1 {
			close(held)
			<-release
		}
		return len(ops)
	}, func(o *operation) { close(o.done) })
	c.Submit(&operation{done: make(chan struct{})})
	<-held
	for range 5 {
		c.Submit(&operation{done: make(chan struct{})})
	}
	if n := c.Waiting(); n != 5 {
		t.Errorf("%d operations wait; want 5", n)
	}
	close(release)
	c.Close()
	<-c.Done()
	if len(sizes) != 2 || sizes[0] != 1 || sizes[1] != 5 {
		t.Errorf("commits of %v operations; want 1 and 5", sizes)
	}
}
