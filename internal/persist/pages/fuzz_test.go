// SPDX-License-Identifier: Apache-2.0

package pages_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/persist/pages"
)

// edit is a place and what is there.
func edit(at int64, b byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(at)), b)
}

// FuzzCheck changes any bytes of a file: never a panic, a loop or memory without bound,
// and what is wrong is a Damage. Each five bytes of edits are a place and what is there.
func FuzzCheck(f *testing.F) {
	path := filepath.Join(f.TempDir(), "s.db")
	draw(f, path, 3, 3)
	content, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	var file pages.File
	var transaction uint64
	if err := opened(path, func(tx *bolt.Tx, as pages.File) error {
		file, transaction = as, uint64(tx.ID())
		return nil
	}); err != nil {
		f.Fatal(err)
	}
	content = content[:int64(file.Pages)*file.PageSize]
	f.Add([]byte{})
	for at := 2 * file.PageSize; at < int64(len(content)); at += file.PageSize {
		for _, field := range []int64{8, 10, 12, 16, 20, 24, 28} { // of the header and the first element
			f.Add(edit(at+field, 0xFF))
			f.Add(append(edit(at+field, 1), edit(at+field+1, 0x40)...))
		}
	}
	changed := make([]byte, len(content))
	f.Fuzz(func(t *testing.T, edits []byte) {
		copy(changed, content)
		for ; len(edits) >= 5; edits = edits[5:] {
			changed[int(binary.LittleEndian.Uint32(edits))%len(changed)] = edits[4]
		}
		file.Reader = bytes.NewReader(changed)
		var d *pages.Damage
		for _, c := range []pages.Check{{Transaction: transaction}, {Transaction: transaction, Skip: all}} {
			if err := file.Check(c); err != nil && !errors.As(err, &d) && !errors.Is(err, pages.ErrNoMeta) {
				t.Error(err)
			}
		}
		p := pages.Paths{File: file}
		for _, name := range names {
			for _, key := range []string{"", "00001000", "z"} {
				if _, err := p.Leaf(name, []byte(key)); err != nil && !errors.As(err, &d) {
					t.Error(err)
				}
			}
		}
	})
}
