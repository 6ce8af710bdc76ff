// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A file is made whole and private, in the place of the one before, whatever an earlier process has left. When it
// cannot be made, what was there stays, and nothing is left beside it.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path+".new", []byte("of a process that died"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"first", "", "second"} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(got) != content || info.Mode() != 0o600 {
			t.Errorf("%q, %v, %v, %v; want %q of mode 0600", got, info.Mode(), err, statErr, content)
		}
	}
	inTheWay := filepath.Join(dir, "directory")
	if err := os.MkdirAll(filepath.Join(inTheWay, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(inTheWay, []byte("x")); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if err := WriteFile(filepath.Join(dir, "missing", "file"), []byte("x")); err == nil {
		t.Error("a file was made in a directory that is not there")
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 2 {
		t.Errorf("%v, %v; want the file and the directory", names, err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, []byte("second")) {
		t.Errorf("%q, %v", got, err)
	}
}
