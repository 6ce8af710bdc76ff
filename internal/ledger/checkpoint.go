// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Checkpoint is how a ledger stood after one of its entries. It follows from the entries, so that whoever reads a long
// ledger may begin in the middle of it. Nothing is decided by one, and none has to be there.
type Checkpoint struct {
	Head   Head          // the entry, and its hash
	Totals []uint64      // of the mechanisms, by the indexes of CountChange
	Open   []Reservation // by position

	Since    uint64    // the position of the checkpoint before it, or 0
	Earliest time.Time // of the times at which the entries since that one were taken
}

// Marks are what a store keeps of checkpoints, beside the entries. One that is damaged, or that another version of this
// program has made, is as one that is not there. Copies of a store may be without any: they are made again.
type Marks interface {
	// Checkpoints returns up to limit checkpoints of a ledger, in the order of their positions: the newest ones after
	// one position and up to another.
	Checkpoints(ledger string, after, upTo uint64, limit int) ([]Checkpoint, error)
	// Mark keeps checkpoints of a ledger, in the place of those at the same positions. After an error some of them may
	// be kept.
	Mark(ledger string, list []Checkpoint) error
}

// CheckpointEvery is the least distance of checkpoints. It is a power of two, so that a history of evenly spaced points
// finds one at each of them.
const CheckpointEvery = 256

// Marks reports whether a checkpoint belongs to the entry at the head of s. The more mechanisms there are, the further
// apart checkpoints are, so that they take a small part of the room of the entries between them.
func (s *State) Marks() bool {
	every := uint64(CheckpointEvery)
	for every < uint64(8*len(s.parts)+s.held.Bytes/8) {
		every *= 2
	}
	return s.summary.Head.Position%every == 0
}

// Checkpoint returns that of the entry at the head of s, without what concerns the one before.
func (s *State) Checkpoint() Checkpoint {
	c := Checkpoint{Head: s.summary.Head}
	if len(s.held.Open) > 0 {
		c.Open = s.Reservations()
	}
	for _, p := range s.parts {
		c.Totals = append(c.Totals, p.Count)
	}
	return c
}

// Snapshot returns the ledger as it stood at the checkpoint, given its record and a snapshot of then or later. It is
// false if they do not fit together.
func (c Checkpoint) Snapshot(at Record, later Snapshot) (s Snapshot, ok bool) {
	if at.Entry.Position != c.Head.Position || at.Hash != c.Head.Hash || len(c.Totals) > len(later.Parts) ||
		c.Head.Position > later.Head.Position {
		return s, false
	}
	s.Summary = Summary{Genesis: later.Genesis, Head: c.Head, Distinct: len(c.Totals),
		Closed: at.Entry.Action.Details().Closes}
	for i, n := range c.Totals {
		s.Parts = append(s.Parts, mechanism.Part{Mechanism: later.Parts[i].Mechanism, Count: n})
		s.Total += n
	}
	s.Open = c.Open
	for _, e := range later.Amended {
		if e.Position <= c.Head.Position {
			s.Amended = append(s.Amended, e)
		}
	}
	return s, true
}
