// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"maps"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Checkpoints implements ledger.Marks.
func (s *Store) Checkpoints(name string, after, upTo uint64, limit int) (list []ledger.Checkpoint, err error) {
	err = s.read(name, func(b *kept) error {
		positions := slices.Sorted(maps.Keys(s.data.marks[name]))
		for _, position := range slices.Backward(positions) {
			if position > min(upTo, b.head.At.Position) || position <= after || len(list) == limit {
				continue
			}
			if c, ok := rows.UnsealCheckpoint(0, position, s.data.marks[name][position]); ok {
				list = append(list, c)
			}
		}
		slices.Reverse(list)
		return nil
	})
	return list, err
}

// Mark implements ledger.Marks.
func (s *Store) Mark(name string, list []ledger.Checkpoint) error {
	if err := s.read(name, func(*kept) error { return nil }); err != nil {
		return err
	}
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	if s.data.marks[name] == nil {
		s.data.marks[name] = map[uint64][]byte{}
	}
	for _, c := range list {
		value, err := rows.SealCheckpoint(0, c)
		if err != nil {
			return err
		}
		s.data.marks[name][c.Head.Position] = value
	}
	return nil
}
