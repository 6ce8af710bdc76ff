package persist

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

// These rows of the meta bucket say what a file is. Files of earlier versions have none, and
// programs of earlier versions ignore them.
var (
	// stoppedKey → the transaction (8 bytes) that closed the store in order. The one after
	// it changes nothing; any later one makes the row say nothing about the present.
	stoppedKey = []byte("stopped")
	// backupKey → the time (8 bytes, Unix nanoseconds) at which the file was made as a
	// backup. Only a restore removes it.
	backupKey = []byte("backup")
	// keyPrefix, number (4 bytes) → time (8 bytes, Unix nanoseconds), fingerprint (32) of
	// the key that signs heads from then on. Rows are only added.
	keyPrefix = []byte("key/")
)

// BoundKey is a key that signs a store's heads.
type BoundKey struct {
	// Fingerprint is a SHA-256 of the public key; zero after a restore: the next key
	// that the store is used with will be its own.
	Fingerprint [sha256.Size]byte
	Since       time.Time
}

// stopped reports whether this is the state that an orderly close leaves.
func (v *view) stopped() (bool, error) {
	last, err := v.mark(stoppedKey)
	tx := uint64(v.tx.ID())
	return last > 0 && (tx == last || tx == last+1), err
}

// settled reports whether both root pages name that state.
func (v *view) settled() (bool, error) {
	last, err := v.mark(stoppedKey)
	return last > 0 && uint64(v.tx.ID()) == last+1, err
}

// mark returns the number in a row of the meta bucket, or 0 if there is no such row.
func (v *view) mark(key []byte) (uint64, error) {
	value, err := v.get(metaBucket, key)
	if err != nil || value == nil {
		return 0, err
	}
	n, err := parseUint64(value)
	if err != nil {
		return 0, damaged(metaBucket, key, "%v", err)
	}
	return n, nil
}

// stop marks this transaction as the one that closes the store.
func (w *writing) stop() { w.stageUint64(metaBucket, stoppedKey, uint64(w.tx.ID())) }

// checkMarks verifies every row of the meta bucket, because a damaged key would hide its row.
func (v *view) checkMarks() error {
	bb, err := v.bucket(metaBucket)
	if err != nil {
		return err
	}
	return bb.ForEach(func(key, stored []byte) error {
		_, err := unseal(metaBucket, key, stored)
		return err
	})
}

// checkBackup returns an error if the file at path is a backup that nobody has restored.
func (v *view) checkBackup(path string) error {
	made, err := v.mark(backupKey)
	if err != nil || made == 0 {
		return err
	}
	return fmt.Errorf("it is a backup, made %s: what was charged since would be forgotten, and the store that it was "+
		"made of may go on; \"accountantd restore %s --data NEWDIR\" makes a store of it",
		time.Unix(0, int64(made)).UTC().Format(time.RFC3339), path)
}

// markBackup marks a copy of a store as a backup, in both root pages: it stays a backup if
// either one is lost. f is the copy, which may have no name any more; markBackup closes it.
func markBackup(name string, f *os.File, now time.Time) (size int64, err error) {
	db, err := bolt.Open(name, 0, &bolt.Options{
		NoSync: true, NoGrowSync: true, FreelistType: bolt.FreelistMapType,
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return f, nil },
	})
	if err != nil {
		return 0, err
	}
	for range 2 {
		err = errors.Join(err, db.Update(func(tx *bolt.Tx) error {
			w := &writing{view: view{tx: tx}, arena: &arena{}}
			w.stageUint64(metaBucket, backupKey, uint64(now.UnixNano()))
			return w.put()
		}))
	}
	err = errors.Join(err, db.View(func(tx *bolt.Tx) error {
		size = tx.Size()
		return nil
	}))
	return size, errors.Join(err, db.Close())
}

// Keys returns the keys that sign heads, in the order in which the store was bound to them.
func (s *Store) Keys() (keys []BoundKey, err error) {
	err = s.view(func(v *view) error {
		keys, err = v.keys()
		return err
	})
	return keys, err
}

func (v *view) keys() (keys []BoundKey, err error) {
	bb, err := v.bucket(metaBucket)
	if err != nil {
		return nil, err
	}
	c := bb.Cursor()
	for key, stored := c.Seek(keyPrefix); bytes.HasPrefix(key, keyPrefix); key, stored = c.Next() {
		value, err := unseal(metaBucket, key, stored)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(key, keyRow(len(keys))) || len(value) != 8+sha256.Size {
			return nil, damaged(metaBucket, key, "%d bytes; want those of key %d", len(value), len(keys))
		}
		keys = append(keys, BoundKey{
			Fingerprint: [sha256.Size]byte(value[8:]),
			Since:       time.Unix(0, int64(binary.BigEndian.Uint64(value))).UTC(),
		})
	}
	return keys, nil
}

func keyRow(n int) []byte { return binary.BigEndian.AppendUint32(bytes.Clone(keyPrefix), uint32(n)) }

// BindKey makes a key the one that signs the store's heads from now on, durably.
func (s *Store) BindKey(k BoundKey) error {
	return s.change(func(w *writing) error { return w.stageBoundKey(k) })
}

func (w *writing) stageBoundKey(k BoundKey) error {
	keys, err := w.keys()
	if err != nil {
		return err
	}
	value := appendNumber(w.value(8+sha256.Size), uint64(k.Since.UnixNano()))
	w.stage(metaBucket, keyRow(len(keys)), append(value, k.Fingerprint[:]...))
	return nil
}

// restored turns a backup into a store of its own: it removes the mark, and the next key that
// is used will be the store's own.
func (w *writing) restored(id string, now time.Time) error {
	w.stageID(id)
	w.staged = append(w.staged, row{bucket: metaBucket, key: backupKey})
	if keys, err := w.keys(); err != nil || len(keys) == 0 {
		return err
	}
	return w.stageBoundKey(BoundKey{Since: now})
}
