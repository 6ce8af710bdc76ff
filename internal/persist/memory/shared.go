// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Shared is a handle on what a store keeps, for one of several daemons that use it at the same time.
type Shared struct{ *Store }

// Shared returns a handle on what s keeps, which fails as s does.
func (s *Store) Shared() Shared { return Shared{s} }

// Beside returns another handle on what s keeps, as another daemon has one. It fails as c says, and has the
// identifier of s.
func (s *Store) Beside(c Config) Shared {
	c.StoreID = s.config.StoreID
	return Shared{&Store{config: c, data: s.data}}
}

// Heads implements fleet.Shared.
func (s Shared) Heads(names []string) ([]ledger.Head, error) {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	if err := s.check(); err != nil {
		return nil, err
	}
	heads := make([]ledger.Head, len(names))
	for i, name := range names {
		heads[i] = s.data.head(name)
	}
	return heads, nil
}

// Newer implements fleet.Shared.
func (s Shared) Newer(names []string, from []uint64, limit int) ([][]ledger.Record, error) {
	all := make([][]ledger.Record, len(names))
	for i, name := range names {
		list, err := s.Records(name, from[i], limit)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return nil, err
		}
		all[i] = list
	}
	return all, nil
}

// InTurn implements fleet.Shared. It keeps nobody out: where others have written meanwhile, it is ErrConflict.
func (s Shared) InTurn(t ledger.Turn) ([][]ledger.Hash, error) {
	heads, err := s.Heads(t.Ledgers)
	newer := make([][]ledger.Record, len(t.Ledgers))
	for i, name := range t.Ledgers {
		if known := t.Known(i); err == nil && known != (ledger.Head{}) && known != heads[i] {
			if newer[i], err = s.Records(name, known.Position+1, t.Limit+1); len(newer[i]) > t.Limit {
				newer[i] = nil
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return s.appendOn(t.Decide(heads, newer), t.Ledgers, heads)
}

// Changes implements fleet.Shared. It calls f for what other handles write.
func (s Shared) Changes(f func(names ...string)) (stop func()) {
	s.data.watching.Lock()
	defer s.data.watching.Unlock()
	if s.data.watchers == nil {
		s.data.watchers = map[*func(names ...string)]*Store{}
	}
	s.data.watchers[&f] = s.Store
	return func() {
		s.data.watching.Lock()
		defer s.data.watching.Unlock()
		delete(s.data.watchers, &f)
	}
}

// Ahead implements fleet.Shared. The store has no clock of its own.
func (Shared) Ahead() (time.Duration, error) { return 0, nil }

// LostWhole implements fleet.Shared.
func (Shared) LostWhole(string) (ledger.Head, error) { return ledger.Head{}, nil }

// tell calls the functions of the other handles.
func (s *Store) tell(names []string) {
	s.data.watching.Lock()
	defer s.data.watching.Unlock()
	for f, of := range s.data.watchers {
		if of != s {
			(*f)(names...)
		}
	}
}
