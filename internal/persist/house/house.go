// SPDX-License-Identifier: Apache-2.0

// Package house carries ledgers from one kind of store to another. What is carried is a file as the
// bbolt store keeps it (package rows): a backup of every store is such a file, and every store can be
// filled from one. The rows stay as they are, byte by byte, so hashes and receipts do.
package house

import (
	"errors"
	"fmt"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// Read shows a file that was verified.
func Read(path string, read func(*rows.View) error) error {
	return rows.OpenToRead(path, 0, func(tx *bolt.Tx, _ io.ReaderAt) error { return read(&rows.View{Tx: tx}) })
}

// Open opens a file that Finish has made. Closing it removes it.
func Open(path string) (content io.ReadCloser, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	_ = os.Remove(path) // not everywhere: Close tries again
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return Removed{f}, info.Size(), nil
}

// Removed is a file that is removed when it is closed.
type Removed struct{ *os.File }

// Close implements io.Closer.
func (r Removed) Close() error {
	err := r.File.Close()
	if e := os.Remove(r.Name()); !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// Each calls f with every row of a bucket, in the order of keys, also with those of packs that lie in segments. The
// bytes are valid during the call.
func Each(v *rows.View, b rows.Bucket, f func(key, stored []byte) error) error {
	bucket, err := v.Bucket(b)
	if err != nil {
		return err
	}
	if b != rows.PacksBucket {
		return bucket.ForEach(f)
	}
	return bucket.ForEach(func(key, stored []byte) error { return v.EachPackRow(key, stored, f) })
}

// Contents reads all of a store, checking each ledger's chain up to its head, and returns a digest of
// it.
func Contents(s ledger.Store) (c record.Contents, err error) {
	for sum, err := range ledger.All(s, "", "") {
		if err != nil {
			return c, err
		}
		head, err := chain(s, sum)
		if err != nil {
			return c, err
		}
		c.Add(sum.Genesis.Spec.Name, head)
	}
	return c, nil
}

// chain reads a ledger from its genesis on, and returns its head.
func chain(s ledger.Store, sum ledger.Summary) (head ledger.Head, err error) {
	const page = 1000
	name := sum.Genesis.Spec.Name
	raw, _, err := s.GenesisRecord(name)
	if err != nil {
		return head, err
	}
	head.Hash = record.GenesisHash(raw)
	for head.Position < sum.Head.Position {
		list, err := s.Records(name, head.Position+1, page)
		if err != nil {
			return head, err
		}
		for _, r := range list {
			head = ledger.Head{Position: head.Position + 1, Hash: record.EntryHash(head.Hash, r.Raw)}
		}
		if len(list) == 0 {
			break
		}
	}
	if head != sum.Head {
		return head, fmt.Errorf("%w: ledger %s: its entries end at %d with hash %x; its head is %d with %x",
			ledger.ErrDamaged, name, head.Position, head.Hash, sum.Head.Position, sum.Head.Hash)
	}
	return head, nil
}
