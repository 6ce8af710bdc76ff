package persist

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

// ErrInUse means that another process has the store's file open.
var ErrInUse = errInUse

// Examine returns the reason why Open would refuse the file at c.Path, as far as it can be
// found without reading the whole file, and the keys that sign the store's heads. It changes
// nothing. While a daemon has the file open it returns ErrInUse; that daemon has made the same
// checks.
func Examine(c Config) (keys []BoundKey, err error) {
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
		err = openToRead(c.Path, 100*time.Millisecond, func(tx *bolt.Tx, file io.ReaderAt) (err error) {
			var s Store
			v := &view{tx: tx}
			if err := s.checkFormat(v); err != nil {
				return err
			}
			if err := v.checkBackup(c.Path); err != nil {
				return err
			}
			if err := checkRoots(v, file, c.Path, s.id); err != nil {
				return err
			}
			keys, err = v.keys()
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", c.Path, err)
	}
	return keys, nil
}
