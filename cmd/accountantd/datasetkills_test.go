// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/persist"
)

// The daemon is killed while datasets are registered over ledgers that are there, while ledgers
// take their shares, and while both are raised. After each death the file is whole: a registration
// has adopted all its ledgers or none, a ledger and its share are both there or neither, no budget
// is overrun, and all that was acknowledged is there once. That is judged by adding up the stored
// entries by hand (estate), and by deciding the whole file again; so is what the archive has by then.
func TestDatasetKillRounds(t *testing.T) {
	rounds, seed := killsWanted(t, 5)
	tally := map[string]int{}
	for done := 0; done < rounds; done += datasetRounds {
		n := min(datasetRounds, rounds-done)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			killStewards(t, n, rand.New(rand.NewPCG(seed, 1)), tally)
		})
		seed++
	}
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%-40s %d", what, tally[what])
	}
}

// datasetRounds is how often a store's daemon is killed before the next store.
const datasetRounds = 30

func killStewards(t *testing.T, rounds int, random *rand.Rand, tally map[string]int) {
	dir, kept := dataDir(t), filepath.Join(t.TempDir(), "kept")
	with := []string{"--archive", kept, "--archive-interval", "1s"}
	d := start(t, dir, with...)
	ctx, cancel := context.WithCancel(t.Context())
	var enough atomic.Bool
	hot := make(chan string)
	all, wait := startStewards(ctx, t, "unix:"+d.ready["socket"], 4, "d", hot, &enough)
	defer wait()
	defer cancel()
	aims := []string{"register", "register", "create", "raise", "amend"}
	for range rounds {
		aim := aims[random.IntN(len(aims))]
		if !aimAt(t, hot, aim) {
			break
		}
		time.Sleep(time.Duration(random.Int64N(int64(12 * time.Millisecond)))) // any time will do
		d.kill()
		told := acknowledgedTo(all)
		e := readEstate(t, dir)
		e.check(t)
		e.has(t, told)
		verified(t, dir)
		archived(t, kept)
		tally["kills at "+aim]++
		for _, w := range told {
			tally["datasets there at a kill, told"] += len(w.ids)
			tally["ledgers there at a kill, told"] += len(w.created)
		}
		tally["datasets there at a kill"] += len(e.datasets)
		tally["ledgers there at a kill"] += len(e.ledgers)
		if t.Failed() {
			return
		}
		d = start(t, dir, with...)
	}
	enough.Store(true)
	wait()
	d.stop(syscall.SIGTERM)
	told := acknowledgedTo(all)
	e := readEstate(t, dir)
	e.check(t)
	e.has(t, told)
	e.hasNoMore(t, told)
	verified(t, dir)
	if archived(t, kept) != contents(t, filepath.Join(dir, persist.FileName)) {
		t.Error("the archive does not have what the store has")
	}
	for _, s := range all {
		for what, n := range s.tally {
			tally[what] += n
		}
	}
}

// aimAt waits until a steward begins a write of this kind.
func aimAt(t *testing.T, hot <-chan string, aim string) bool {
	t.Helper()
	patience := time.After(10 * time.Minute)
	for {
		select {
		case what := <-hot:
			if what == aim {
				return true
			}
		case <-patience:
			t.Errorf("nobody began to %s", aim)
			return false
		}
	}
}

func acknowledgedTo(all []*steward) (list []writes) {
	for _, s := range all {
		list = append(list, s.acknowledged())
	}
	return list
}
