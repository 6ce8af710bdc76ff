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
	t, found, err := may(v, b, key, parse)
	if err == nil && !found {
		err = Damaged(b, key, "missing")
	}
	return t, err
}

// may reads a row that may exist, and parses it.
func may[T any](v *View, b Bucket, key []byte, parse func([]byte) (T, error)) (t T, found bool, err error) {
	stored, err := v.Stored(b, key)
	if stored == nil || err != nil {
		return t, false, err
	}
	t, err = Parse(b, key, stored, parse)
	return t, true, err
}

// Number returns a ledger's number, or ErrNotFound.
func (v *View) Number(name string) (uint64, error) {
	v.key = append(v.key[:0], name...)
	number, found, err := may(v, LedgersBucket, v.key, ParseUint64)
	if err == nil && !found {
		err = fmt.Errorf("ledger %s: %w", name, ledger.ErrNotFound)
	}
	return number, err
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
	l, found, err := may(v, WritersBucket, v.key, ParseLane)
	if found && l.First == h.Writer {
		l = h.Lane()
	}
	return l, err
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
		if _, _, err := BlockIn(b, key); err != nil {
			return err
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

// Each calls f with a ledger's rows of a bucket from a key on, as they are stored, without checking the pages: of a
// file that was checked as a whole.
func (v *View) Each(b Bucket, from []byte, f func(key, stored []byte) error) error {
	bb, err := v.Bucket(b)
	if err != nil {
		return err
	}
	c, prefix := bb.Cursor(), from[:8]
	for key, stored := c.Seek(from); bytes.HasPrefix(key, prefix); key, stored = c.Next() {
		if err := f(key, stored); err != nil {
			return err
		}
	}
	return nil
}

// EachLedger calls f with all ledgers by name, as Each does.
func (v *View) EachLedger(f func(name string, number uint64) error) error {
	bb, err := v.Bucket(LedgersBucket)
	if err != nil {
		return err
	}
	return bb.ForEach(func(name, stored []byte) error {
		number, err := Parse(LedgersBucket, name, stored, ParseUint64)
		if err != nil {
			return err
		}
		return f(string(name), number)
	})
}
