// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/book"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// operation is one Create or Append on its way through the committer.
type operation struct {
	create *creation         // or
	batch  []ledger.Proposal // to append, with
	// blocks of segments in which it may find out what a writer has written
	fetched map[cold.Ref][]byte

	hashes [][]ledger.Hash
	err    error
	done   chan struct{} // closed when the results are set
}

// creation is a Create with its results.
type creation struct {
	genesis ledger.Genesis
	summary ledger.Summary
	created bool
}

// maxGroupBytes is where a commit takes no further operation.
const maxGroupBytes = 8 << 20

// committer makes groups of operations durable, each group in one transaction.
type committer struct {
	*Store
	nextKey uint64            // of the log
	numbers map[string]uint64 // of some of the ledgers, by name
	arena   arena
	change  book.Change
	paths   pages.Paths // for its memory
}

// commit makes as many of ops durable as fit into one transaction, and returns how many it has
// answered.
func (c *committer) commit(ops []*operation) int {
	debug.SetPanicOnFault(true) // for guard
	if err := c.refused(); err != nil {
		return answer(ops, err)
	}
	start := time.Now()
	c.turn.Lock()
	defer c.turn.Unlock()
	tx, err := c.beginNext()
	if err != nil {
		return answer(ops, err)
	}
	c.arena.reset()
	defer c.paths.Reset(pages.File{}) // nothing refers to what bbolt may unmap
	w := &writing{
		View: rows.View{Tx: tx, File: c.space.file, Paths: &c.paths}, nextKey: c.nextKey, numbers: c.numbers,
		store: c.id, limit: c.config.MaxBatchBytes, arena: &c.arena, change: &c.change,
	}
	defer func() {
		if c.nextKey != w.nextKey { // what was begun is not there, and its numbers are given again
			clear(c.numbers)
		}
	}()
	n := 0
	for ; n < len(ops) && w.bytes < maxGroupBytes; n++ {
		o := ops[n]
		err, fatal := w.decide(func() (err error) {
			if c := o.create; c != nil {
				c.summary, c.created, err = w.create(c.genesis)
			} else {
				w.Fetched = o.fetched
				o.hashes, err = w.append(o.batch)
			}
			return err
		})
		if fatal != nil {
			c.rollback(tx)
			return answer(ops, fatal)
		}
		o.err = err
		if c.damagedPage(err); c.refused() != nil {
			c.rollback(tx)
			return answer(ops, c.refused())
		}
	}
	if w.puts == 0 { // nothing but refusals and what exists already
		c.rollback(tx)
		if err := c.inPlace(); err != nil {
			return answer(ops[:n], c.gone(err))
		}
		return n
	}
	c.changing(ops[:n])
	finishing := time.Now()
	if err := c.finish(w); err != nil {
		return answer(ops[:n], err)
	}
	c.changing(ops[:n])
	c.nextKey = w.nextKey
	c.upkeep.grown(w.tail)
	if c.config.Observe != nil {
		now := time.Now()
		c.config.Observe(Commit{Operations: n, Entries: w.entries, Bytes: w.bytes, Duration: now.Sub(start),
			Sync: now.Sub(finishing)})
	}
	return n
}

// changing names the ledgers that operations change.
func (c *committer) changing(ops []*operation) {
	if c.config.Changing == nil {
		return
	}
	for _, o := range ops {
		switch {
		case o.err != nil:
		case o.create != nil:
			c.config.Changing(o.create.genesis.Spec.Name)
		default:
			for i := range o.batch {
				c.config.Changing(o.batch[i].Ledger)
			}
		}
	}
}

// finish commits a transaction. It returns nil once the transaction is durable, in the file
// that has the store's name, and recorded as acknowledged.
func (s *Store) finish(w *writing) error {
	if err := s.space.ensure(w.Tx.Size() + w.growth(s.db)); err != nil {
		s.rollback(w.Tx)
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	if err := rows.Guard(w.provenFree); err != nil {
		s.rollback(w.Tx)
		s.damage(err)
		return err
	}
	id := w.Tx.ID()
	if err := rows.Guard(func() error { return s.config.hooks.commit(w.Tx) }); err != nil {
		s.rollback(w.Tx) // releases the lock if bbolt has not
		return s.fail(fmt.Errorf("a commit failed: %w", err))
	}
	if err := s.inPlace(); err != nil {
		return s.gone(err)
	}
	if err := s.noteAcknowledged(id); err != nil {
		return s.fail(err)
	}
	s.published.set(id)
	return nil
}

// change makes a commit that belongs to no ledger. The committer may continue at the same time.
func (s *Store) change(f func(*writing) error) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.changeInTurn(f)
}

// changeInTurn is change for a caller that has the turn.
func (s *Store) changeInTurn(f func(*writing) error) error {
	tx, err := s.beginNext()
	if err != nil {
		return err
	}
	w := &writing{View: rows.View{Tx: tx, File: s.space.file}, arena: &arena{}}
	if err := rows.Guard(func() error { return errors.Join(f(w), w.provenRows(), w.put()) }); err != nil {
		s.rollback(tx)
		s.damagedPage(err)
		return err
	}
	return s.finish(w)
}

// answer gives all of ops the same error. What was decided on top of an abandoned transaction
// does not hold either.
func answer(ops []*operation, err error) int {
	for _, o := range ops {
		o.err = err
	}
	return len(ops)
}

// growth bounds how much a commit may enlarge the file: each row may change a page of its own
// and split it, and the freelist is written anew. If the bound were wrong, a commit would fail,
// and nothing worse.
func (w *writing) growth(db *bolt.DB) int64 {
	page := int64(db.Info().PageSize)
	return 2*int64(w.bytes) + 2*int64(w.puts)*page + 2*int64(db.Stats().FreelistInuse) + 64*page
}
