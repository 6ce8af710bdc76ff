// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// small is a store of one ledger, without the room that was allocated ahead, and
// its head.
func small(t testing.TB) (content []byte, head ledger.Head) {
	t.Helper()
	s := mustOpen(t,
		Config{Path: filepath.Join(t.TempDir(), "s.db"), AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	audittest.Fill(t, s, audittest.Spec("a", 0), 40, 1)
	snapshot, err := s.Load("a")
	if err != nil {
		t.Fatal(err)
	}
	f, size, err := s.Backup()
	if err != nil {
		t.Fatal(err)
	}
	content = make([]byte, size)
	if _, err := f.Read(content); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{f.Close(), s.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return content, snapshot.Head
}

// FuzzVerify changes a byte of a file: never a crash or a hang, and what verifies has
// the head that was kept. (Bytes that nothing is kept in do not matter.)
func FuzzVerify(f *testing.F) {
	content, head := small(f)
	kept := []audit.Witness{{Ledger: "a", Position: head.Position, Hash: head.Hash}}
	path := filepath.Join(f.TempDir(), "fuzzed.db")
	f.Add(uint32(0), byte(0))
	for page := uint32(0); page < uint32(len(content)); page += 4096 {
		f.Add(page, byte(1))
		f.Add(page+8, byte(3))
		f.Add(page+20, byte(0x40))
	}
	f.Fuzz(func(t *testing.T, at uint32, bits byte) {
		changed := bytes.Clone(content)
		changed[int(at)%len(changed)] ^= bits
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		done, err := verify.File(context.Background(), verify.Config{Path: path, Kept: kept})
		if err == nil && (done.Witnesses != 1 || done.Entries != head.Position) {
			t.Errorf("byte %d ^ %#x: %+v", at, bits, done)
		}
		if bits == 0 && err != nil {
			t.Error(err)
		}
	})
}
