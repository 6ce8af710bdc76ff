// SPDX-License-Identifier: Apache-2.0

package memory

import "slices"

// Note keeps a text about the store as a whole, in the place of the one before.
func (s *Store) Note(name string, text []byte) error {
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	if s.data.notes == nil {
		s.data.notes = map[string][]byte{}
	}
	s.data.notes[name] = slices.Clone(text)
	return nil
}

// Noted returns what Note has kept, nil if there is nothing.
func (s *Store) Noted(name string) ([]byte, error) {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	return slices.Clone(s.data.notes[name]), nil
}
