// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// resume turns the copy of a final backup into the store that goes on, durably.
func (c RestoreConfig) resume(path string, final rows.Final, done *RestoredStore) error {
	// synced once, below
	s, err := Open(Config{Path: path, hooks: hooks{noSync: true, alone: true}})
	if err != nil {
		return err
	}
	done.From, done.StoreID = s.ID(), s.ID()
	err = s.change(func(w *writing) error {
		w.resumed()
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	c.at()
	return syncFile(path)
}

// claimSuffix ends the name of the file that says where a final backup was restored to; the
// backup's name comes before it.
const claimSuffix = ".restored"

// claim notes, durably, where a final backup is restored to, unless it was restored to another
// place. The function that it returns takes the note back if the restore has left nothing.
func (c RestoreConfig) claim() (unclaim func() error, err error) {
	to := c.Into
	if to == "" {
		if to, err = filepath.Abs(c.Path); err != nil {
			return nil, err
		}
	}
	note := c.Backup + claimSuffix
	before, err := os.ReadFile(note)
	earlier, whole := strings.CutSuffix(string(before), "\n")
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !whole: // it was cut off before anything was restored
	case err != nil:
		return nil, err
	case earlier == to: // that restore was cut off, or its store was removed
		return func() error { return nil }, nil
	default:
		return nil, fmt.Errorf("final backup %s: it was restored to %s before (%s says so), and nothing was written "+
			"now: of two stores that go on from it, each would forget what the other one charges. If no daemon was "+
			"ever started on that store, remove it and %[3]s; otherwise --as-copy restores this file as any other "+
			"backup, with another identifier and ledgers that ask to be reconciled", c.Backup, earlier, note)
	}
	if err := durable.WriteFile(note, []byte(to+"\n")); err != nil {
		return nil, errors.Join(fmt.Errorf("final backup %s: a file beside it must note where it was restored to: %w",
			c.Backup, err), remove(note))
	}
	return func() error { return remove(note) }, nil
}
