// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// A step that fails, as on a full disk, is not tried again at each commit: the commits wait for it.
func TestFailedUpkeepLeavesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		u := upkeep{most: 1, least: 0}
		u.start(0, func(int64) (bool, error) {
			steps++
			time.Sleep(100 * time.Millisecond)
			return false, syscall.ENOSPC
		})
		for range 6000 { // a minute of commits
			u.grown(1)
			time.Sleep(10 * time.Millisecond)
		}
		u.end()
		if steps < 30 || steps > 60 {
			t.Errorf("%d steps failed in a minute; want about one a second", steps)
		}
	})
}

// Once nothing was appended for a while, all of the tail is dealt out. Before that it is left as it is.
func TestIdleUpkeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps, left atomic.Int64
		u := upkeep{most: 1000, least: 500}
		u.start(100, func(least int64) (bool, error) {
			steps.Add(1)
			left.Store(least)
			u.tail.Store(least)
			return false, nil
		})
		for range 100 {
			u.grown(1)
			time.Sleep(10 * time.Second)
		}
		if n := steps.Load(); n > 0 {
			t.Errorf("%d steps for a few bytes while there are commits; want none", n)
		}
		time.Sleep(2*idleAfter + time.Second)
		if steps.Load() == 0 || left.Load() != 0 {
			t.Errorf("%d steps, which leave %d bytes, after %v without commits; want one that leaves none",
				steps.Load(), left.Load(), idleAfter)
		}
		u.end()
	})
}

// A tail that is dealt out has only the newest row left, and to deal it out again writes nothing.
func TestDealAll(t *testing.T) {
	s := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "s.db"), hooks: hooks{noSync: true}})
	defer s.Close()
	mustCreate(t, s, "a")
	for range 100 {
		if _, err := s.Append([]ledger.Proposal{propose(t, s, "a", lane1(0))}); err != nil {
			t.Fatal(err)
		}
	}
	dealAll(t, s)
	commit, tail := s.published.newest(), s.upkeep.tail.Load()
	if dealAll(t, s); s.published.newest() != commit || s.upkeep.tail.Load() != tail {
		t.Errorf("commit %d with %d bytes in the tail after commit %d with %d; want no other", s.published.newest(),
			s.upkeep.tail.Load(), commit, tail)
	}
	list, err := s.Records("a", 1, 200)
	if err != nil || len(list) != 100 {
		t.Errorf("%d entries, %v; want 100", len(list), err)
	}
	left := 0
	if err := s.db.View(func(tx *bolt.Tx) error {
		left = tx.Bucket([]byte("tail")).Stats().KeyN
		return nil
	}); err != nil || left != 1 {
		t.Errorf("%d rows in the tail, %v; want the newest alone", left, err)
	}
}

// Without room for a whole step, smaller ones are tried; with room they grow again.
func TestDealWithoutRoom(t *testing.T) {
	var full atomic.Bool
	s := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "s.db"), AllocationStep: 4096,
		hooks: hooks{noSync: true, allocate: func(f *os.File, from, to int64) error {
			if full.Load() {
				return syscall.ENOSPC
			}
			return allocate(f, from, to)
		}}})
	defer s.Close()
	mustCreate(t, s, "a")
	for range 1000 {
		if _, err := s.Append([]ledger.Proposal{propose(t, s, "a", lane1(0))}); err != nil {
			t.Fatal(err)
		}
	}
	full.Store(true)
	before := s.upkeep.step.Load()
	if _, err := s.deal(0); err == nil {
		t.Fatal("the tail was dealt out without room")
	}
	if after := s.upkeep.step.Load(); after != before/2 {
		t.Errorf("a step of %d bytes after one of %d had no room; want half of it", after, before)
	}
	full.Store(false)
	dealAll(t, s)
	if step := s.upkeep.step.Load(); step != dealBytes {
		t.Errorf("a step of %d bytes with room again; want %d", step, dealBytes)
	}
}

// A store that was closed, after a commit or without one, is settled: both root pages name the same state.
func TestCloseSettles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	for i := range 3 {
		s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
		if i < 2 {
			mustCreate(t, s, string(rune('a'+i)))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		settled := false
		if err := rows.OpenToRead(path, time.Second, func(tx *bolt.Tx, _ io.ReaderAt) (err error) {
			settled, err = (&rows.View{Tx: tx}).Settled()
			return err
		}); err != nil || !settled {
			t.Errorf("closed for the %d. time: settled %v, %v", i+1, settled, err)
		}
	}
}
