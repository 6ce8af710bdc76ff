// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

func mustOpen(t testing.TB, c Config) *Store {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// harness opens stores of a configuration, and checks bbolt's own invariants
// when they are closed. Most tests need no sync: the file is read again by a
// process of the same kernel.
func harness(c Config) storetest.Harness {
	c.hooks.noSync = true
	var faults sync.Map // by the store's path: what the next commit does, a func(*bolt.Tx) error
	// arm has the next commit fail after it has done something. A write has that one step.
	arm := func(do func(*bolt.Tx) error) func(*testing.T, ledger.Store, int) func() bool {
		return func(_ *testing.T, s ledger.Store, step int) func() bool {
			if step == 1 {
				faults.Store(s.(*Store).config.Path, func(tx *bolt.Tx) error {
					return errors.Join(errors.New("injected"), do(tx))
				})
			}
			return func() bool { return step == 1 }
		}
	}
	return storetest.Harness{
		Open: func(t *testing.T) ledger.Store {
			c := c
			c.Path = filepath.Join(t.TempDir(), "new", "directory", "ledgers.db")
			t.Cleanup(func() { checkFile(t, c.Path) })
			c.hooks.commit = func(tx *bolt.Tx) error {
				if fail, ok := faults.LoadAndDelete(c.Path); ok {
					return fail.(func(*bolt.Tx) error)(tx)
				}
				return tx.Commit()
			}
			var allocated int64
			c.hooks.allocate = func(f *os.File, from, to int64) error {
				allocated = max(allocated, to) // also before the store was opened again
				return allocate(f, from, to)
			}
			// bbolt must never have to extend the file: that may fail in a commit.
			c.Observe = func(Commit) {
				if info, err := os.Stat(c.Path); err != nil || info.Size() > allocated {
					t.Errorf("the file has %d bytes, %d were allocated ahead; %v", info.Size(), allocated, err)
				}
			}
			return mustOpen(t, c)
		},
		Reopen: func(t *testing.T, s ledger.Store) ledger.Store {
			old := s.(*Store)
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			return mustOpen(t, old.config)
		},
		Faults: []storetest.Fault{
			{Name: "kept", Kept: true, Arm: arm(func(tx *bolt.Tx) error { return tx.Commit() })},
			{Name: "lost", Arm: arm(func(tx *bolt.Tx) error { return tx.Rollback() })},
		},
		MaxBatchBytes: c.MaxBatchBytes,
	}
}

// checkFile is bbolt's check of its pages and freelist.
func checkFile(t testing.TB, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Errorf("check of %s: %v", path, err)
		return
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("check of %s: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestContract(t *testing.T) {
	storetest.Run(t, harness(Config{}))
}

// Upkeep deals out all but the newest row after each commit.
func TestContractDealt(t *testing.T) {
	h := harness(Config{hooks: hooks{dealt: true}})
	h.Faults = nil // upkeep's commits would meet them
	storetest.Run(t, h)
}

func TestContractTinyLimits(t *testing.T) {
	storetest.Run(t, harness(Config{MaxBatchBytes: 2500, AllocationStep: 32 << 10}))
}

func TestContractReopened(t *testing.T) {
	testaid.Long(t, "it opens a store before each call")
	h := harness(Config{AllocationStep: 1 << 20})
	h.WithoutModel = true // its calls open the store anew anyhow
	reopen := h.Reopen
	open := h.Open
	h.Open = func(t *testing.T) ledger.Store { return &reopening{t: t, s: open(t), reopen: reopen} }
	h.Faults = nil // its writes are followed by closing the store
	h.Reopen = func(t *testing.T, s ledger.Store) ledger.Store {
		r := s.(*reopening)
		return &reopening{t: r.t, s: reopen(r.t, r.s), reopen: reopen}
	}
	storetest.Run(t, h)
}

// reopening opens the store anew before each call.
type reopening struct {
	t      *testing.T
	mu     sync.Mutex
	s      ledger.Store
	closed bool
	reopen func(*testing.T, ledger.Store) ledger.Store
}

// again locks, and gives the store after a restart.
func (r *reopening) again() (ledger.Store, func()) {
	r.mu.Lock()
	if !r.closed {
		r.s = r.reopen(r.t, r.s)
	}
	return r.s, r.mu.Unlock
}

func (r *reopening) ID() string {
	s, done := r.again()
	defer done()
	return s.ID()
}

func (r *reopening) Checkpoints(name string, after, upTo uint64, limit int) ([]ledger.Checkpoint, error) {
	s, done := r.again()
	defer done()
	return s.Checkpoints(name, after, upTo, limit)
}

func (r *reopening) Mark(name string, list []ledger.Checkpoint) error {
	s, done := r.again()
	defer done()
	return s.Mark(name, list)
}

func (r *reopening) Reserving() ([]string, error) {
	s, done := r.again()
	defer done()
	return s.Reserving()
}

func (r *reopening) Create(g ledger.Genesis) (ledger.Summary, bool, error) {
	s, done := r.again()
	defer done()
	return s.Create(g)
}

func (r *reopening) Load(name string) (ledger.Snapshot, error) {
	s, done := r.again()
	defer done()
	return s.Load(name)
}

func (r *reopening) List(prefix, after string, limit int) ([]ledger.Summary, error) {
	s, done := r.again()
	defer done()
	return s.List(prefix, after, limit)
}

func (r *reopening) Writer(name string, w ledger.Writer) (uint64, uint64, error) {
	s, done := r.again()
	defer done()
	return s.Writer(name, w)
}

func (r *reopening) RecordOf(name string, w ledger.Writer, sequence uint64) (ledger.Record, error) {
	s, done := r.again()
	defer done()
	return s.RecordOf(name, w, sequence)
}

func (r *reopening) Namesakes(name string, w ledger.Writer) ([]ledger.Record, error) {
	s, done := r.again()
	defer done()
	return s.Namesakes(name, w)
}

func (r *reopening) Records(name string, from uint64, limit int) ([]ledger.Record, error) {
	s, done := r.again()
	defer done()
	return s.Records(name, from, limit)
}

func (r *reopening) GenesisRecord(name string) ([]byte, ledger.Hash, error) {
	s, done := r.again()
	defer done()
	return s.GenesisRecord(name)
}

func (r *reopening) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	s, done := r.again()
	defer done()
	return s.Append(batch)
}

func (r *reopening) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.s.Close()
}

// TestGroup holds one commit until others wait, and sees them share the next: one
// that conflicts and one that is too large fail alone.
func TestGroup(t *testing.T) {
	const n = 20
	held, waiting := make(chan struct{}), make(chan struct{})
	hold := false
	var commits []Commit
	s := mustOpen(t, Config{
		Path: filepath.Join(t.TempDir(), "s.db"), MaxBatchBytes: 20_000,
		Observe: func(c Commit) { commits = append(commits, c) },
		hooks: hooks{noSync: true, commit: func(tx *bolt.Tx) error {
			if hold {
				close(held)
				<-waiting
				hold = false
			}
			return tx.Commit()
		}},
	})
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("l/%02d", i)
	}
	mustCreate(t, s, names...)
	large, _, err := s.Create(storetest.Genesis("large"))
	if err != nil {
		t.Fatal(err)
	}
	var proposals []ledger.Proposal
	for i, name := range names {
		proposals = append(proposals, propose(t, s, name, lane1(i%2)))
	}
	proposals = append(proposals, propose(t, s, names[0], lane1(1))) // conflicts with the first
	before := len(commits)
	hold = true
	errs := make([]error, len(proposals)+2)
	var wg sync.WaitGroup
	wg.Go(func() { // the commit that is held
		if _, _, err := s.Create(storetest.Genesis("held")); err != nil {
			t.Errorf("Create = %v", err)
		}
	})
	<-held
	for i, p := range proposals {
		wg.Go(func() { _, errs[i] = s.Append([]ledger.Proposal{p}) })
	}
	wg.Go(func() { errs[len(proposals)] = tryAppend(s, large, 1000) })
	wg.Go(func() { _, errs[len(proposals)+1] = s.Append([]ledger.Proposal{{Ledger: "absent"}}) })
	for s.commits.Waiting() < len(errs) {
		runtime.Gosched()
	}
	close(waiting)
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	conflicts := 0
	for i, err := range errs[:len(proposals)] {
		switch {
		case errors.Is(err, ledger.ErrConflict) && (i == 0 || i == n):
			conflicts++
		case err != nil:
			t.Errorf("Append %d = %v", i, err)
		}
	}
	if conflicts != 1 {
		t.Errorf("%d conflicts of two Appends on one head, want 1", conflicts)
	}
	if err := errs[len(proposals)]; !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("a large Append = %v, want ErrTooLarge", err)
	}
	if err := errs[len(proposals)+1]; !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("Append to no ledger = %v, want ErrNotFound", err)
	}
	if got := commits[before:]; len(got) != 2 || got[1].Operations != len(errs) || got[1].Entries != n {
		t.Errorf("commits %+v; want the one that was held, then one with %d entries", got, n)
	}
}

func TestCloseAnswersWhatWaits(t *testing.T) {
	s := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "s.db"), hooks: hooks{noSync: true}})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			_, created, err := s.Create(storetest.Genesis(string(rune('a' + i))))
			if created != (err == nil) || err != nil && !errors.Is(err, ledger.ErrUnavailable) {
				t.Errorf("Create while closing = %v, %v", created, err)
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}
