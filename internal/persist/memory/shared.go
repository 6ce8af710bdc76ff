package memory

import "github.com/dpaccountant/accountant/internal/ledger"

// Heads implements keeper.Shared.
func (s *Store) Heads(names []string) ([]ledger.Head, error) {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	if err := s.check(); err != nil {
		return nil, err
	}
	heads := make([]ledger.Head, len(names))
	for i, name := range names {
		if b, ok := s.data.ledgers[name]; ok {
			heads[i] = b.head
		}
	}
	return heads, nil
}

// Changes implements keeper.Shared. It calls f for what other handles write.
func (s *Store) Changes(f func(names ...string)) (stop func()) {
	s.data.watching.Lock()
	defer s.data.watching.Unlock()
	if s.data.watchers == nil {
		s.data.watchers = map[*func(names ...string)]*Store{}
	}
	s.data.watchers[&f] = s
	return func() {
		s.data.watching.Lock()
		defer s.data.watching.Unlock()
		delete(s.data.watchers, &f)
	}
}

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
