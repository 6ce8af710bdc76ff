package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// pack is what one commit appended to a ledger, as one row.
type pack struct {
	number   uint64 // of the ledger
	first    uint64 // position of its first entry
	key      uint64 // log key of its last entry
	previous ledger.Hash
	raws     [][]byte
}

func (p pack) last() uint64 { return p.first + uint64(len(p.raws)) - 1 }

// seal makes the row's value: a checksum, the first position and the last key, the hash before it,
// and each entry's stored bytes after their length.
func (p pack) seal() []byte {
	size := rows.ChecksumSize + len(p.previous) + 3*binary.MaxVarintLen64
	for _, raw := range p.raws {
		size += len(raw) + binary.MaxVarintLen32
	}
	b := make([]byte, rows.ChecksumSize, size)
	b = binary.AppendUvarint(binary.AppendUvarint(b, p.first), p.key)
	b = append(b, p.previous[:]...)
	b = binary.AppendUvarint(b, uint64(len(p.raws)))
	for _, raw := range p.raws {
		b = append(binary.AppendUvarint(b, uint64(len(raw))), raw...)
	}
	return rows.Seal(rows.LogBucket, rows.BlockKey(p.number, p.last()), b)
}

var errCut = errors.New("it is cut short, or too long")

// parsePack reads a row whose columns say that it is of this ledger and ends at position last.
func parsePack(number, last uint64, stored []byte) (pack, error) {
	key := rows.BlockKey(number, last)
	b, err := rows.Unseal(rows.LogBucket, key, stored)
	if err != nil {
		return pack{}, err
	}
	p, err := readPack(b)
	if err == nil && (p.first == 0 || len(p.raws) == 0 || p.last() != last) {
		err = fmt.Errorf("entries %d to %d", p.first, p.last())
	}
	if err != nil {
		return pack{}, rows.Damaged(rows.LogBucket, key, "%v", err)
	}
	p.number = number
	return p, nil
}

func readPack(b []byte) (p pack, err error) {
	next := func() (n uint64) {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > math.MaxInt64 {
			err = errCut
			return 0
		}
		b = b[size:]
		return n
	}
	p.first, p.key = next(), next()
	if err != nil || copy(p.previous[:], b) < len(p.previous) {
		return p, errCut
	}
	b = b[len(p.previous):]
	n := next()
	if n > uint64(len(b)) {
		return p, errCut
	}
	p.raws = make([][]byte, n)
	for i := range p.raws {
		size := next()
		if err != nil || size > uint64(len(b)) {
			return p, errCut
		}
		p.raws[i], b = b[:size:size], b[size:]
	}
	if len(b) > 0 {
		return p, errCut
	}
	return p, nil
}

// linked is an entry with its own log key and that of its writer's entry before.
type linked struct {
	ledger.Record
	key, ofWriter uint64
}

// entries reads a pack's entries and computes their hashes. The key of each is in the entry after
// it, as the key of the entry before.
func (p pack) entries() ([]linked, error) {
	list := make([]linked, len(p.raws))
	hash := p.previous
	for i, raw := range p.raws {
		e, inLedger, ofWriter, err := record.UnmarshalEntry(raw)
		if err != nil {
			return nil, p.damaged(i, err)
		}
		if want := p.first + uint64(i); e.Position != want {
			return nil, p.damaged(i, fmt.Errorf("an entry of position %d", e.Position))
		}
		r := ledger.Record{Entry: e, Previous: hash, Hash: record.EntryHash(hash, raw), Raw: raw}
		list[i] = linked{Record: r, ofWriter: ofWriter}
		if i > 0 {
			list[i-1].key = inLedger
		}
		hash = r.Hash
	}
	list[len(list)-1].key = p.key
	for i, r := range list {
		if i > 0 && r.key <= list[i-1].key || r.ofWriter >= r.key {
			return nil, p.damaged(i, fmt.Errorf("log key %d after %d", r.key, r.ofWriter))
		}
	}
	return list, nil
}

// damaged names the i-th entry.
func (p pack) damaged(i int, err error) error {
	if errors.Is(err, ledger.ErrNewer) {
		return fmt.Errorf("%w: entry %d of ledger number %d", err, p.first+uint64(i), p.number)
	}
	return rows.Damaged(rows.LogBucket, rows.BlockKey(p.number, p.first+uint64(i)), "%v", err)
}
