// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// stuck means that bbolt has panicked while it held locks, which are then never released.
// Beginning a transaction reads the root pages, and in a file that was cut short this faults.
type stuck struct {
	once sync.Once
	done chan struct{}
}

func (s *stuck) note() { s.once.Do(func() { close(s.done) }) }

func (s *stuck) noted() <-chan struct{} { return s.done }

// locking runs f, which takes or releases bbolt's locks. If f panics, the store refuses
// everything, and nobody waits for bbolt any more.
func (s *Store) locking(f func() error) error {
	err := rows.Guard(f)
	if !errors.Is(err, ledger.ErrDamaged) {
		return err
	}
	s.stuck.note()
	if e := s.inPlace(); errors.Is(e, ledger.ErrDamaged) {
		err = e // which says more
	}
	s.refuse(err)
	return err
}

// begin begins a transaction, after checking that the file is in its place and long enough.
func (s *Store) begin(writable bool) (tx *bolt.Tx, err error) {
	if err := s.inPlace(); err != nil {
		return nil, s.gone(err)
	}
	err = s.locking(func() (err error) {
		tx, err = s.db.Begin(writable)
		return err
	})
	switch {
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return nil, s.errClosed()
	case errors.Is(err, ledger.ErrDamaged):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ledger.ErrUnavailable, s.config.Path, err)
	}
	if s.uses(tx.Size()) {
		if err := s.inPlace(); err != nil {
			s.rollback(tx)
			return nil, s.gone(err)
		}
	}
	return tx, nil
}

// beginNext begins the transaction after the newest published one. The caller has the turn.
func (s *Store) beginNext() (*bolt.Tx, error) {
	tx, err := s.begin(true)
	if err != nil {
		return nil, err
	}
	if before, published := tx.ID()-1, s.published.newest(); before != published {
		s.rollback(tx)
		return nil, s.otherRoot(before, published)
	}
	return tx, nil
}

// rollback abandons a transaction. It may have been abandoned already.
func (s *Store) rollback(tx *bolt.Tx) {
	select {
	case <-s.stuck.noted(): // it might wait for ever
	default:
		_ = s.locking(tx.Rollback)
	}
}

// uses records how many bytes of the file are in use, and reports whether the number has grown.
func (s *Store) uses(size int64) bool {
	for {
		before := s.used.Load()
		if size <= before {
			return false
		}
		if s.used.CompareAndSwap(before, size) {
			return true
		}
	}
}
