package persist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
)

// openToRead opens a file that no other process writes, with bbolt and for reading its
// pages without bbolt, and calls read with both. The file is only read.
func openToRead(path string, timeout time.Duration, read func(tx *bolt.Tx, file io.ReaderAt) error) (err error) {
	var db *bolt.DB
	err = guard(func() (err error) {
		db, err = bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: timeout})
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("%w (waited %v)", errInUse, timeout)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNoPages, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return guard(func() error {
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
	errInUse   = errors.New("another process has it open")
	errNoPages = errors.New("bbolt cannot open it")
)

// pagesOf returns the file as a transaction sees it.
func pagesOf(tx *bolt.Tx, file io.ReaderAt) pages.File {
	size := int64(tx.DB().Info().PageSize)
	return pages.File{Reader: file, PageSize: size, Pages: uint64(tx.Size() / size),
		Root: uint64(tx.Cursor().Bucket().Root())}
}

// checkPages checks the structure of a file. Its findings are ErrDamaged.
func checkPages(tx *bolt.Tx, file io.ReaderAt, c pages.Check) error {
	c.Transaction = uint64(tx.ID())
	f := pagesOf(tx, file)
	return structural(f.Check(c))
}

// structural turns damage of pages into ErrDamaged.
func structural(err error) error {
	var d *pages.Damage
	if errors.As(err, &d) {
		return fmt.Errorf("%w: %w", ledger.ErrDamaged, err)
	}
	return err
}

// checkBeforeOpen checks what bbolt relies on when it opens a file to write, and when it
// rewrites a page: the list of free pages, and that no page in use is in it; every branch
// page, and that no page is led to twice; and the leaves, apart from two large buckets. Of
// the log only the last leaf is ever rewritten, which (*view).next checks; leaves of
// writers are checked whenever they are rewritten (proven).
func checkBeforeOpen(path string, timeout time.Duration) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil // a new one
	}
	if err != nil {
		return err
	}
	err = openToRead(path, timeout, func(tx *bolt.Tx, file io.ReaderAt) error {
		return checkPages(tx, file, pages.Check{Skip: func(name []byte) bool {
			return string(name) == logBucket.String() || string(name) == writersBucket.String()
		}})
	})
	if errors.Is(err, errNoPages) {
		return nil // opening it says why
	}
	return err
}

// checkRow is a pages.Check's Row that compares checksums.
func checkRow(name, key, stored []byte) error {
	for b := range buckets {
		if b.String() == string(name) {
			_, err := unseal(b, key, stored)
			return err
		}
	}
	return nil // a bucket of a later program
}

// untilDone is a pages.Check's Pace that ends with a context.
func untilDone(ctx context.Context) func(int64) error {
	return func(int64) error { return ctx.Err() }
}
