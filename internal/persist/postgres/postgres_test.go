// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// mustOpen opens a store. Unless the test is about time limits the database may take minutes: the machine can be busy.
func mustOpen(t testing.TB, c Config) *Store {
	t.Helper()
	if c.ReadLimit == 0 && c.CommitLimit == 0 && c.Abandoned == 0 {
		c.ReadLimit, c.CommitLimit, c.Abandoned = time.Minute, time.Minute, time.Minute
	}
	if c.cold == (cold{}) { // nothing is merged by itself
		c.cold.every = time.Hour
	}
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eager merges everything at once.
var eager = cold{every: time.Millisecond}

// merge merges all that is in tail.
func merge(t testing.TB, s *Store) {
	t.Helper()
	for after, more := uint64(0), true; more; {
		if err := s.with(t.Context(), func(ctx context.Context, c *pgx.Conn) (err error) {
			after, more, err = s.merge(ctx, c, after)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func mustClose(t testing.TB, s ledger.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// empties are databases that tests have used and left empty: making one takes long.
var empties struct {
	sync.Mutex
	urls []string
}

// database returns a database without ledgers, which is emptied after the test.
func database(t testing.TB) string {
	t.Helper()
	empties.Lock()
	url := ""
	if n := len(empties.urls); n > 0 {
		url, empties.urls = empties.urls[n-1], empties.urls[:n-1]
	}
	empties.Unlock()
	if url == "" {
		url = pgtest.Database(t)
	}
	t.Cleanup(func() {
		execute(t, url, "TRUNCATE meta, marks, ledgers, heads, tail, packs, lanes, singles, sequences, mechanisms, "+
			"counts, reservations, amendments, checkpoints")
		empties.Lock()
		defer empties.Unlock()
		empties.urls = append(empties.urls, url)
	})
	return url
}

// execute runs a statement in a database.
func execute(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	ctx := context.Background() // the test's own may have ended
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, sql, args...); err != nil {
		t.Error(err)
	}
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

// harness gives each test a database of its own.
func harness(c Config) storetest.Harness {
	return storetest.Harness{
		Open: func(t *testing.T) ledger.Store {
			c := c
			c.URL = database(t)
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

func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract with two handles here, and with one in a file, are enough for a short run")
	}
	t.Parallel()
	h := harness(Config{})
	h.WithoutModel = true // two handles make its calls
	storetest.Run(t, h)
}

func TestContractTinyLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract with two handles, and with tiny limits in a file, are enough for a short run")
	}
	t.Parallel()
	h := harness(Config{MaxBatchBytes: 2500})
	h.WithoutModel = true
	storetest.Run(t, h)
}

// TestContractTwoHandles: two daemons of one database are one store, while both merge what was written at once.
func TestContractTwoHandles(t *testing.T) {
	t.Parallel()
	h := harness(Config{cold: eager})
	open, reopen := h.Open, h.Reopen
	second := func(t *testing.T, first ledger.Store) ledger.Store {
		return &inTurns{stores: [2]ledger.Store{first, mustOpen(t, first.(*Store).config)}}
	}
	h.Open = func(t *testing.T) ledger.Store { return second(t, open(t)) }
	h.Reopen = func(t *testing.T, s ledger.Store) ledger.Store {
		both := s.(*inTurns)
		mustClose(t, both.stores[1])
		return second(t, reopen(t, both.stores[0]))
	}
	storetest.Run(t, h)
}

// inTurns uses two stores in turns, a call each.
type inTurns struct {
	stores [2]ledger.Store
	calls  atomic.Int64
}

func (s *inTurns) next() ledger.Store { return s.stores[s.calls.Add(1)%2] }

func (s *inTurns) ID() string { return s.next().ID() }
func (s *inTurns) Note(name string, text []byte) error {
	return s.next().(*Store).Note(name, text)
}
func (s *inTurns) Noted(name string) ([]byte, error) { return s.next().(*Store).Noted(name) }
func (s *inTurns) Checkpoints(name string, after, upTo uint64, limit int) ([]ledger.Checkpoint, error) {
	return s.next().Checkpoints(name, after, upTo, limit)
}
func (s *inTurns) Mark(name string, list []ledger.Checkpoint) error { return s.next().Mark(name, list) }
func (s *inTurns) Reserving() ([]string, error)                     { return s.next().Reserving() }
func (s *inTurns) Close() error {
	return errors.Join(s.stores[0].Close(), s.stores[1].Close())
}
func (s *inTurns) Create(g ledger.Genesis) (ledger.Summary, bool, error) { return s.next().Create(g) }
func (s *inTurns) Load(name string) (ledger.Snapshot, error) {
	return s.next().Load(name)
}
func (s *inTurns) List(prefix, after string, limit int) ([]ledger.Summary, error) {
	return s.next().List(prefix, after, limit)
}
func (s *inTurns) Writer(name string, w ledger.Writer) (uint64, uint64, error) {
	return s.next().Writer(name, w)
}
func (s *inTurns) RecordOf(name string, w ledger.Writer, sequence uint64) (ledger.Record, error) {
	return s.next().RecordOf(name, w, sequence)
}
func (s *inTurns) Namesakes(name string, w ledger.Writer) ([]ledger.Record, error) {
	return s.next().Namesakes(name, w)
}
func (s *inTurns) Records(name string, from uint64, limit int) ([]ledger.Record, error) {
	return s.next().Records(name, from, limit)
}
func (s *inTurns) GenesisRecord(name string) ([]byte, ledger.Hash, error) {
	return s.next().GenesisRecord(name)
}
func (s *inTurns) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	return s.next().Append(batch)
}
