// SPDX-License-Identifier: Apache-2.0

// Package postgres keeps ledgers in a PostgreSQL database, where any number of daemons serve them:
// a ledger.Store, and the only room that knows PostgreSQL.
//
// Nothing depends on who owns a ledger. A commit locks the rows of the heads that it advances,
// compares them with what its proposals expect, and writes all or nothing (commit.go). What a commit
// appends to a ledger is one row, which is merged later with others (merge.go); the other rows are those of
// the bbolt file (package rows), and everything is verified when it is read.
//
// A connection may break while a commit is under way, and then nobody knows what became of it. The
// store finds out before it answers (resolve.go). And what another daemon's commit shows may be lost
// in a failover if its wait for the standby was cancelled; so nothing is believed before the server
// has completed a write of our own after it (barrier.go). docs/decisions/fleet.md and postgres.md
// have the reasons.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/group"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/record"
)

// Config says where a store is and how it behaves. Only URL is required.
type Config struct {
	// URL is a connection string, such as postgres://user@host:5432/database. The connection must
	// be encrypted and the server's certificate verified, unless the server is on this machine.
	URL string
	// PasswordFile has the user's password. It is read for each connection.
	PasswordFile string
	// ID, if set, is the identifier of the store that must be there already. Nothing is made then, and another
	// store is refused.
	ID string
	// ReadLimit and CommitLimit bound how long a read takes, and how long the store waits for the
	// answer to a commit before it finds out by itself; 2 s and 10 s if 0.
	ReadLimit, CommitLimit time.Duration
	// MaxBatchBytes bounds what one Append or Create stores; more is ErrTooLarge. 4 MiB if 0.
	MaxBatchBytes int
	// GroupWait is how long a commit waits for stragglers at most, and only while calls overlap;
	// 1 ms if 0, not at all if negative.
	GroupWait time.Duration
	// Abandoned is after how long the server ends a transaction whose client says nothing; 5 s if 0.
	// Until then what it has locked stays locked.
	Abandoned time.Duration
	// Observer, if set, is told what happens. Its functions must be quick.
	Observer Observer

	cold cold // this package's tests merge at other times
}

// Observer is told what a store does, for metrics. Each function may be nil.
type Observer struct {
	// Commit is called after each commit that has written something.
	Commit func(Commit)
	// Unknown is called when the outcome of a commit had to be found out, with what it was.
	Unknown func(Outcome)
	// Away is called when the database can no longer be reached, with the reason, and with nil
	// when it can be again.
	Away func(error)
	// Lost is called when the database was found to lack a ledger's entry that was acknowledged, with the newest that
	// is known, and once more if that cannot be written into the ledger, with the reason.
	Lost func(ledger string, newest ledger.Head, err error)
	// Merged is called after each pass in which cold rows are merged, with what has ended it early, or nil. While the
	// database is away there are no passes.
	Merged func(error)
}

// Commit describes one durable commit.
type Commit struct {
	Operations int // Appends and Creates that it answered, refusals among them
	Conflicts  int // of them, those that met another head than they expected
	Entries    int // log records
	Bytes      int // values written
	RoundTrips int // to the database
	Retries    int // attempts that the database gave up for another daemon's
	Duration   time.Duration
}

// Outcome is what became of a commit that was not answered.
type Outcome string

const (
	Committed    Outcome = "committed"
	NotCommitted Outcome = "not committed"
	Unresolved   Outcome = "unresolved" // the store was closed before it could find out, or the entries are damaged
)

// Store is a ledger.Store in a PostgreSQL database.
type Store struct {
	config Config
	pool   *pgxpool.Pool
	id     string

	daemon   uuid.UUID    // of this store's rows of marks
	sessions atomic.Int64 // connections made

	requireStandby atomic.Bool
	timeline       atomic.Int64 // the newest on which a write was completed; 0 if the database has none

	commits   *group.Committer[*operation]
	questions *group.Committer[*waiting]
	known     known
	changed   changed
	losses    losses
	away      away
	moved     atomic.Pointer[error] // why everything is refused
	outdated  atomic.Bool           // the tables are of a newer version than this program's
	orphan    orphan                // of the committer, which alone uses it
	by        record.Writer         // makes the bytes of entries; the committer alone uses it

	closing context.Context // ends when the store is closed
	close   context.CancelFunc
	closed  atomic.Bool
	ended   sync.WaitGroup // the goroutines but the committer
}

var _ ledger.Store = (*Store)(nil)

// Open opens the store in a database, or makes it if the database has none. It fails if the
// database cannot be reached, if the connection is not safe, or if a newer version of this program
// has changed the tables.
func Open(c Config) (*Store, error) { return open(c, (*Store).Moved) }

// open opens a store and checks whether it is one that is wanted.
func open(c Config, wanted func(*Store) error) (*Store, error) {
	c.ReadLimit = cmp.Or(c.ReadLimit, 2*time.Second)
	c.CommitLimit = cmp.Or(c.CommitLimit, 10*time.Second)
	c.Abandoned = cmp.Or(c.Abandoned, 5*time.Second)
	c.MaxBatchBytes = cmp.Or(c.MaxBatchBytes, ledger.MaxAppendBytes)
	c.GroupWait = cmp.Or(c.GroupWait, time.Millisecond)
	c.cold = cmp.Or(c.cold, usually)
	pool, err := c.parse()
	if err != nil {
		return nil, err
	}
	s := &Store{config: c, id: c.ID, daemon: uuid.New(),
		changed: changed{names: map[string]bool{}, some: make(chan struct{}, 1)}}
	s.closing, s.close = context.WithCancel(context.Background())
	if err := s.open(pool, wanted); err != nil {
		s.close()
		return nil, fmt.Errorf("store %s: %w", c.name(), reach.Explained(err))
	}
	s.commits = group.Start(c.GroupWait, s.commit, (*operation).answered)
	s.questions = group.Start(-1, s.ask, (*waiting).answered)
	s.ended.Go(s.notify)
	s.ended.Go(s.merges)
	return s, nil
}

func (s *Store) open(c *pgxpool.Config, wanted func(*Store) error) (err error) {
	ctx, cancel := context.WithTimeout(s.closing, openLimit)
	defer cancel()
	c.ConnConfig.ValidateConnect = s.goesOn
	if err := migrate(ctx, c.ConnConfig, s.id); err != nil {
		return err
	}
	c.AfterConnect = s.prepare
	if s.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return err
	}
	if err = s.sessionsOfItsOwn(ctx); err == nil {
		err = wanted(s)
	}
	if err != nil {
		s.pool.Close()
		return err
	}
	s.sweepMarks(ctx)
	return nil
}

// openLimit bounds how long Open takes, with the making of tables.
const openLimit = time.Minute

// ID implements ledger.Store.
func (s *Store) ID() string { return s.id }

// Create implements ledger.Store.
func (s *Store) Create(g ledger.Genesis) (ledger.Summary, bool, error) {
	// Most often a job finds the ledger of its earlier runs: no commit for that.
	sum, err := s.existing(g.Spec)
	if !errors.Is(err, ledger.ErrNotFound) {
		return sum, false, err
	}
	o := newOperation()
	o.create = &creation{genesis: g}
	if err := s.submit(o); err != nil {
		return ledger.Summary{}, false, err
	}
	return o.create.summary, o.create.created, nil
}

// Append implements ledger.Store.
func (s *Store) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	o := newOperation()
	o.batch = batch
	if err := s.submit(o); err != nil {
		return nil, err
	}
	return o.hashes, nil
}

// submit hands an operation to the committer and waits for it. An operation that no commit has
// taken within the time limit, because the database is away, is withdrawn: nothing was written.
func (s *Store) submit(o *operation) error {
	if err := s.refused(); err != nil {
		return err
	}
	if !s.commits.Submit(o) {
		return s.errClosed()
	}
	late := time.NewTimer(s.config.ReadLimit)
	defer late.Stop()
	select {
	case <-o.done:
	case <-late.C:
		if o.withdraw() {
			return fmt.Errorf("%w: %s: an earlier commit has not been answered for %v", ledger.ErrUnavailable,
				s.config.name(), s.config.ReadLimit)
		}
		<-o.done
	}
	return o.err
}

// Close implements ledger.Store. Later calls fail with ErrUnavailable.
func (s *Store) Close() error {
	if !s.commits.Close() {
		<-s.commits.Done()
		return nil
	}
	s.closed.Store(true)
	gone := time.AfterFunc(s.config.CommitLimit, s.close) // ends what waits for the database
	defer gone.Stop()
	<-s.commits.Done()
	s.questions.Close()
	<-s.questions.Done()
	s.leave()
	s.close()
	s.ended.Wait()
	s.pool.Close()
	return nil
}

func (s *Store) errClosed() error {
	return fmt.Errorf("%w: %s is closed", ledger.ErrUnavailable, s.config.name())
}

// refused returns why nothing is to be asked of the database now, or nil.
func (s *Store) refused() error {
	if s.closed.Load() {
		return s.errClosed()
	}
	if err := s.Moved(); err != nil {
		return err
	}
	if s.outdated.Load() {
		return fmt.Errorf("%w: %s: a newer version of this program has changed the tables; allowed: this daemon "+
			"stopped, and the newer version started", ledger.ErrUnavailable, s.config.name())
	}
	return s.away.reason()
}
