// SPDX-License-Identifier: Apache-2.0

package rows

import "github.com/dpaccountant/accountant/internal/ledger"

// LaneLog reads the entries of one lane of a ledger.
type LaneLog struct {
	*Log
	Lane
	Writer ledger.Writer
	// Indexed returns the position of the lane's entry number block × IndexEvery.
	Indexed func(block uint64) (position uint64, err error)
}

// Record returns the entry with a sequence number, which the lane must have reached. It starts at the lane's end, or at
// the next indexed entry, and walks back. Each entry on the way must be the one that the lane has there.
func (l *LaneLog) Record(sequence uint64) (r ledger.Record, err error) {
	at, position := l.Sequence, l.Position
	if sequence == 1 {
		at, position = 1, l.First
	} else if block := (sequence-1)/IndexEvery + 1; block*IndexEvery <= l.Sequence {
		at = block * IndexEvery
		if position, err = l.Indexed(block); err != nil {
			return r, err
		}
	}
	for ; ; at-- {
		e, err := l.At(position)
		if err != nil {
			return ledger.Record{}, err
		}
		if e.Entry.Writer != l.Writer || e.Entry.Sequence != at {
			return ledger.Record{}, Damaged(PacksBucket, BlockKey(l.Number, position),
				"sequence %d of writer %s; want %d of %s", e.Entry.Sequence, e.Entry.Writer.Name, at, l.Writer.Name)
		}
		if at == sequence {
			return e.Record, nil
		}
		position = e.OfWriter
	}
}
