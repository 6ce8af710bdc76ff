// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/record"
)

// View reads rows within one transaction. Everything is verified when it is read, and an
// inconsistency is ErrDamaged.
type View struct {
	Tx      *bolt.Tx
	opened  [Buckets]*bolt.Bucket
	cursors [Buckets]*bolt.Cursor // for get: they keep their memory
	key     []byte                // room for the key of one get
	begins  uint64                // the tail's first log key, or 0

	File  io.ReaderAt  // to check pages; nil: they are not checked
	Paths *pages.Paths // of this transaction, or to be reset for it
	begun bool         // paths are of this transaction

	missing bool // something may have been found to be missing

	// Fetch reads a block of a segment; nil: AwayError.Fetch does, which nothing ends.
	Fetch func(*AwayError) ([]byte, error)
	// Fetched are blocks of segments that were read before the transaction. With it, one that is not among them is an
	// AwayError, since a transaction should not wait for another machine; nil: blocks are read when they are needed.
	Fetched map[cold.Ref][]byte

	block Block // of a segment that was parsed last
}

func (v *View) Bucket(b Bucket) (*bolt.Bucket, error) {
	if v.opened[b] == nil {
		v.opened[b] = v.Tx.Bucket([]byte(BucketNames[b]))
		if v.opened[b] == nil {
			return nil, fmt.Errorf("%w: bucket %s is missing", ledger.ErrDamaged, b)
		}
	}
	return v.opened[b], nil
}

// Get returns a verified value, which is valid only within the transaction, or nil if there is
// no such row.
func (v *View) Get(b Bucket, key []byte) ([]byte, error) {
	stored, err := v.Stored(b, key)
	if stored == nil || err != nil {
		return nil, err
	}
	return Unseal(b, key, stored)
}

// Stored is Get without verifying the value.
func (v *View) Stored(b Bucket, key []byte) ([]byte, error) {
	if err := v.way(b, key); err != nil {
		return nil, err
	}
	c, err := v.cursor(b)
	if err != nil {
		return nil, err
	}
	found, stored := c.Seek(key)
	if !bytes.Equal(found, key) {
		return nil, v.Proven(b, key)
	}
	return stored, nil
}

func (v *View) cursor(b Bucket) (*bolt.Cursor, error) {
	if v.cursors[b] == nil {
		bb, err := v.Bucket(b)
		if err != nil {
			return nil, err
		}
		v.cursors[b] = bb.Cursor()
	}
	return v.cursors[b], nil
}

// Must reads a row that has to exist, and parses it.
func Must[T any](v *View, b Bucket, key []byte, parse func([]byte) (T, error)) (T, error) {
	var zero T
	value, err := v.Get(b, key)
	if err != nil {
		return zero, err
	}
	if value == nil {
		return zero, Damaged(b, key, "missing")
	}
	t, err := parse(value)
	if err != nil {
		return zero, Damaged(b, key, "%v", err)
	}
	return t, nil
}

// Number returns a ledger's number, or ErrNotFound.
func (v *View) Number(name string) (uint64, error) {
	v.key = append(v.key[:0], name...)
	value, err := v.Get(LedgersBucket, v.key)
	if err != nil {
		return 0, err
	}
	if value == nil {
		return 0, fmt.Errorf("ledger %s: %w", name, ledger.ErrNotFound)
	}
	return NumberIn(LedgersBucket, v.key, value)
}

func (v *View) Head(number uint64) (Head, error) {
	v.key = AppendNumber(v.key[:0], number)
	return Must(v, HeadsBucket, v.key, func(b []byte) (Head, error) { return ParseHead(number, b) })
}

// Find returns a ledger's head by name.
func (v *View) Find(name string) (Head, error) {
	n, err := v.Number(name)
	if err != nil {
		return Head{}, err
	}
	return v.Head(n)
}

// Lane returns a writer's lane; the zero lane if it has written nothing.
func (v *View) Lane(h Head, w ledger.Writer) (Lane, error) {
	if w.Single() {
		return v.Singles(h).Lane(w)
	}
	v.key = AppendWriter(v.key[:0], h.Number, w)
	value, err := v.Get(WritersBucket, v.key)
	if err != nil || value == nil {
		return Lane{}, err
	}
	l, err := ParseLane(value)
	if err != nil {
		return Lane{}, Damaged(WritersBucket, v.key, "%v", err)
	}
	if l.First == h.Writer {
		return h.Lane(), nil
	}
	return l, nil
}

// Singles reads entries of request IDs.
func (v *View) Singles(h Head) Singles {
	return Singles{v.Log(h), func(hash uint64) (SinglesBlock, error) { return v.SinglesBlock(h.Number, hash) }}
}

// Total returns the stored total of the mechanism at index, 0 for a new one.
func (v *View) Total(h Head, index int) (uint64, error) {
	switch {
	case index < 0 || index >= h.Distinct:
		return 0, nil
	case index < InlineTotals:
		return h.Totals[index], nil
	}
	v.key = appendIndex(v.key[:0], h.Number, index)
	return Must(v, CountsBucket, v.key, ParseUint64)
}

// genesis returns the bytes of the first record of a ledger's chain, which are valid only within the transaction.
func (v *View) genesis(number uint64) ([]byte, error) {
	v.key = AppendNumber(v.key[:0], number)
	return Must(v, GenesesBucket, v.key, func(b []byte) ([]byte, error) { return b, nil })
}

// Genesis returns the first record of a ledger's chain.
func (v *View) Genesis(number uint64) (g ledger.Genesis, raw []byte, hash ledger.Hash, err error) {
	stored, err := v.genesis(number)
	if err == nil {
		g, err = parseGenesis(number, stored)
	}
	if err != nil {
		return g, nil, hash, err
	}
	return g, bytes.Clone(stored), record.GenesisHash(stored), nil
}

// Summary completes a head's summary.
func (v *View) Summary(name string, h Head) (ledger.Summary, error) {
	stored, err := v.genesis(h.Number)
	if err != nil {
		return ledger.Summary{}, err
	}
	return h.SummaryOf(name, stored)
}

// rowsOf calls f with a ledger's rows of a bucket whose keys are ledger number and
// position, in the order of positions, verified.
func (v *View) rowsOf(b Bucket, number uint64, f func(key, value []byte) error) error {
	prefix := NumberKey(number)
	for next := prefix; ; {
		key, stored, err := v.From(b, next)
		if err != nil || !bytes.HasPrefix(key, prefix) {
			return err
		}
		next = append(append(next[:0:0], key...), 0)
		if len(key) != 16 {
			return Damaged(b, key, "a key of %d bytes; want 16", len(key))
		}
		value, err := Unseal(b, key, stored)
		if err != nil {
			return err
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
}
