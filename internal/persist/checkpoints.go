// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Checkpoints implements ledger.Marks.
func (s *Store) Checkpoints(name string, after, upTo uint64, limit int) (list []ledger.Checkpoint, err error) {
	err = s.view(func(v *rows.View) error {
		h, err := v.Find(name)
		if err != nil {
			return err
		}
		list, err = v.Checkpoints(h.Number, after, min(upTo, h.At.Position), limit)
		return err
	})
	return list, err
}

// Mark implements ledger.Marks.
func (s *Store) Mark(name string, list []ledger.Checkpoint) error {
	if err := s.refused(); err != nil {
		return err
	}
	return s.change(func(w *writing) error {
		number, err := w.Number(name)
		if err != nil {
			return err
		}
		for _, c := range list {
			value, err := rows.SealCheckpoint(number, c)
			if err != nil {
				return err
			}
			w.staged = append(w.staged, row{rows.CheckpointsBucket, rows.CheckpointKey(number, c.Head.Position), value})
		}
		return nil
	})
}
