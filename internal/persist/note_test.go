// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/roots"
)

// Of the note beside a store no more is read than it may have, whatever lies there.
func TestNoteOfAnySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	line := roots.Acknowledged{Store: "s", Transaction: 1, Boot: "b"}.Line()
	if err := os.WriteFile(path+roots.Suffix, line, 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := roots.Read(path); err != nil || a.Transaction != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if err := os.Truncate(path+roots.Suffix, 1<<40); err != nil {
		t.Skip(err)
	}
	if a, err := roots.Read(path); !errors.Is(err, ledger.ErrDamaged) || a != (roots.Acknowledged{}) {
		t.Errorf("%+v, %v", a, err)
	}
}
