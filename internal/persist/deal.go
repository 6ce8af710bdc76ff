// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"maps"
	"slices"

	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// A commit leaves its entries at the end of the tail, where that costs least. Upkeep deals the oldest of them out into
// the packs of their ledgers, in commits of its own: there they take a fraction of the room, and are found by their
// position. The newest row always stays: it says which log key comes next.
const (
	// dealBytes and dealLedgers bound one commit of upkeep, for which other commits wait.
	dealBytes   = 1 << 20
	dealLedgers = 1024
)

// deal makes one commit that deals out rows of the tail, until about least bytes are left. It reports whether there
// are more.
func (s *Store) deal(least int64) (more bool, err error) {
	excess := s.upkeep.tail.Load() - least
	if excess <= 0 || s.refused() != nil {
		return false, nil
	}
	step := s.upkeep.step.Load()
	dealt := int64(0)
	err = s.change(func(w *writing) (err error) {
		if dealt, err = w.deal(min(excess, step)); err == nil && dealt == 0 {
			err = errNoneToDeal
		}
		return err
	})
	if errors.Is(err, errNoneToDeal) {
		return false, nil
	}
	s.config.Merged(err)
	if err != nil { // such as a full disk: the next commit asks again, for less, which may have room and makes some
		s.damage(err)
		s.upkeep.step.Store(max(step/2, tailBytes))
		return false, err
	}
	s.upkeep.step.Store(min(2*step, dealBytes))
	s.upkeep.tail.Add(-dealt)
	return dealt < excess, nil
}

// errNoneToDeal abandons a commit that would change nothing.
var errNoneToDeal = errors.New("the tail has its newest row only")

// deal stages rows of packs in the place of the tail's oldest rows, which have about so many bytes.
func (w *writing) deal(most int64) (dealt int64, err error) {
	ledgers := map[uint64]packs.Pack{}
	key, stored, err := w.From(rows.TailBucket, []byte{0})
	for err == nil && key != nil && dealt < most && len(ledgers) < dealLedgers {
		var t rows.Tail
		if t, err = rows.UnsealTail(key, stored); err != nil {
			break
		}
		var next, after []byte
		if next, after, err = w.From(rows.TailBucket, append(slices.Clone(key), 0)); err != nil || next == nil {
			break // nothing follows: it is the newest one
		}
		p := t.Pack
		if before, known := ledgers[t.Number]; known {
			if before.Last()+1 != p.First {
				return 0, rows.Damaged(rows.TailBucket, key, "entry %d of ledger %d after %d", p.First, t.Number,
					before.Last())
			}
			p = before.Join(p)
		}
		ledgers[t.Number] = p
		dealt += int64(len(stored))
		w.staged = append(w.staged, row{bucket: rows.TailBucket, key: slices.Clone(key)})
		key, stored = next, after
	}
	if err != nil {
		return 0, err
	}
	for _, number := range slices.Sorted(maps.Keys(ledgers)) {
		if err := w.pack(number, ledgers[number]); err != nil {
			return 0, err
		}
	}
	return dealt, nil
}

// pack stages entries of a ledger as packs, after those that it has, the last of which may take some of them.
func (w *writing) pack(number uint64, p packs.Pack) error {
	var last packs.Pack
	key := rows.BlockKey(number, p.First-1)
	if p.First > 1 {
		stored, err := w.Stored(rows.PacksBucket, key)
		if err == nil && stored == nil {
			err = rows.Damaged(rows.PacksBucket, key, "missing")
		}
		if err == nil {
			last, err = rows.ParsePack(number, p.First-1, stored)
		}
		if err != nil {
			return err
		}
	}
	parts, instead := p.Deal(last)
	if instead {
		w.staged = append(w.staged, row{bucket: rows.PacksBucket, key: key})
	}
	for _, part := range parts {
		w.staged = append(w.staged,
			row{rows.PacksBucket, rows.BlockKey(number, part.Last()), rows.SealPack(number, part)})
	}
	return nil
}

// tailSize returns how many bytes of rows are in the tail.
func tailSize(v *rows.View) (bytes int64, err error) {
	bb, err := v.Bucket(rows.TailBucket)
	if err != nil {
		return 0, err
	}
	err = bb.ForEach(func(_, stored []byte) error {
		bytes += int64(len(stored))
		return nil
	})
	return bytes, err
}
