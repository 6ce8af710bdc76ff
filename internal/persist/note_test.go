package persist

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Of the note beside a store no more is read than it may have, whatever lies there.
func TestNoteOfAnySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path+acknowledgedSuffix, acknowledged{"s", 1, "b"}.line(), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := readAcknowledged(path); err != nil || a.transaction != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if err := os.Truncate(path+acknowledgedSuffix, 1<<40); err != nil {
		t.Skip(err)
	}
	if a, err := readAcknowledged(path); !errors.Is(err, ledger.ErrDamaged) || a != (acknowledged{}) {
		t.Errorf("%+v, %v", a, err)
	}
}
