// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// copySuffix is in the names of unfinished copies, between the store's name and a random part.
const copySuffix = ".copy-"

// freeAfter is the space that a copy must leave free, in allocation steps. A copy that filled
// the disk would stop the ledgers.
const freeAfter = 4

// Backup makes a consistent copy of what is durable, in a file beside the store, and returns it
// for reading. Its size is the part of the store's file that bbolt uses. Closing it removes it;
// where the system allows it, its name is removed at once.
//
// Backup is refused if the copy would fill the disk. It is also refused if pages or rows of the
// store are damaged; the store then refuses everything else, too. The copy is marked as a
// backup, so that no daemon starts on it; a restore makes a store of it.
//
// The copy is made inside a read transaction, during which bbolt reuses no page and cannot
// enlarge its map. That is why it goes to a local file and to nothing slower.
func (s *Store) Backup() (content io.ReadCloser, size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(s.config.Path), filepath.Base(s.config.Path)+copySuffix)
	if err != nil {
		return nil, 0, s.noCopy(err)
	}
	c := house.Removed{File: f}
	var copied pages.File
	check := pages.Check{Row: rows.CheckRow}
	marked, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
	if err != nil {
		return nil, 0, errors.Join(s.noCopy(err), c.Close())
	}
	defer marked.Close()    //nolint:errcheck // mostly it is closed already
	_ = os.Remove(f.Name()) // not everywhere: Close tries again
	err = s.view(func(v *rows.View) error {
		if err := checkFree(f, v.Tx.Size()+freeAfter*s.config.AllocationStep); err != nil {
			return s.noCopy(err)
		}
		size, err = v.Tx.WriteTo(f)
		if err != nil {
			return s.noCopy(err)
		}
		copied, check.Transaction = rows.Pages(v.Tx, f), uint64(v.Tx.ID())
		return nil
	})
	if err == nil {
		if err = rows.Guard(func() error { return rows.AsDamage(copied.Check(check)) }); err != nil {
			err = s.noCopy(err)
			s.damage(err)
		}
	}
	if err == nil {
		if size, err = markBackup(f.Name(), marked, time.Now()); err == nil {
			err = f.Truncate(size)
		}
		if err != nil {
			err = s.noCopy(err)
		}
	}
	if err == nil {
		if _, err = f.Seek(0, io.SeekStart); err != nil {
			err = s.noCopy(err)
		}
	}
	if err != nil {
		return nil, 0, errors.Join(err, c.Close())
	}
	return c, size, nil
}

func (s *Store) noCopy(err error) error {
	return fmt.Errorf("a copy of %s: %w", s.config.Path, err)
}

// removeCopies removes copies that a killed process has left behind. The caller holds the
// store's lock.
func removeCopies(path string) error {
	files, err := os.ReadDir(filepath.Dir(path))
	for _, f := range files {
		if strings.HasPrefix(f.Name(), filepath.Base(path)+copySuffix) {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), f.Name())))
		}
	}
	return err
}
