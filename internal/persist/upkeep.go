// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"sync"
	"sync/atomic"
	"time"
)

// A row of the tail is what one commit appends to one ledger, at most 64 entries or about 8 KB. One row for all ledgers
// of a commit would be smaller, but whoever looks for an entry would have to search it and check its sum, and with many
// writers each commit looks for the newest entry of each of its ledgers.
const (
	// tailMost and tailLeast are how many bytes of rows make upkeep begin, and end. Few commits are ever behind the
	// head when they are dealt out, and each ledger has several entries among many bytes. Who reads older ones of them
	// goes through the tail from its end.
	tailMost  = 8 << 20
	tailLeast = 1 << 20
	// idleAfter is how long nothing is appended before upkeep deals all of the tail out that may be.
	idleAfter = time.Minute
)

// upkeep deals the tail out.
type upkeep struct {
	most, least int64
	tail        atomic.Int64 // bytes of rows in the tail
	one         sync.Mutex   // is held by the step that runs
	step        atomic.Int64 // about how many bytes the next step deals out: half as many after one that failed

	due  chan struct{}
	stop chan struct{}
	once sync.Once
	done sync.WaitGroup
}

// retryAfter is how long upkeep waits at least after a step that failed, as most steps do on a full disk.
const retryAfter = time.Second

// start begins with so many bytes in the tail. A step deals some of it out, until so many bytes are left.
func (u *upkeep) start(tail int64, step func(least int64) (more bool, err error)) {
	u.due, u.stop = make(chan struct{}, 1), make(chan struct{})
	u.step.Store(dealBytes)
	u.grown(tail)
	u.done.Go(func() {
		idle := time.NewTicker(idleAfter)
		defer idle.Stop()
		for before := tail; ; {
			least := u.least
			select {
			case <-u.stop:
				return
			case <-u.due:
			case <-idle.C:
				now := u.tail.Load()
				grew := now != before
				if before = now; grew {
					continue
				}
				least = 0
			}
			for more := true; more; {
				began := time.Now()
				var err error
				more, err = step(least)
				pause := time.Since(began) // as much time as upkeep takes is left to others
				switch {
				case err != nil: // and more where it takes it in vain: a charge may still fit
					pause = max(8*pause, retryAfter)
				case u.tail.Load() > 4*u.most:
					pause = 0
				}
				select {
				case <-u.stop:
					return
				case <-time.After(pause):
				}
			}
		}
	})
}

// grown counts bytes that were added to the tail.
func (u *upkeep) grown(bytes int64) {
	if u.tail.Add(bytes) > u.most {
		select {
		case u.due <- struct{}{}:
		default:
		}
	}
}

func (u *upkeep) end() {
	u.once.Do(func() { close(u.stop) })
	u.done.Wait()
}
