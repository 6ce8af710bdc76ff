// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/book"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

const (
	// maxGroupBytes is where a commit takes no further operation.
	maxGroupBytes = 8 << 20
	// maxAttempts bounds how often a group is tried again because the database gave it up for
	// another daemon's transaction.
	maxAttempts = 8
)

// attempt is one transaction for a group of operations. It has two round trips: one that locks and
// reads what the operations need, and one that writes what they do and commits. Between them is one more
// if some are decided in turn.
type attempt struct {
	*Store
	ops   []*operation
	names map[string]uint64 // numbers of the ledgers
	books map[string]*booked
	found map[string]asked // ledgers that a Create asks for, and that are there
	keys  keys

	refusals map[*operation]error // why some cannot be decided in turn

	fenced bool
	writes writes
	commit Commit
}

// asked is a ledger that is there, or why it cannot be read.
type asked struct {
	summary ledger.Summary
	err     error
}

// commit is the committer's: it makes as many of ops durable as fit into one transaction, and
// returns how many it has answered.
func (s *Store) commit(ops []*operation) int {
	start := time.Now()
	live := make([]*operation, 0, len(ops))
	for _, o := range ops {
		if o.take() {
			live = append(live, o)
		}
	}
	withdrawn := len(ops) - len(live)
	if len(live) == 0 {
		return len(ops)
	}
	var total Commit
	for tries := 1; ; tries++ {
		a := &attempt{Store: s, ops: live}
		n, err := a.run()
		total.RoundTrips += a.commit.RoundTrips
		switch {
		case err == nil:
			total.Operations, total.Conflicts = n, a.commit.Conflicts
			total.Entries, total.Bytes, total.Duration = a.commit.Entries, a.commit.Bytes, time.Since(start)
			if s.config.Observer.Commit != nil && a.commit.Bytes > 0 {
				s.config.Observer.Commit(total)
			}
			if n < len(live) { // those that were withdrawn may be among the others: they are skipped again
				return slices.Index(ops, live[n])
			}
			return n + withdrawn
		case isConflict(err) && tries < maxAttempts:
			total.Retries++
			continue
		case isBroken(err) && time.Since(start) < s.config.ReadLimit && s.closing.Err() == nil:
			s.pool.Reset()
			pause(s.closing, retryEvery)
			continue
		}
		answer(live, s.failure(err))
		return len(ops)
	}
}

// run returns how many operations have been answered. With an error nothing was written.
func (a *attempt) run() (int, error) {
	if err := a.refused(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(a.closing, a.config.CommitLimit)
	defer cancel()
	conn, err := a.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	c := conn.Conn()
	a.orphan.end(ctx, c)
	if err := a.lock(ctx, c); err != nil {
		if isBroken(err) {
			a.orphan = orphan(c.PgConn().PID())
		}
		rollback(c)
		return 0, err
	}
	n := 0
	for ; n < len(a.ops) && a.writes.bytes < maxGroupBytes; n++ {
		a.decide(a.ops[n])
	}
	if a.writes.bytes == 0 { // nothing but refusals and what exists already
		return n, a.end(ctx, c)
	}
	a.commit.Bytes = a.writes.bytes
	for _, b := range a.books {
		if err := a.writes.book(b); err != nil {
			rollback(c)
			return 0, err
		}
	}
	if err := a.finish(ctx, c); err != nil {
		return 0, err
	}
	written := heads{}
	for _, b := range a.books {
		if b.changed {
			written.add(b.name, b.head)
		}
	}
	a.known.add(written)
	a.changed.add(a.books)
	return n, nil
}

// end ends a transaction that writes nothing. Where a Create was answered with a ledger that is there, or what others
// have written was read in turn, what was told must be durable.
func (a *attempt) end(ctx context.Context, c *pgx.Conn) error {
	queries := []query{{sql: "ROLLBACK"}}
	if len(a.found) > 0 || len(a.inTurn()) > 0 {
		queries = []query{{sql: raiseIfReplicated, args: a.fence()}, {sql: "COMMIT"}}
	}
	a.commit.RoundTrips++
	return completed(ctx, c, queries)
}

// rollback abandons a transaction, or the connection if that fails.
func rollback(c *pgx.Conn) {
	if c.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = c.Exec(ctx, "ROLLBACK") // a failure closes the connection
}

// decide runs an operation on the books. An operation that is refused changes none. What an earlier attempt
// has decided is forgotten.
func (a *attempt) decide(o *operation) {
	o.hashes, o.err = nil, nil
	switch refused := a.refusals[o]; {
	case refused != nil:
		o.err = refused
	case o.create != nil:
		o.create.summary, o.create.created = ledger.Summary{}, false
		o.err = a.create(o.create)
	default:
		o.hashes, o.err = a.append(o.batch)
	}
	if errors.Is(o.err, ledger.ErrConflict) {
		a.commit.Conflicts++
	}
}

// create makes a ledger, or finds the one of an equal spec.
func (a *attempt) create(c *creation) (err error) {
	name := c.genesis.Spec.Name
	if err := a.losses.refused(name); err != nil {
		return err
	}
	if found, ok := a.found[name]; ok {
		if found.err != nil {
			return found.err
		}
		c.summary, err = book.Existing(found.summary, c.genesis.Spec)
		return err
	}
	if b := a.books[name]; b != nil { // an operation before this one in the group has made it
		if c.summary, err = b.head.SummaryOf(name, b.genesis); err == nil {
			c.summary, err = book.Existing(c.summary, c.genesis.Spec)
		}
		return err
	}
	b, g, err := a.begin(c.genesis)
	if err != nil {
		return err
	}
	if err := a.fits(len(b.genesis)); err != nil {
		return err
	}
	a.made(b)
	c.summary = b.head.Summary()
	c.summary.Genesis, c.created = g, true
	return nil
}

// begin makes a new ledger.
func (a *attempt) begin(g ledger.Genesis) (*booked, ledger.Genesis, error) {
	h, g, raw, err := book.Begin(g, a.id, a.keys.Next())
	if err != nil {
		return nil, g, err
	}
	b := newBooked(g.Spec.Name, h)
	b.genesis, b.changed = raw, true
	return b, g, nil
}

func (a *attempt) made(b *booked) {
	a.books[b.name] = b
	a.writes.bytes += len(b.genesis) + rows.MaxHeadSize
	a.commit.Entries++
}

func (a *attempt) fits(size int) error {
	if size > a.config.MaxBatchBytes {
		return fmt.Errorf("%w: %d bytes to store; allowed: at most %d", ledger.ErrTooLarge, size,
			a.config.MaxBatchBytes)
	}
	return nil
}

// append decides a batch of proposals.
func (a *attempt) append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	if err := book.Distinct(batch); err != nil {
		return nil, err
	}
	changes := make([]*book.Change, len(batch))
	ledgers := make([]*booked, len(batch))
	hashes := make([][]ledger.Hash, len(batch))
	size := 0
	for i := range batch {
		b, err := a.ledger(&batch[i])
		if err != nil {
			return nil, err
		}
		if changes[i], err = b.propose(&batch[i], &a.keys, &a.by); err != nil {
			return nil, err
		}
		ledgers[i], hashes[i] = b, changes[i].Hashes()
		size += changes[i].Size + len(batch[i].Ledger)
		if batch[i].Genesis != nil {
			size += len(b.genesis)
		}
	}
	if err := a.fits(size); err != nil {
		return nil, err
	}
	for i, b := range ledgers {
		if batch[i].Genesis != nil {
			a.made(b)
		}
		b.apply(changes[i])
		a.writes.add(changes[i])
		a.commit.Entries += len(changes[i].Entries)
	}
	a.writes.bytes += size
	return hashes, nil
}

// ledger returns what is known of a proposal's ledger, which the proposal may begin.
func (a *attempt) ledger(p *ledger.Proposal) (*booked, error) {
	if lost := a.losses.refused(p.Ledger); lost != nil && !notes(p) {
		return nil, lost
	}
	b, err := a.books[p.Ledger], error(nil)
	if b == nil {
		err = notFound(p.Ledger)
	}
	begins, err := book.Found(p, err)
	if begins {
		b, _, err = a.begin(*p.Genesis)
	}
	return b, err
}

func notFound(name string) error { return fmt.Errorf("ledger %s: %w", name, ledger.ErrNotFound) }

// needs says what a group reads before it can be decided.
type needs struct {
	ledgers      []string // by name
	created      []string
	keys         int
	lanes        map[string]map[ledger.Writer]bool
	counts, open map[string]map[uint64]bool
}

func newNeeds() needs {
	return needs{lanes: map[string]map[ledger.Writer]bool{}, counts: map[string]map[uint64]bool{},
		open: map[string]map[uint64]bool{}}
}

func (a *attempt) needs() needs {
	n := newNeeds()
	seen := map[string]bool{}
	name := func(name string) {
		if !seen[name] {
			seen[name] = true
			n.ledgers = append(n.ledgers, name)
		}
	}
	for _, o := range a.ops {
		switch {
		case o.create != nil:
			name(o.create.genesis.Spec.Name)
			n.created = append(n.created, o.create.genesis.Spec.Name)
			n.keys++
		case o.turn != nil:
			for _, at := range o.turn.Ledgers {
				name(at)
			}
		default:
			for i := range o.batch {
				name(o.batch[i].Ledger)
			}
			n.add(o.batch)
		}
	}
	return n
}

// add adds what a batch reads.
func (n *needs) add(batch []ledger.Proposal) {
	for i := range batch {
		p := &batch[i]
		n.keys += len(p.Entries) + 1
		for _, e := range p.Entries {
			insert(n.lanes, p.Ledger, e.Writer)
		}
		for _, c := range p.Counts {
			if c.Index >= rows.InlineTotals {
				insert(n.counts, p.Ledger, uint64(c.Index))
			}
		}
		for _, r := range p.Open {
			insert(n.open, p.Ledger, r.Position)
		}
	}
}

func insert[K, V comparable](m map[K]map[V]bool, k K, v V) {
	if m[k] == nil {
		m[k] = map[V]bool{}
	}
	m[k][v] = true
}
