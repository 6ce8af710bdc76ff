// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Marked is a log with checkpoints. A ledger.Store is one.
type Marked interface {
	Log
	ledger.Marks
	Load(ledger string) (ledger.Snapshot, error)
}

// leap is the least number of entries that Leap passes over: to look for a checkpoint takes as long as to read some.
const leap = 200

// Leap takes the walk to the newest checkpoint after it that is not after a position. A checkpoint that does not fit
// to the ledger's entries is as one that is not there: then the walk stays where it is, and its entries are to be read.
func (w *Walk) Leap(log Marked, to uint64) error {
	name := w.genesis.Spec.Name
	if to < w.Position()+leap {
		return nil
	}
	marks, err := log.Checkpoints(name, w.Position()+leap-1, to, 1)
	if err != nil || len(marks) == 0 {
		return err
	}
	at := marks[0].Head.Position
	records, err := log.Records(name, at, 1)
	if err != nil || len(records) == 0 {
		return err
	}
	if w.later.Head.Position < at {
		if w.later, err = log.Load(name); err != nil {
			return err
		}
	}
	if s, ok := marks[0].Snapshot(records[0], w.later); ok {
		w.begin(s)
		w.time = records[0].Entry.Time
	}
	return nil
}

// Mark has a store keep checkpoints of a ledger that are still missing. It reads on from the newest one that there is,
// about most entries, but until it has made one or has come to the ledger's end. It returns how far it has read, and
// the position of the newest checkpoint.
func Mark(store Marked, g ledger.Genesis, to, most uint64) (read, newest uint64, err error) {
	w := NewWalk(g)
	if err := w.Leap(store, to); err != nil {
		return 0, 0, err
	}
	name, begun, made := g.Spec.Name, w.Position(), []ledger.Checkpoint(nil)
	newest = begun
	var earliest time.Time
	take := func(records []ledger.Record) error {
		for len(records) > 0 {
			n := min(len(records), int(ledger.CheckpointEvery-w.Position()%ledger.CheckpointEvery))
			for _, r := range records[:n] {
				if w.Position() == newest && r.Entry.Position == newest+1 || r.Entry.Time.Before(earliest) {
					earliest = r.Entry.Time
				}
			}
			if err := w.Take(records[:n]); err != nil {
				return err
			}
			if records = records[n:]; w.state.Marks() {
				c := w.state.Checkpoint()
				c.Since, c.Earliest, newest = newest, earliest, c.Head.Position
				made = append(made, c)
			}
		}
		return nil
	}
	_, err = Each(store, name, begun, to, func() bool { return len(made) > 0 && w.Position() >= begun+most }, take)
	if err == nil && len(made) > 0 {
		err = store.Mark(name, made)
	}
	return w.Position(), newest, err
}
