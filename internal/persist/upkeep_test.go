package persist

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// A step that fails, as on a full disk, is not tried again at each commit: the commits wait for it.
func TestFailedUpkeepLeavesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		u := upkeep{most: 1, least: 0}
		u.start(0, func() (bool, error) {
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
	s.upkeep.least = 0
	before := s.upkeep.step.Load()
	if _, err := s.deal(); err == nil {
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
