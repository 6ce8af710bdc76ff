// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// marks are the checkpoints of a ledger, which nothing relies on here: they are compared with what follows from the
// entries.
type marks struct {
	positions []uint64 // that are still to come
	since     uint64   // the position of the one before
	earliest  time.Time
	began     bool // an entry came after that one
}

// marks lists the checkpoints of a ledger.
func (v *worker) marks(number uint64) (m marks, err error) {
	err = v.Each(rows.CheckpointsBucket, rows.NumberKey(number), func(key, _ []byte) error {
		_, position, err := rows.BlockIn(rows.CheckpointsBucket, key)
		m.positions = append(m.positions, ^position)
		return err
	})
	slices.Reverse(m.positions)
	return m, err
}

// mark compares the checkpoint of the entry that a ledger has come to, if there is one. One that another version of
// this program has made says nothing.
func (v *worker) mark(f *followed, taken time.Time) error {
	m := &f.marks
	if !m.began || taken.Before(m.earliest) {
		m.earliest, m.began = taken, true
	}
	at := f.Head().Position
	if len(m.positions) == 0 || m.positions[0] > at {
		return nil
	}
	key := rows.CheckpointKey(f.number, m.positions[0])
	stored, err := v.Stored(rows.CheckpointsBucket, key)
	if err == nil {
		_, err = rows.Unseal(rows.CheckpointsBucket, key, stored)
	}
	if err != nil {
		return err
	}
	want := f.State().Checkpoint()
	want.Head, want.Since, want.Earliest = f.Head(), m.since, m.earliest
	c, ok := rows.UnsealCheckpoint(f.number, at, stored)
	if ok && c.Since != m.since { // one before it is missing
		want.Since, want.Earliest = c.Since, c.Earliest
	}
	expected, err := rows.SealCheckpoint(f.number, want)
	if err != nil {
		return err
	}
	if (ok || rows.SameCheckpointVersion(expected, stored)) && !bytes.Equal(expected, stored) {
		return finding(f.Name(), at, "row of bucket checkpoints", fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", c))
	}
	m.positions, m.since, m.began = m.positions[1:], at, false
	return nil
}

// unmarked looks for checkpoints of entries that are not there.
func (v *worker) unmarked(f *followed) error {
	if list := f.marks.positions; len(list) > 0 {
		return f.wrong(rows.CheckpointsBucket, fmt.Sprintf("position %d", list[0]),
			fmt.Sprintf("none: the ledger has %d entries", f.Head().Position), "a row")
	}
	return nil
}
