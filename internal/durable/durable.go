// SPDX-License-Identifier: Apache-2.0

// Package durable writes files that survive a power cut, and locks files.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeDirectory does what os.MkdirAll does, with mode 0700, and makes the new directories durable.
func MakeDirectory(dir string) error {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := MakeDirectory(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return SyncDirectory(parent)
}

// WriteFile makes a file of mode 0600 with this content, in the place of one that has its name. Wherever it is cut off,
// the name leads to the whole content or to what it led to before.
func WriteFile(path string, content []byte) error {
	making := path + ".new" // what a process that died has left is removed
	if err := os.Remove(making); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(making, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(making, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(making))
	}
	return SyncDirectory(filepath.Dir(path))
}
