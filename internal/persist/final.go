// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"fmt"
	"io"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Final makes a backup after which the ledgers go on elsewhere: the store marks itself as moved
// away, durably, and refuses everything from then on. The backup has all that the store has ever
// acknowledged, so the store that is made of it needs no reconciling. A store that was moved away
// makes the same backup again, as often as it is asked.
//
// Without room for the copy, nothing is marked.
func (s *Store) Final() (content io.ReadCloser, size int64, err error) {
	if err := house.Leave(s, s.move); err != nil {
		return nil, 0, err
	}
	return s.copyBy(s.viewMoved)
}

// Moved returns why a store that was moved away refuses everything, or nil.
func (s *Store) Moved() error {
	if err := s.moved.Load(); err != nil {
		return *err
	}
	return nil
}

// move marks the store, in both root pages: neither of them leads back to a store that serves.
func (s *Store) move() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	final := rows.Final{At: time.Now()}
	for n := range 2 {
		err := s.changeInTurn(func(w *writing) error {
			w.stageFinal(final)
			return nil
		})
		if n == 0 && err == nil { // from here on there is no way back
			defer func() {
				err := fmt.Errorf("%w: store %s: %w", ledger.ErrUnavailable, s.config.Path, final.Moved(s.config.Path))
				s.moved.Store(&err)
			}()
		}
		if err != nil {
			return err
		}
	}
	return s.syncAcknowledged()
}
