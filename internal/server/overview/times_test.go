// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// clocks is a log of entries that were taken at some times, in seconds.
type clocks []int

func (c clocks) Records(_ string, from uint64, limit int) (list []ledger.Record, err error) {
	for i := int(from) - 1; i < len(c) && len(list) < limit; i++ {
		e := ledger.Entry{Position: uint64(i + 1), Time: time.Unix(int64(c[i]), 0)}
		list = append(list, ledger.Record{Entry: e})
	}
	return list, nil
}

// The last entry at a time or before is found as by looking at all entries, also where the clock was set back, with
// any number of entries read before, and with others after the head.
func TestLastEntryAtATime(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		log := make(clocks, random.IntN(4*blockSize))
		for i, now := 0, 100; i < len(log); i++ {
			if now += random.IntN(3); random.IntN(700) == 0 {
				now -= random.IntN(5000)
			}
			log[i] = now
		}
		var read times
		for done := uint64(0); done < uint64(len(log)) && random.IntN(20) > 0; {
			list, _ := log.Records("", done+1, 1+random.IntN(1000))
			read.take(list)
			done += uint64(len(list))
		}
		for range 40 {
			head, at := random.IntN(len(log)+1), random.IntN(8000)-500
			want := uint64(0)
			for i, taken := range log[:head] {
				if taken <= at {
					want = uint64(i + 1)
				}
			}
			got, err := read.last(log, "", time.Unix(int64(at), 0), uint64(head), func() bool { return false })
			if err != nil || got != want {
				t.Fatalf("of %d entries up to %d, at %d: %d, %v; want %d", len(log), head, at, got, err, want)
			}
		}
	}
}
