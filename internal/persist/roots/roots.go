// SPDX-License-Identifier: Apache-2.0

package roots

import (
	"errors"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Damaged returns which of the two meta pages is invalid, -1 if neither is.
func Damaged(tx *bolt.Tx, file io.ReaderAt) (int, error) {
	f := rows.Pages(tx, file)
	return f.DamagedMeta()
}

// Check returns an error unless the transaction that bbolt shows has every
// commit that was acknowledged. docs/decisions/roots.md says why these are the rules:
//
//   - One root is invalid after the store was closed in order, when both named the same
//     state: nothing is lost, but something has changed what was written.
//   - The transaction is older than the newest that was acknowledged: a commit is lost,
//     or the file was put back as it was earlier.
//   - One root is invalid, and nothing proves that its commit was not acknowledged.
//   - What was acknowledged is no longer known, as the file beside the store is damaged.
//
// path is where what was acknowledged is kept beside.
func Check(v *rows.View, file io.ReaderAt, path, store string) error {
	shown := uint64(v.Tx.ID())
	known, err := Read(path)
	var unknown *noteError
	if err != nil && !errors.As(err, &unknown) {
		return err
	}
	if known.Store != "" && known.Store != store {
		return fmt.Errorf("the file is of store %s; %s was kept for store %s: put the file back that belongs to it; "+
			"if this one is meant to take its place, move %[2]s away",
			store, path+Suffix, known.Store)
	}
	stopped, err := v.Stopped()
	if err != nil {
		return err
	}
	damaged, err := Damaged(v.Tx, file)
	if err != nil {
		return err
	}
	switch {
	case stopped && damaged >= 0 && known.Transaction <= shown+1:
		return Lost(path, "root page %d is damaged: both were valid when the store was closed in order", damaged)
	case shown < known.Transaction:
		return Lost(path, "its newest commit is number %d, but number %d was acknowledged: the file was put "+
			"back as it was earlier, or what was written last was damaged", shown, known.Transaction)
	case damaged < 0 && unknown != nil:
		return unknown
	case damaged < 0:
		return nil
	case known.Transaction > 0 && known.Boot == BootID() && known.Boot != "":
		return nil // what was acknowledged is there; the next commit writes that page anew
	}
	return Lost(path, "root page %d is damaged, and with it perhaps a commit that was acknowledged", damaged)
}

// Lost says what to do with a file that may have lost its newest commit.
func Lost(path, format string, args ...any) error {
	return fmt.Errorf("%w: %s; do not go on from it: \"accountantd restore FILE --data NEWDIR\", of this file (%s) "+
		"or of a backup, makes a store whose ledgers ask to be reconciled with what was lost",
		ledger.ErrDamaged, fmt.Sprintf(format, args...), path)
}
