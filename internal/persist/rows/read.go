package rows

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/dpaccountant/accountant/internal/ledger"
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
	sum := uint64(0)
	for i, p := range parts {
		if p.Count == 0 && h.Amended == 0 || p.Count > h.Total-sum {
			return nil, Damaged(HeadsBucket, NumberKey(h.Number),
				"mechanism %d has total %d, all together %d", i, p.Count, h.Total)
		}
		sum += p.Count
	}
	if sum != h.Total {
		return nil, Damaged(HeadsBucket, NumberKey(h.Number), "total %d, the mechanisms have %d", h.Total, sum)
	}
	return parts, nil
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

// BlockAfter returns the first indexed block whose entry is not before n.
func BlockAfter(n uint64) uint64 { return (n-1)/IndexEvery + 1 }

// Walk calls found with the records at positions to, to − 1 … from. Those that it passes over to get there are not
// decoded: they may be many, and large.
func (v *View) Walk(h Head, from, to uint64, found func(ledger.Record)) error {
	at, key, hash := h.At.Position, h.Last, &h.At.Hash
	if block := BlockAfter(to); block*IndexEvery < at {
		at, hash = block*IndexEvery, nil
		var err error
		if key, err = Must(v, PositionsBucket, BlockKey(h.Number, block), ParseUint64); err != nil {
			return err
		}
	}
	for ; at >= from; at-- {
		read := v.Entry
		if at > to {
			read = v.passing
		}
		r, err := read(h.Number, key)
		if err != nil {
			return err
		}
		if r.Entry.Position != at || hash != nil && r.Hash != *hash {
			return Damaged(LogBucket, NumberKey(key), "entry %d with hash %x does not fit into the chain at %d",
				r.Entry.Position, r.Hash, at)
		}
		if at <= to {
			found(r.Record)
		}
		key, hash = r.PreviousInLedger, &r.Previous
	}
	if from > 1 {
		return nil
	}
	_, _, genesis, err := v.Genesis(h.Number)
	if err == nil && *hash != genesis {
		err = Damaged(LogBucket, NumberKey(h.Number), "the genesis hashes to %x, entry 1 follows %x", genesis, *hash)
	}
	return err
}

// Next returns the log key after the newest one. A newer record that was overlooked would be
// overwritten, so the pages at the end of the log are checked.
func (v *View) Next() (uint64, error) {
	if err := v.Proven(LogBucket, NumberKey(math.MaxUint64)); err != nil {
		return 0, err
	}
	bb, err := v.Bucket(LogBucket)
	if err != nil {
		return 0, err
	}
	key, _ := bb.Cursor().Last()
	switch len(key) {
	case 0:
		return 1, nil
	case 8:
		return binary.BigEndian.Uint64(key) + 1, nil
	}
	return 0, Damaged(LogBucket, key, "a key of %d bytes; want 8", len(key))
}
