// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/record"
)

// checkpointVersion begins the value of a checkpoint. It becomes another number when a checkpoint's bytes change, or
// when what a ledger's state is after the same entries does.
const checkpointVersion = 1

// CheckpointKey orders the checkpoints of a ledger from the newest to the oldest, as searches only go forward.
func CheckpointKey(number, position uint64) []byte { return BlockKey(number, ^position) }

// SealCheckpoint makes the value of a row of checkpoints.
func SealCheckpoint(number uint64, c ledger.Checkpoint) ([]byte, error) {
	b := append(make([]byte, ChecksumSize, 128), checkpointVersion)
	b = append(b, c.Head.Hash[:]...)
	b = binary.AppendUvarint(b, c.Since)
	b = binary.AppendVarint(b, c.Earliest.UnixNano())
	b = binary.AppendUvarint(b, uint64(len(c.Totals)))
	for _, n := range c.Totals {
		b = binary.AppendUvarint(b, n)
	}
	for _, r := range c.Open {
		raw, err := record.MarshalReservation(r)
		if err != nil {
			return nil, err
		}
		b = packs.AppendText(binary.AppendUvarint(b, r.Position), raw)
	}
	return Seal(CheckpointsBucket, CheckpointKey(number, c.Head.Position), b), nil
}

// SameCheckpointVersion reports whether two values of rows of checkpoints were made by programs with the same version
// of them.
func SameCheckpointVersion(a, b []byte) bool {
	return len(a) > ChecksumSize && len(b) > ChecksumSize && a[ChecksumSize] == b[ChecksumSize]
}

// UnsealCheckpoint reads the value of a row of checkpoints. It is false for one that this program cannot read.
func UnsealCheckpoint(number, position uint64, stored []byte) (c ledger.Checkpoint, ok bool) {
	b, err := Unseal(CheckpointsBucket, CheckpointKey(number, position), stored)
	if err != nil || len(b) < 1+len(c.Head.Hash) || b[0] != checkpointVersion {
		return c, false
	}
	c.Head.Position = position
	r := packs.Varints{B: b[1+copy(c.Head.Hash[:], b[1:]):]}
	c.Since = r.Next()
	earliest, n := binary.Varint(r.B)
	if n <= 0 || c.Since >= position {
		return c, false
	}
	r.B, c.Earliest = r.B[n:], time.Unix(0, earliest).UTC()
	for left := r.Next(); left > 0 && !r.Bad; left-- {
		c.Totals = append(c.Totals, r.Next())
	}
	for len(r.B) > 0 && !r.Bad {
		open, err := record.UnmarshalReservation(r.Next(), bytes.Clone(r.Text()))
		if err != nil {
			return c, false
		}
		c.Open = append(c.Open, open)
	}
	return c, !r.Bad
}

// Checkpoints returns up to limit checkpoints of a ledger, the newest ones after one position and up to another.
func (v *View) Checkpoints(number, after, upTo uint64, limit int) (list []ledger.Checkpoint, err error) {
	for next := CheckpointKey(number, upTo); len(list) < limit; {
		key, stored, err := v.From(CheckpointsBucket, next)
		if err != nil {
			return nil, err
		}
		if len(key) != 16 || !bytes.HasPrefix(key, NumberKey(number)) {
			break
		}
		position := ^binary.BigEndian.Uint64(key[8:])
		if position <= after {
			break
		}
		if c, ok := UnsealCheckpoint(number, position, stored); ok {
			list = append(list, c)
		}
		next = CheckpointKey(number, position-1)
	}
	slices.Reverse(list)
	return list, nil
}
