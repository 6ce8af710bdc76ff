// Package packs is the form of the rows that hold entries: what one commit appended to a ledger is one row.
package packs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// Pack is what one commit appended to a ledger, as one row.
type Pack struct {
	Number   uint64      // of the ledger
	First    uint64      // position of its first entry
	Key      uint64      // log key of its last entry
	Previous ledger.Hash // of the entry before, or of the genesis
	Raws     [][]byte
}

// Last is the position of the last entry.
func (p Pack) Last() uint64 { return p.First + uint64(len(p.Raws)) - 1 }

// Seal makes the row's value: a checksum, the first position and the last key, the hash before it,
// and each entry's stored bytes after their length.
func (p Pack) Seal() []byte {
	size := rows.ChecksumSize + len(p.Previous) + 3*binary.MaxVarintLen64
	for _, raw := range p.Raws {
		size += len(raw) + binary.MaxVarintLen32
	}
	b := make([]byte, rows.ChecksumSize, size)
	b = binary.AppendUvarint(binary.AppendUvarint(b, p.First), p.Key)
	b = append(b, p.Previous[:]...)
	b = binary.AppendUvarint(b, uint64(len(p.Raws)))
	for _, raw := range p.Raws {
		b = append(binary.AppendUvarint(b, uint64(len(raw))), raw...)
	}
	return rows.Seal(rows.LogBucket, rows.BlockKey(p.Number, p.Last()), b)
}

var errCut = errors.New("it is cut short, or too long")

// Parse reads a row whose columns say that it is of this ledger and ends at position last.
func Parse(number, last uint64, stored []byte) (Pack, error) {
	key := rows.BlockKey(number, last)
	b, err := rows.Unseal(rows.LogBucket, key, stored)
	if err != nil {
		return Pack{}, err
	}
	p, err := readPack(b)
	if err == nil && (p.First == 0 || len(p.Raws) == 0 || p.Last() != last) {
		err = fmt.Errorf("entries %d to %d", p.First, p.Last())
	}
	if err != nil {
		return Pack{}, rows.Damaged(rows.LogBucket, key, "%v", err)
	}
	p.Number = number
	return p, nil
}

func readPack(b []byte) (p Pack, err error) {
	next := func() (n uint64) {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > math.MaxInt64 {
			err = errCut
			return 0
		}
		b = b[size:]
		return n
	}
	p.First, p.Key = next(), next()
	if err != nil || copy(p.Previous[:], b) < len(p.Previous) {
		return p, errCut
	}
	b = b[len(p.Previous):]
	n := next()
	if n > uint64(len(b)) {
		return p, errCut
	}
	p.Raws = make([][]byte, n)
	for i := range p.Raws {
		size := next()
		if err != nil || size > uint64(len(b)) {
			return p, errCut
		}
		p.Raws[i], b = b[:size:size], b[size:]
	}
	if len(b) > 0 {
		return p, errCut
	}
	return p, nil
}

// Linked is an entry with its own log key and that of its writer's entry before.
type Linked struct {
	ledger.Record
	Key, OfWriter uint64
}

// Entries reads a pack's entries and computes their hashes. The key of each is in the entry after
// it, as the key of the entry before.
func (p Pack) Entries() ([]Linked, error) { return p.Read(new(record.Reader)) }

// Read is Entries with a reader that has read other packs, which makes it faster.
func (p Pack) Read(by *record.Reader) ([]Linked, error) {
	list := make([]Linked, len(p.Raws))
	hash := p.Previous
	for i, raw := range p.Raws {
		e, inLedger, ofWriter, err := by.Entry(raw)
		if err != nil {
			return nil, p.damaged(i, err)
		}
		if want := p.First + uint64(i); e.Position != want {
			return nil, p.damaged(i, fmt.Errorf("an entry of position %d", e.Position))
		}
		r := ledger.Record{Entry: e, Previous: hash, Hash: record.EntryHash(hash, raw), Raw: raw}
		list[i] = Linked{Record: r, OfWriter: ofWriter}
		if i > 0 {
			list[i-1].Key = inLedger
		}
		hash = r.Hash
	}
	list[len(list)-1].Key = p.Key
	for i, r := range list {
		if i > 0 && r.Key <= list[i-1].Key || r.OfWriter >= r.Key {
			return nil, p.damaged(i, fmt.Errorf("log key %d after %d", r.Key, r.OfWriter))
		}
	}
	return list, nil
}

// damaged names the i-th entry.
func (p Pack) damaged(i int, err error) error {
	if errors.Is(err, ledger.ErrNewer) {
		return fmt.Errorf("%w: entry %d of ledger number %d", err, p.First+uint64(i), p.Number)
	}
	return rows.Damaged(rows.LogBucket, rows.BlockKey(p.Number, p.First+uint64(i)), "%v", err)
}

// At returns the entry at a position of the pack's ledger.
func (p Pack) At(position uint64) (Linked, error) {
	if position < p.First || position > p.Last() {
		return Linked{}, rows.Damaged(rows.LogBucket, rows.BlockKey(p.Number, position),
			"missing: the row has %d to %d", p.First, p.Last())
	}
	list, err := p.Entries()
	if err != nil {
		return Linked{}, err
	}
	return list[position-p.First], nil
}

// Newest returns the pack's last entry, or ErrDamaged for a pack that is not there.
func (p Pack) Newest() (Linked, error) {
	if len(p.Raws) == 0 {
		return Linked{}, rows.Damaged(rows.LogBucket, rows.NumberKey(p.Number), "the newest entries are missing")
	}
	return p.At(p.Last())
}
