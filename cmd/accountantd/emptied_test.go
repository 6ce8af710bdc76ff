package main

import (
	"os"
	"path/filepath"
	"strings"
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
