// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unsafe"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
)

// OpenToRead opens a file that no other process writes, with bbolt and for reading its
// pages without bbolt, and calls read with both. The file is only read.
func OpenToRead(path string, timeout time.Duration, read func(tx *bolt.Tx, file io.ReaderAt) error) (err error) {
	var db *bolt.DB
	err = Guard(func() (err error) {
		db, err = bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: timeout})
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("%w (waited %v)", ErrInUse, timeout)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoPages, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return Guard(func() error {
		return db.View(func(tx *bolt.Tx) error {
			info, err := file.Stat()
			if err != nil {
				return err
			}
			if size := tx.Size(); size > info.Size() {
				return fmt.Errorf("%w: the file has %d bytes, its pages need %d: it was cut short",
					ledger.ErrDamaged, info.Size(), size)
			}
			return read(tx, file)
		})
	})
}

var (
	ErrInUse   = errors.New("another process has it open")
	ErrNoPages = errors.New("bbolt cannot open it")
)

// Pages returns the file as a transaction sees it.
func Pages(tx *bolt.Tx, file io.ReaderAt) pages.File {
	size := int64(tx.DB().Info().PageSize)
	return pages.File{Reader: file, PageSize: size, Pages: uint64(tx.Size() / size),
		Root: uint64(tx.Cursor().Bucket().Root())}
}

// mapped returns a file's pages where bbolt has them in memory. They stay there until the transaction ends or, if it
// writes, until it is committed.
func mapped(tx *bolt.Tx) []byte {
	info := tx.DB().Info()
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&info.Data)), tx.Size())
}

// CheckPages checks the structure of a file. Its findings are ErrDamaged.
func CheckPages(tx *bolt.Tx, file io.ReaderAt, c pages.Check) error {
	c.Transaction = uint64(tx.ID())
	f := Pages(tx, file)
	return AsDamage(f.Check(c))
}

// AsDamage turns damage of pages into ErrDamaged.
func AsDamage(err error) error {
	if err == nil { // as nearly always; d takes room on the heap
		return nil
	}
	var d *pages.Damage
	if errors.As(err, &d) {
		return fmt.Errorf("%w: %w", ledger.ErrDamaged, err)
	}
	return err
}

// CheckRow is a pages.Check's Row that compares checksums. Whoever reads a checkpoint does without one that is damaged.
func CheckRow(name, key, stored []byte) error {
	for b := range CheckpointsBucket {
		if b.String() == string(name) {
			_, err := Unseal(b, key, stored)
			return err
		}
	}
	return nil // a bucket of a later program
}
