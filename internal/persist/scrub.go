// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// scrubSlice is how many bytes Scrub reads in one transaction. This takes a few milliseconds,
// during which bbolt reuses no page and cannot enlarge its map.
const scrubSlice = 1 << 20

// Scrub reads all pages and rows once while the store is in use, and returns how many bytes it
// has read. It reads at most rate bytes a second, or without a bound if rate is 0. If it finds
// damage it returns ErrDamaged, and the store then refuses everything (Damaged).
//
// It reads some leaves of a bucket, with the way to each of them, in one short read
// transaction, and continues after their last key in the next. What is written in between was
// checked before it was written, or belongs to the next pass.
//
// It reads the blocks in segments, too, unless they are in a bucket: an object store checks them itself, and lets pay
// for reading. What is wrong with them concerns their ledgers alone: it is the error at the end, and the store refuses
// nothing else.
func (s *Store) Scrub(ctx context.Context, rate int64) (read int64, err error) {
	pass := scrub{store: s}
	for began := time.Now(); ; {
		done, err := pass.slice()
		if err != nil {
			s.damage(err)
			return pass.read, err
		}
		if done {
			return pass.read, pass.elsewhere
		}
		due := began
		if rate > 0 {
			due = began.Add(time.Duration(float64(pass.read) / float64(rate) * float64(time.Second)))
		}
		select {
		case <-ctx.Done():
			return pass.read, ctx.Err()
		case <-s.damaged: // by somebody else
			return pass.read, s.refused()
		case <-time.After(time.Until(due)):
		}
	}
}

// scrub is one pass.
type scrub struct {
	store *Store
	read  int64

	bucket rows.Bucket // at hand
	key    []byte      // where to go on in it

	cold      [][]byte // keys of packs in segments, which are read next
	elsewhere error    // what was wrong with them
	wrong     int      // how often
}

// maxWrong is how many blocks are named that cannot be read.
const maxWrong = 10

// segment reads the next block in a segment that a slice has found.
func (c *scrub) segment() error {
	key := c.cold[0]
	c.cold = c.cold[1:]
	var b rows.Block
	var elsewhere error
	err := c.store.fetching(func(v *rows.View) error {
		elsewhere = nil
		place, err := v.Retention()
		if err != nil || blobs.IsBucket(place.Dir) {
			return err
		}
		stored, err := v.Stored(rows.PacksBucket, key)
		if err != nil {
			return err
		}
		b, elsewhere = v.Elsewhere(key, stored)
		return elsewhere
	})
	for _, r := range b.Rows {
		c.read += int64(len(r.Stored))
	}
	if err == nil || elsewhere == nil {
		return err
	}
	if c.wrong++; c.wrong <= maxWrong { // not as damage of this file
		c.elsewhere = errors.Join(c.elsewhere, errors.New(err.Error()))
	}
	return nil
}

// row checks a row, and notes it where it says that packs lie elsewhere.
func (c *scrub) row(name, key, stored []byte) error {
	if string(name) == rows.PacksBucket.String() && rows.IsElsewhere(stored) {
		c.cold = append(c.cold, slices.Clone(key))
	}
	return rows.CheckRow(name, key, stored)
}

// slice goes through some leaves, or through a block that they have named. It reports whether that was the last.
func (c *scrub) slice() (done bool, err error) {
	if len(c.cold) > 0 {
		err := c.segment()
		return c.bucket == rows.Buckets && len(c.cold) == 0, err
	}
	until := c.read + scrubSlice
	err = c.store.view(func(v *rows.View) error {
		file := rows.Pages(v.Tx, v.File)
		free, err := file.Free(uint64(v.Tx.ID()))
		if err != nil && !errors.Is(err, pages.ErrNoMeta) { // two commits since the transaction began
			return rows.AsDamage(err)
		}
		paths := &pages.Paths{File: file, Row: c.row, Free: free, Read: func(n int64) { c.read += n }}
		for c.read < until && c.bucket < rows.Buckets {
			next, err := paths.Leaf(c.bucket.String(), c.key)
			if err != nil {
				return rows.AsDamage(err)
			}
			if c.key = slices.Clone(next); next == nil {
				c.bucket++
			}
		}
		return nil
	})
	return c.bucket == rows.Buckets && len(c.cold) == 0, err
}
