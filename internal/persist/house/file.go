// SPDX-License-Identifier: Apache-2.0

package house

import (
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// together is how many bytes one transaction of a File writes, about.
const together = 8 << 20

// File is a backup that is written row by row.
type File struct {
	db    *bolt.DB
	tx    *bolt.Tx
	bytes int // in tx
}

// Create begins a backup in a file of a temporary directory, which TMPDIR names. The file is not
// synced: nobody uses it before it was sent to its end.
func Create() (*File, error) {
	f, err := os.CreateTemp("", "accountant-backup-*.db")
	if err != nil {
		return nil, err
	}
	w := &File{}
	if err := f.Close(); err != nil {
		return nil, err
	}
	w.db, err = bolt.Open(f.Name(), 0o600, &bolt.Options{NoSync: true, NoGrowSync: true,
		FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	if w.tx, err = w.db.Begin(true); err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	for b := range rows.Buckets {
		if _, err := w.tx.CreateBucket([]byte(b.String())); err != nil {
			return nil, errors.Join(err, w.Discard())
		}
	}
	return w, nil
}

// Put writes a row whose value is sealed.
func (w *File) Put(b rows.Bucket, key, stored []byte) error {
	bucket := w.tx.Bucket([]byte(b.String()))
	bucket.FillPercent = 0.9 // nearly all rows come in the order of their keys
	if err := bucket.Put(key, stored); err != nil {
		return fmt.Errorf("bucket %s, key %s: %w", b, rows.KeyText(b, key), err)
	}
	if w.bytes += len(key) + len(stored); w.bytes < together {
		return nil
	}
	return w.commit()
}

// Set writes a row after sealing its value.
func (w *File) Set(b rows.Bucket, key, value []byte) error {
	return w.Put(b, key, rows.Seal(b, key, append(make([]byte, rows.ChecksumSize), value...)))
}

func (w *File) commit() (err error) {
	if err := w.tx.Commit(); err != nil {
		return err
	}
	w.bytes = 0
	w.tx, err = w.db.Begin(true)
	return err
}

// Finish marks the file as a backup, and returns its path.
func (w *File) Finish(now time.Time) (path string, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Discard())
		}
	}()
	if err := w.tx.Commit(); err != nil {
		return "", err
	}
	size, err := rows.MarkBackup(w.db, now)
	if err != nil {
		return "", err
	}
	path = w.db.Path()
	return path, errors.Join(w.db.Close(), os.Truncate(path, size))
}

// Discard gives the file up.
func (w *File) Discard() error {
	path := w.db.Path() // empty if it is closed already
	if w.tx != nil {
		_ = w.tx.Rollback() // it may have ended
	}
	err := w.db.Close()
	if e := os.Remove(path); !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}
