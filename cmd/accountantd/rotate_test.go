// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/server/signing"
)

// unsynced are names that a power cut may still take back.
type unsynced struct {
	changed [][2]string // from, to
	step    int         // of those that were taken
	fails   int         // the step that fails, after it was done; 0 for none
}

func (u *unsynced) done() error {
	if u.step++; u.step == u.fails {
		return errors.New("the machine stops here")
	}
	return nil
}

func (u *unsynced) rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	u.changed = append(u.changed, [2]string{from, to})
	return u.done()
}

func (u *unsynced) sync(string) error {
	if u.step+1 == u.fails { // it fails, whatever the disk has
		return u.done()
	}
	u.changed = nil
	return u.done()
}

// cut takes back the last n changes that were not synced.
func (u *unsynced) cut(t *testing.T, n int) {
	t.Helper()
	for range n {
		last := u.changed[len(u.changed)-1]
		u.changed = u.changed[:len(u.changed)-1]
		if err := os.Rename(last[1], last[0]); err != nil {
			t.Fatal(err)
		}
	}
}

// The power fails within a change of keys, or right after it, and takes back any of the
// names that were not synced. The store is then bound to the old key, or the new one is in
// its place; after running the command again the daemon has the key that it needs.
func TestPowerCutWhileRotating(t *testing.T) {
	last := func(dir string) string {
		keys := boundKeys(t, dir)
		return keys[len(keys)-1]
	}
	inPlace := func(dir string) string {
		t.Helper()
		key, err := signing.ReadKey(filepath.Join(dir, keyFile))
		if err != nil {
			return err.Error()
		}
		f, err := signing.FingerprintOf(key)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", f)
	}
	bind := func(dir string) error {
		store, err := persist.Open(persist.Config{Path: filepath.Join(dir, persist.FileName)})
		if err != nil {
			return err
		}
		_, err = boundKey(store, filepath.Join(dir, keyFile))
		return errors.Join(err, store.Close())
	}
	for fails := range 4 { // none, the first name, the second, the sync
		for taken := range 3 { // how many names a power cut takes back
			t.Run(fmt.Sprintf("step %d, %d names", fails, taken), func(t *testing.T) {
				dir := t.TempDir()
				if err := bind(dir); err != nil {
					t.Fatal(err)
				}
				first := last(dir)
				u := &unsynced{fails: fails}
				err := rotateKey(dir, time.Now(), names{u.rename, u.sync}, io.Discard)
				if (err != nil) != (fails > 0) {
					t.Fatal(err)
				}
				u.cut(t, min(taken, len(u.changed)))
				bound := last(dir)
				if fails > 0 && bound != first || bound != first && inPlace(dir) != bound {
					t.Errorf("bound to %s, first to %s; in its place is %s", bound, first, inPlace(dir))
				}
				if err := rotateKey(dir, time.Now(), onDisk, io.Discard); err != nil {
					t.Fatal(err)
				}
				if bound := last(dir); bound == first || inPlace(dir) != bound {
					t.Errorf("again: bound to %s, first to %s; in its place is %s", bound, first, inPlace(dir))
				}
				if err := bind(dir); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
