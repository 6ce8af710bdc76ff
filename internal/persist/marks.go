// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// stop marks this transaction as the one that closes the store.
func (w *writing) stop() { w.stageUint64(rows.MetaBucket, rows.StoppedKey, uint64(w.Tx.ID())) }

// markBackup marks a copy of a store as a backup. f is the copy, which may have no name any more; markBackup closes it.
func markBackup(name string, f *os.File, now time.Time) (size int64, err error) {
	db, err := bolt.Open(name, 0, &bolt.Options{
		NoSync: true, NoGrowSync: true, FreelistType: bolt.FreelistMapType,
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return f, nil },
	})
	if err != nil {
		return 0, err
	}
	size, err = rows.MarkBackup(db, now)
	return size, errors.Join(err, db.Close())
}

// Keys returns the keys that sign heads, in the order in which the store was bound to them.
func (s *Store) Keys() (keys []rows.BoundKey, err error) {
	err = s.view(func(v *rows.View) error {
		keys, err = v.Keys()
		return err
	})
	return keys, err
}

// BindKey makes a key the one that signs the store's heads from now on, durably.
func (s *Store) BindKey(k rows.BoundKey) error {
	return s.change(func(w *writing) error { return w.stageBoundKey(k) })
}

func (w *writing) stageBoundKey(k rows.BoundKey) error {
	keys, err := w.Keys()
	if err != nil {
		return err
	}
	w.stage(rows.MetaBucket, rows.KeyRow(len(keys)), k.Append(w.value(8+len(k.Fingerprint))))
	return nil
}

// restored turns a backup into a store of its own: it removes the marks, and the next key that
// is used will be the store's own.
func (w *writing) restored(id string, now time.Time) error {
	w.stageID(id)
	for _, key := range [][]byte{rows.BackupKey, rows.LeftKey} {
		w.staged = append(w.staged, row{bucket: rows.MetaBucket, key: key})
	}
	if keys, err := w.Keys(); err != nil || len(keys) == 0 {
		return err
	}
	return w.stageBoundKey(rows.BoundKey{Since: now})
}
