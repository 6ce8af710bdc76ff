// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// A scrub reads all of the file and finds nothing while others write, however often it
// begins anew in the middle of a bucket.
func TestScrubWhileServing(t *testing.T) {
	s := mustOpen(t,
		Config{Path: filepath.Join(t.TempDir(), "s.db"), AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	defer s.Close()
	done := make(chan struct{})
	var written atomic.Int64
	var writers sync.WaitGroup
	for i := range 4 {
		name := string(rune('a' + i))
		if _, _, err := s.Create(storetest.Genesis(name)); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				p, err := next(s, name, i)
				if err == nil {
					_, err = s.Append([]ledger.Proposal{p})
				}
				if err != nil {
					t.Error(err)
					return
				}
				written.Add(1)
			}
		})
	}
	defer writers.Wait()
	defer close(done)
	for passes := 0; passes < 40 || written.Load() < 1000; passes++ {
		read, err := s.Scrub(t.Context(), 0)
		if err != nil || read < int64(aimPage) || read > s.Size() {
			t.Fatalf("%d bytes of %d read; %v", read, s.Size(), err)
		}
	}
	if s.Damage() != nil {
		t.Error(s.Damage())
	}
}

// A wrong bit that gets into the file while it is used is found by the next pass, and
// everything is refused from then on. Whatever is sent again before that is not charged.
func TestFlippedBitsWhileServing(t *testing.T) {
	content, all := flippedStore(t)
	by := kinds(aims(t, content))
	random := rand.New(rand.NewPCG(3, 1))
	found, named := 0, 0
	names := slices.Sorted(maps.Keys(by))
	for n := range flips(len(names)) {
		kind := names[n%len(names)]
		if strings.Contains(kind, "meta/") || strings.HasPrefix(kind, "freelist/") {
			continue // bbolt has those in memory
		}
		path := filepath.Join(t.TempDir(), "s.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
		a := aim{kind, by[kind][random.IntN(len(by[kind]))]}
		writeByte(t, path, a.at, content[a.at]^1<<random.IntN(8))
		if random.IntN(2) == 0 {
			named++
			twice, _ := use(s, all, random)
			if twice != nil {
				t.Errorf("%s: %v", a, twice)
			}
		} else if _, err := s.Scrub(t.Context(), 0); !errors.Is(err, ledger.ErrDamaged) {
			t.Errorf("%s: %v", a, err)
		} else {
			found++
			if _, err := s.Load("many"); !errors.Is(err, ledger.ErrDamaged) || s.Damage() == nil {
				t.Errorf("%s: %v, %v after damage was found", a, err, s.Damage())
			}
			if _, _, err := s.Create(storetest.Genesis("another")); !errors.Is(err, ledger.ErrDamaged) {
				t.Errorf("%s: %v after damage was found", a, err)
			}
			select {
			case <-s.Damaged():
			default:
				t.Error("not said to be damaged")
			}
		}
		_ = s.Close()
	}
	t.Logf("%d found by a scrub, %d used", found, named)
}
