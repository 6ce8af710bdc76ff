// SPDX-License-Identifier: Apache-2.0

package persist

import (
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
	dealBytes   = 8 << 20
	dealLedgers = 1024
)

// deal makes one commit that deals out rows of the tail, until about least bytes are left. It reports whether there
// are more.
//
// Packs are made before the commit, so that others need not wait while they are compressed: nobody else changes packs
// or takes rows from the tail.
func (s *Store) deal(least int64) (more bool, err error) {
	s.upkeep.one.Lock()
	defer s.upkeep.one.Unlock()
	excess := s.upkeep.tail.Load() - least
	if excess <= 0 || s.refused() != nil {
		return false, nil
	}
	step := s.upkeep.step.Load()
	var d dealt
	err = s.view(func(v *rows.View) (err error) {
		d, err = dealOut(v, min(excess, step))
		return err
	})
	if err == nil && d.bytes == 0 {
		return false, nil // the tail has its newest row only
	}
	if err == nil {
		err = s.change(func(w *writing) error {
			w.staged = append(w.staged, d.rows...)
			return nil
		})
	}
	s.config.Merged(err)
	if err != nil { // such as a full disk: the next commit asks again, for less, which may have room and makes some
		s.damage(err)
		s.upkeep.step.Store(max(step/2, tailBytes))
		return false, err
	}
	s.upkeep.step.Store(min(2*step, dealBytes))
	s.upkeep.tail.Add(-d.bytes)
	return d.bytes < excess, nil
}

// dealt is what takes the place of the tail's oldest rows.
type dealt struct {
	rows  []row
	bytes int64 // of the rows of the tail
}

// dealOut makes packs of the tail's oldest rows, which have about so many bytes.
func dealOut(v *rows.View, most int64) (d dealt, err error) {
	ledgers := map[uint64][]packs.Pack{}
	key, stored, err := v.From(rows.TailBucket, []byte{0})
	var beyond []byte // the key after key
	for err == nil && key != nil && d.bytes < most && len(ledgers) < dealLedgers {
		var t rows.Tail
		if t, err = rows.UnsealTail(key, stored); err != nil {
			break
		}
		beyond = append(append(beyond[:0], key...), 0)
		var next, after []byte
		if next, after, err = v.From(rows.TailBucket, beyond); err != nil || next == nil {
			break // nothing follows: it is the newest one
		}
		if before := ledgers[t.Number]; len(before) > 0 && before[len(before)-1].Last()+1 != t.First {
			return d, rows.Damaged(rows.TailBucket, key, "entry %d of ledger %d after %d", t.First, t.Number,
				before[len(before)-1].Last())
		}
		ledgers[t.Number] = append(ledgers[t.Number], t.Pack)
		d.bytes += int64(len(stored))
		d.rows = append(d.rows, row{bucket: rows.TailBucket, key: slices.Clone(key)})
		key, stored = next, after
	}
	for _, number := range slices.Sorted(maps.Keys(ledgers)) {
		if err == nil {
			err = d.pack(v, number, ledgers[number])
		}
	}
	return d, err
}

// pack adds entries of a ledger as packs, after those that it has, the last of which may take some of them.
func (d *dealt) pack(v *rows.View, number uint64, list []packs.Pack) error {
	var last packs.Pack
	before := list[0].First - 1
	key := rows.BlockKey(number, before)
	if before > 0 {
		stored, err := v.Stored(rows.PacksBucket, key)
		if err == nil && stored == nil {
			err = rows.Damaged(rows.PacksBucket, key, "missing")
		}
		if err == nil {
			last, err = rows.ParsePack(number, before, stored)
		}
		if err != nil {
			return err
		}
	}
	parts, instead := packs.Deal(last, list...)
	if instead {
		d.rows = append(d.rows, row{bucket: rows.PacksBucket, key: key})
	}
	for _, part := range parts {
		d.rows = append(d.rows,
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
