package persist

import (
	"bytes"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/record"
)

// view reads rows within one transaction. Everything is verified when it is read, and an
// inconsistency is ErrDamaged.
type view struct {
	tx      *bolt.Tx
	opened  [buckets]*bolt.Bucket
	cursors [buckets]*bolt.Cursor // for get: they keep their memory
	key     []byte                // room for the key of one get

	file  io.ReaderAt  // to check pages; nil: they are not checked
	paths *pages.Paths // of this transaction, or to be reset for it
	begun bool         // paths are of this transaction

	missing bool // something may have been found to be missing
}

func (v *view) bucket(b bucket) (*bolt.Bucket, error) {
	if v.opened[b] == nil {
		v.opened[b] = v.tx.Bucket([]byte(bucketNames[b]))
		if v.opened[b] == nil {
			return nil, fmt.Errorf("%w: bucket %s is missing", ledger.ErrDamaged, b)
		}
	}
	return v.opened[b], nil
}

// get returns a verified value, which is valid only within the transaction, or nil if there is
// no such row.
func (v *view) get(b bucket, key []byte) ([]byte, error) {
	if err := v.way(b, key); err != nil {
		return nil, err
	}
	c, err := v.cursor(b)
	if err != nil {
		return nil, err
	}
	found, stored := c.Seek(key)
	if !bytes.Equal(found, key) {
		return nil, v.proven(b, key)
	}
	return unseal(b, key, stored)
}

func (v *view) cursor(b bucket) (*bolt.Cursor, error) {
	if v.cursors[b] == nil {
		bb, err := v.bucket(b)
		if err != nil {
			return nil, err
		}
		v.cursors[b] = bb.Cursor()
	}
	return v.cursors[b], nil
}

// must reads a row that has to exist, and parses it.
func must[T any](v *view, b bucket, key []byte, parse func([]byte) (T, error)) (T, error) {
	var zero T
	value, err := v.get(b, key)
	if err != nil {
		return zero, err
	}
	if value == nil {
		return zero, damaged(b, key, "missing")
	}
	t, err := parse(value)
	if err != nil {
		return zero, damaged(b, key, "%v", err)
	}
	return t, nil
}

// number returns a ledger's number, or ErrNotFound.
func (v *view) number(name string) (uint64, error) {
	v.key = append(v.key[:0], name...)
	value, err := v.get(ledgersBucket, v.key)
	if err != nil {
		return 0, err
	}
	if value == nil {
		return 0, fmt.Errorf("ledger %s: %w", name, ledger.ErrNotFound)
	}
	n, err := parseUint64(value)
	if err != nil {
		return 0, damaged(ledgersBucket, []byte(name), "%v", err)
	}
	return n, nil
}

func (v *view) head(number uint64) (head, error) {
	v.key = appendNumber(v.key[:0], number)
	return must(v, headsBucket, v.key, func(b []byte) (head, error) { return parseHead(number, b) })
}

// find returns a ledger's head by name.
func (v *view) find(name string) (head, error) {
	n, err := v.number(name)
	if err != nil {
		return head{}, err
	}
	return v.head(n)
}

// lane returns a writer's lane; the zero lane if it has written nothing.
func (v *view) lane(h head, w ledger.Writer) (lane, error) {
	v.key = appendWriter(v.key[:0], h.number, w)
	value, err := v.get(writersBucket, v.key)
	if err != nil || value == nil {
		return lane{}, err
	}
	l, err := parseLane(value)
	if err != nil {
		return lane{}, damaged(writersBucket, v.key, "%v", err)
	}
	if l.id == h.writer {
		return h.lane(), nil
	}
	return l, nil
}

// total returns the stored total of the mechanism at index, 0 for a new one.
func (v *view) total(h head, index int) (uint64, error) {
	switch {
	case index < 0 || index >= h.distinct:
		return 0, nil
	case index < inlineTotals:
		return h.totals[index], nil
	}
	v.key = appendIndex(v.key[:0], h.number, index)
	return must(v, countsBucket, v.key, parseUint64)
}

// logged is a record of the log.
type logged struct {
	number   uint64 // of its ledger
	previous ledger.Hash
	raw      []byte // valid within the transaction only
}

func (v *view) logged(key uint64) (logged, error) {
	v.key = appendNumber(v.key[:0], key)
	return must(v, logBucket, v.key, func(b []byte) (l logged, err error) {
		if len(b) < logHeaderSize {
			return l, fmt.Errorf("%d bytes; at least %d", len(b), logHeaderSize)
		}
		l.number, _ = parseUint64(b[:8])
		copy(l.previous[:], b[8:])
		l.raw = b[logHeaderSize:]
		return l, nil
	})
}

// genesis returns the first record of a ledger's chain.
func (v *view) genesis(number uint64) (g ledger.Genesis, raw []byte, hash ledger.Hash, err error) {
	l, err := v.logged(number)
	if err != nil {
		return g, nil, hash, err
	}
	if l.number != number || l.previous != (ledger.Hash{}) {
		return g, nil, hash, damaged(logBucket, numberKey(number), "a record of ledger %d, not a genesis", l.number)
	}
	if g, err = record.UnmarshalGenesis(l.raw); err != nil {
		return g, nil, hash, damagedBytes(number, err)
	}
	return g, bytes.Clone(l.raw), record.GenesisHash(l.raw), nil
}

// summary completes a head's summary.
func (v *view) summary(name string, h head) (ledger.Summary, error) {
	g, _, hash, err := v.genesis(h.number)
	if err != nil {
		return ledger.Summary{}, err
	}
	if g.Spec.Name != name {
		return ledger.Summary{}, damaged(ledgersBucket, []byte(name),
			"number %d is of ledger %q", h.number, g.Spec.Name)
	}
	if h.at.Position == 0 && h.at.Hash != hash {
		return ledger.Summary{}, damaged(headsBucket, numberKey(h.number),
			"head %x, the genesis has %x", h.at.Hash, hash)
	}
	s := h.summary()
	s.Genesis = g
	return s, nil
}

// linked is an entry with the log keys of those before it.
type linked struct {
	ledger.Record
	previousInLedger, previousOfWriter uint64
}

// entry reads an entry of a ledger, and computes its hash.
func (v *view) entry(number, key uint64) (linked, error) {
	l, err := v.logged(key)
	if err != nil {
		return linked{}, err
	}
	if l.number != number {
		return linked{}, damaged(logBucket, numberKey(key), "a record of ledger %d; want one of %d", l.number, number)
	}
	var r linked
	r.Entry, r.previousInLedger, r.previousOfWriter, err = record.UnmarshalEntry(l.raw)
	if err != nil {
		return linked{}, damagedBytes(key, err)
	}
	if r.previousInLedger >= key || r.previousOfWriter >= key {
		return linked{}, damaged(logBucket, numberKey(key), "earlier entries at %d and %d",
			r.previousInLedger, r.previousOfWriter)
	}
	r.Previous = l.previous
	r.Raw = bytes.Clone(l.raw)
	r.Hash = record.EntryHash(l.previous, l.raw)
	return r, nil
}

// rowsOf calls f with a ledger's rows of a bucket whose keys are ledger number and
// position, in the order of positions, verified.
func (v *view) rowsOf(b bucket, number uint64, f func(key, value []byte) error) error {
	prefix := numberKey(number)
	for next := prefix; ; {
		key, stored, err := v.from(b, next)
		if err != nil || !bytes.HasPrefix(key, prefix) {
			return err
		}
		next = append(append(next[:0:0], key...), 0)
		if len(key) != 16 {
			return damaged(b, key, "a key of %d bytes; want 16", len(key))
		}
		value, err := unseal(b, key, stored)
		if err != nil {
			return err
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
}
