// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// LeftName is that of the mark of a store whose ledgers were moved away, in a file and in a database.
const LeftName = "left"

// These rows of the meta bucket say what a file is. They are there where they hold.
var (
	// StoppedKey → the transaction (8 bytes) that closed the store in order. The one after
	// it changes nothing; any later one makes the row say nothing about the present.
	StoppedKey = []byte("stopped")
	// BackupKey → the time (8 bytes, Unix nanoseconds) at which the file was made as a
	// backup. Only a restore removes it.
	BackupKey = []byte("backup")
	// LeftKey → the time (8 bytes, Unix nanoseconds) from which on the store's ledgers go on
	// elsewhere, whether they have arrived (1 byte), and where. Only a store that is made of the
	// file is without it.
	LeftKey = []byte(LeftName)
	// GapsKey → the newest log key (8 bytes) of a store that was in a database, whose daemons leave gaps
	// between the log keys.
	GapsKey = []byte("gaps")
)

// Stopped reports whether this is the state that an orderly close leaves.
func (v *View) Stopped() (bool, error) {
	last, err := v.mark(StoppedKey)
	tx := uint64(v.Tx.ID())
	return last > 0 && (tx == last || tx == last+1), err
}

// Settled reports whether both root pages name that state.
func (v *View) Settled() (bool, error) {
	last, err := v.mark(StoppedKey)
	return last > 0 && uint64(v.Tx.ID()) == last+1, err
}

// mark returns the number in a row of the meta bucket, or 0 if there is no such row.
func (v *View) mark(key []byte) (uint64, error) {
	n, _, err := may(v, MetaBucket, key, ParseUint64)
	return n, err
}

// Gaps reports whether the keys of the log may have gaps.
func (v *View) Gaps() (bool, error) {
	value, err := v.Get(MetaBucket, GapsKey)
	return value != nil, err
}

// checkMarks verifies every row of the meta bucket, because a damaged key would hide its row.
func (v *View) checkMarks() error {
	bb, err := v.Bucket(MetaBucket)
	if err != nil {
		return err
	}
	return bb.ForEach(func(key, stored []byte) error {
		_, err := Unseal(MetaBucket, key, stored)
		return err
	})
}

// InBoth changes the meta bucket of a file twice, so that both root pages have the change: it holds if either one is
// lost.
func InBoth(db *bolt.DB, change func(meta *bolt.Bucket) error) error {
	for range 2 {
		err := db.Update(func(tx *bolt.Tx) error { return change(tx.Bucket([]byte(MetaBucket.String()))) })
		if err != nil {
			return err
		}
	}
	return nil
}

// PutMark writes a row of the meta bucket.
func PutMark(meta *bolt.Bucket, key, value []byte) error {
	return meta.Put(key, Seal(MetaBucket, key, append(make([]byte, ChecksumSize), value...)))
}

// MarkBackup marks a file as a backup, and returns how many bytes of it are used.
func MarkBackup(db *bolt.DB, now time.Time) (size int64, err error) {
	err = InBoth(db, func(meta *bolt.Bucket) error {
		return PutMark(meta, BackupKey, NumberKey(uint64(now.UnixNano())))
	})
	return size, errors.Join(err, db.View(func(tx *bolt.Tx) error {
		size = tx.Size()
		return nil
	}))
}

// Left says that the ledgers of a store were moved away from it.
type Left struct {
	At time.Time
	To string // the directory or the database where they go on
	// Arrived: all of them are there. If that store is gone, another one from here would forget what was charged there.
	Arrived bool
}

// Append adds the row's bytes.
func (l Left) Append(b []byte) []byte {
	arrived := byte(0)
	if l.Arrived {
		arrived = 1
	}
	return append(append(AppendNumber(b, uint64(l.At.UnixNano())), arrived), l.To...)
}

// Left returns the mark of a file whose ledgers were moved away, or nil.
func (v *View) Left() (*Left, error) {
	l, found, err := may(v, MetaBucket, LeftKey, ParseLeft)
	if err != nil || !found {
		return nil, err
	}
	return &l, nil
}

// ParseLeft reads the row's bytes.
func ParseLeft(b []byte) (Left, error) {
	if len(b) < 9 || b[8] > 1 {
		return Left{}, fmt.Errorf("%d bytes; want at least 9, of which the ninth is 0 or 1", len(b))
	}
	return Left{time.Unix(0, int64(binary.BigEndian.Uint64(b))).UTC(), string(b[9:]), b[8] == 1}, nil
}

// Error says that no daemon may use the store.
func (l *Left) Error() string {
	return fmt.Sprintf("its ledgers were moved to %s, at %s, and go on there: use that store. If the move was cut "+
		"off, run \"accountantd move\" again with the same two places", l.To, l.At.Format(time.RFC3339))
}

// CheckBackup returns an error if the file at path is a backup that nobody has restored, or a store
// that was moved away.
func (v *View) CheckBackup(path string) error {
	if left, err := v.Left(); err != nil || left != nil {
		return cmp.Or(err, error(left))
	}
	made, err := v.mark(BackupKey)
	if err != nil || made == 0 {
		return err
	}
	return fmt.Errorf("it is a backup, made %s: what was charged since would be forgotten, and the store that it was "+
		"made of may go on; \"accountantd restore %s --data NEWDIR\" makes a store of it",
		time.Unix(0, int64(made)).UTC().Format(time.RFC3339), path)
}
