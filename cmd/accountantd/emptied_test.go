// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dpaccountant/accountant/internal/persist"
)

// A change of keys makes no new store where one has been emptied.
func TestRotateKeyOfEmptiedStore(t *testing.T) {
	dir := dataDir(t)
	file := filepath.Join(dir, persist.FileName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := exitCode(t, "rotate-key", "--data", dir)
	if code == 0 || !strings.Contains(stderr, "is empty; allowed: a directory with ledgers") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != 0 {
		t.Errorf("a new store: %v, %v", info, err)
	}
}

// A change of keys that cannot write the new key leaves the old one in its place.
func TestRotateKeyKeepsTheOldKey(t *testing.T) {
	dir := dataDir(t)
	start(t, dir).stop(syscall.SIGTERM)
	path := filepath.Join(dir, keyFile)
	if err := os.Mkdir(path+".new", 0o700); err != nil { // nothing can be written there
		t.Fatal(err)
	}
	if code, _, stderr := exitCode(t, "rotate-key", "--data", dir); code == 0 {
		t.Errorf("exit 0, %s", stderr)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	start(t, dir).stop(syscall.SIGTERM)
	if err := os.Remove(path + ".new"); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := exitCode(t, "rotate-key", "--data", dir); code != 0 {
		t.Errorf("exit %d, %s", code, stderr)
	}
	start(t, dir).stop(syscall.SIGTERM)
}
