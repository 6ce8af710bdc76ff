// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// clocks is a log of entries that were taken at some times, in seconds. Some of its checkpoints are missing.
type clocks struct {
	taken []int
	marks []ledger.Checkpoint
	read  int
}

func (c *clocks) Records(_ string, from uint64, limit int) (list []ledger.Record, err error) {
	for i := int(from) - 1; i < len(c.taken) && len(list) < limit; i++ {
		e := ledger.Entry{Position: uint64(i + 1), Time: time.Unix(int64(c.taken[i]), 0)}
		list = append(list, ledger.Record{Entry: e})
	}
	c.read += len(list)
	return list, nil
}

func (c *clocks) Checkpoints(_ string, after, upTo uint64, limit int) (list []ledger.Checkpoint, err error) {
	for _, m := range c.marks {
		if m.Head.Position > after && m.Head.Position <= upTo {
			list = append(list, m)
		}
	}
	return list[max(0, len(list)-limit):], nil
}

func (*clocks) Mark(string, []ledger.Checkpoint) error { return nil }

// The last entries at some times or before are found as by looking at all entries, also where the clock was set back,
// where checkpoints are missing, and with others after the head; and few entries are read where none is missing.
func TestLastEntryAtATime(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		log := &clocks{taken: make([]int, random.IntN(4000))}
		back := random.IntN(2) == 0
		for i, now := 0, 100; i < len(log.taken); i++ {
			if now += random.IntN(3); back && random.IntN(700) == 0 {
				now -= random.IntN(5000)
			}
			log.taken[i] = now
		}
		whole := random.IntN(2) == 0
		for since, i := 0, 0; i+1 < len(log.taken); since = i {
			i = min(i+1+random.IntN(100), len(log.taken)-1)
			m := ledger.Checkpoint{Head: ledger.Head{Position: uint64(i)}, Since: uint64(since)}
			m.Earliest = time.Unix(int64(log.taken[since]), 0)
			for _, taken := range log.taken[since:i] {
				if at := time.Unix(int64(taken), 0); at.Before(m.Earliest) {
					m.Earliest = at
				}
			}
			if i > since && (whole || random.IntN(9) > 0) {
				log.marks = append(log.marks, m)
			}
			if i == len(log.taken)-1 {
				break
			}
		}
		for range 40 {
			head, times, want := random.IntN(len(log.taken)+1), []time.Time(nil), []uint64(nil)
			for range 1 + random.IntN(4) {
				at, last := random.IntN(8000)-500, uint64(0)
				for i, taken := range log.taken[:head] {
					if taken <= at {
						last = uint64(i + 1)
					}
				}
				times, want = append(times, time.Unix(int64(at), 0)), append(want, last)
			}
			log.read = 0
			got, err := lastAt(log, "", times, uint64(head), func() bool { return false })
			for i := range want {
				if err != nil || got[i] != want[i] {
					t.Fatalf("of %d entries up to %d, at %v: %d, %v; want %d", len(log.taken), head, times, got, err,
						want)
				}
			}
			if most := 100 * (len(times) + 1); whole && !back && log.read > most {
				t.Fatalf("%d entries were read; want at most %d", log.read, most)
			}
		}
	}
}
