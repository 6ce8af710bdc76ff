// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"encoding/binary"
	"fmt"
	"time"
)

// FinalName is that of the mark of a store that was moved away, in a file and in a database.
const FinalName = "final"

// These rows of the meta bucket say what a file is. They are there where they hold.
var (
	// StoppedKey → the transaction (8 bytes) that closed the store in order. The one after
	// it changes nothing; any later one makes the row say nothing about the present.
	StoppedKey = []byte("stopped")
	// BackupKey → the time (8 bytes, Unix nanoseconds) at which the file was made as a
	// backup. Only a restore removes it.
	BackupKey = []byte("backup")
	// FinalKey → the time (8 bytes, Unix nanoseconds) at which the store was moved away. In a
	// backup it means that the ledgers go on from there without a gap; in a store, that they go on
	// elsewhere. Only a restore removes it.
	FinalKey = []byte(FinalName)
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
	value, err := v.Get(MetaBucket, key)
	if err != nil || value == nil {
		return 0, err
	}
	return NumberIn(MetaBucket, key, value)
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

// Final says that the ledgers of a file were moved away from it.
type Final struct{ At time.Time }

// Append adds the row's bytes.
func (f Final) Append(b []byte) []byte {
	return AppendNumber(b, uint64(f.At.UnixNano()))
}

// Final returns the mark of a file whose ledgers were moved away, or nil.
func (v *View) Final() (*Final, error) {
	value, err := v.Get(MetaBucket, FinalKey)
	if err != nil || value == nil {
		return nil, err
	}
	f, err := ParseFinal(value)
	if err != nil {
		return nil, Damaged(MetaBucket, FinalKey, "%v", err)
	}
	return &f, nil
}

// ParseFinal reads the row's bytes.
func ParseFinal(b []byte) (Final, error) {
	if len(b) != 8 {
		return Final{}, fmt.Errorf("%d bytes; want 8", len(b))
	}
	return Final{time.Unix(0, int64(binary.BigEndian.Uint64(b))).UTC()}, nil
}

// Moved says that no daemon may use the file at path, because its ledgers go on elsewhere.
func (f *Final) Moved(path string) error {
	return fmt.Errorf("its ledgers were moved away by a final backup, made %s, and go on in the store that was made "+
		"of it: use that one. If there is none, because the move did not succeed, \"accountantd restore %s\" with "+
		"--data NEWDIR or --store makes it of this file, with nothing lost; do so for one file only",
		f.At.Format(time.RFC3339), path)
}

// CheckBackup returns an error if the file at path is a backup that nobody has restored, or a store
// that was moved away.
func (v *View) CheckBackup(path string) error {
	made, err := v.mark(BackupKey)
	if err != nil {
		return err
	}
	switch final, err := v.Final(); {
	case err != nil:
		return err
	case final != nil && made == 0:
		return final.Moved(path)
	case final != nil:
		return fmt.Errorf("it is a final backup, made %s: \"accountantd restore %s\" with --data NEWDIR or --store "+
			"makes a store of it, which goes on where it ends", final.At.Format(time.RFC3339), path)
	case made == 0:
		return nil
	}
	return fmt.Errorf("it is a backup, made %s: what was charged since would be forgotten, and the store that it was "+
		"made of may go on; \"accountantd restore %s --data NEWDIR\" makes a store of it",
		time.Unix(0, int64(made)).UTC().Format(time.RFC3339), path)
}
