// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

// Parts reads all mechanisms of a ledger and their totals.
func (v *View) Parts(h Head) ([]mechanism.Part, error) {
	parts := make([]mechanism.Part, h.Distinct)
	err := v.each(MechanismsBucket, h, 0, func(i int, value []byte) (err error) {
		parts[i].Mechanism, err = record.UnmarshalMechanism(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, total := range h.Totals {
		parts[i].Count = total
	}
	err = v.each(CountsBucket, h, InlineTotals, func(i int, value []byte) (err error) {
		parts[i].Count, err = ParseUint64(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return parts, h.AgreesWithParts(parts)
}

// each reads the rows of a ledger in a bucket keyed by index: exactly those from
// first to h.distinct − 1 have to be there.
func (v *View) each(b Bucket, h Head, first int, read func(i int, value []byte) error) error {
	key, stored, err := v.From(b, NumberKey(h.Number))
	if err != nil {
		return err
	}
	for i := first; i < h.Distinct; i++ {
		want := IndexKey(h.Number, i)
		if !bytes.Equal(key, want) {
			return Damaged(b, want, "missing")
		}
		value, err := Unseal(b, key, stored)
		if err != nil {
			return err
		}
		if err := read(i, value); err != nil {
			return Damaged(b, key, "%v", err)
		}
		if key, stored, err = v.From(b, IndexKey(h.Number, i+1)); err != nil {
			return err
		}
	}
	if bytes.HasPrefix(key, NumberKey(h.Number)) {
		return Damaged(b, key, "the ledger has %d mechanisms", h.Distinct)
	}
	return nil
}

// Next returns the log key after the newest one, which is that of the tail, whose newest row stays there, of a genesis,
// or of when the store was in a database. A newer row that was overlooked would be overwritten, so the pages at both
// ends are checked.
func (v *View) Next() (uint64, error) {
	newest, err := v.mark(GapsKey)
	if err != nil {
		return 0, err
	}
	for _, b := range []Bucket{TailBucket, GenesesBucket} {
		if err := v.Proven(b, NumberKey(math.MaxUint64)); err != nil {
			return 0, err
		}
		bb, err := v.Bucket(b)
		if err != nil {
			return 0, err
		}
		if key, _ := bb.Cursor().Last(); key != nil {
			last, err := NumberIn(b, key)
			if err != nil {
				return 0, err
			}
			newest = max(newest, last)
		}
	}
	return newest + 1, nil
}
