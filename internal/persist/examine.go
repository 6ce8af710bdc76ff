// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/persist/roots"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// ErrInUse means that another process has the store's file open.
var ErrInUse = rows.ErrInUse

// Examine returns the reason why Open would refuse the file at c.Path, as far as it can be
// found without reading the whole file, and the keys that sign the store's heads. It changes
// nothing. While a daemon has the file open it returns ErrInUse; that daemon has made the same
// checks.
func Examine(c Config) (keys []rows.BoundKey, err error) {
	info, err := os.Stat(c.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("store: %w", err)
	}
	missing := err != nil || info.Size() == 0
	if err := checkRestored(c.Path); err != nil {
		return nil, err
	}
	if missing {
		err = c.checkNew()
	} else {
		err = rows.OpenToRead(c.Path, 100*time.Millisecond, func(tx *bolt.Tx, file io.ReaderAt) (err error) {
			v := &rows.View{Tx: tx}
			id, err := v.CheckFormat()
			if err != nil {
				return err
			}
			if err := v.CheckBackup(c.Path); err != nil {
				return err
			}
			if err := roots.Check(v, file, c.Path, id); err != nil {
				return err
			}
			keys, err = v.Keys()
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", c.Path, err)
	}
	return keys, nil
}
