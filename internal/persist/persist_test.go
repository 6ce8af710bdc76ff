package persist

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
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
	return storetest.Harness{
		Open: func(t *testing.T) ledger.Store {
			c := c
			c.Path = filepath.Join(t.TempDir(), "new", "directory", "ledgers.db")
			t.Cleanup(func() { checkFile(t, c.Path) })
			return mustOpen(t, c)
		},
		Reopen: func(t *testing.T, s ledger.Store) ledger.Store {
			old := s.(*Store)
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			return mustOpen(t, old.config)
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

func TestContractTinyLimits(t *testing.T) {
	storetest.Run(t, harness(Config{MaxBatchBytes: 2500, AllocationStep: 32 << 10}))
}

func TestContractReopened(t *testing.T) {
	h := harness(Config{AllocationStep: 1 << 20})
	reopen := h.Reopen
	open := h.Open
	h.Open = func(t *testing.T) ledger.Store { return &reopening{t: t, s: open(t), reopen: reopen} }
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

func (r *reopening) Create(g ledger.Genesis) (ledger.Summary, bool, error) {
	s, done := r.again()
	defer done()
	return s.Create(g)
}

func (r *reopening) Load(name string) (ledger.Snapshot, []ledger.Record, error) {
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
