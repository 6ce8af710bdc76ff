// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// checkBeforeOpen checks what bbolt relies on when it opens a file to write, and when it
// rewrites a page: the list of free pages, and that no page in use is in it; every branch
// page, and that no page is led to twice; and the leaves, apart from three large buckets,
// whose leaves are checked whenever they are rewritten (Proven).
func checkBeforeOpen(path string, timeout time.Duration) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil // a new one
	}
	if err != nil {
		return err
	}
	err = rows.OpenToRead(path, timeout, func(tx *bolt.Tx, file io.ReaderAt) error {
		return rows.CheckPages(tx, file, pages.Check{Skip: func(name []byte) bool {
			return slices.Contains([]string{rows.PacksBucket.String(), rows.WritersBucket.String(),
				rows.SinglesBucket.String()}, string(name))
		}})
	})
	if errors.Is(err, rows.ErrNoPages) {
		return nil // opening it says why
	}
	return err
}
