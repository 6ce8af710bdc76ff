// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// fileSizePath, set in the environment, makes this test's process the one whose files must stay small.
const fileSizePath = "TEST_FILE_SIZE_PATH"

// A process whose files must stay smaller than a new store is told so. Nothing is damaged then, and there is no
// backup to restore. The next start says what to do with the file that was begun.
func TestFilesMustStaySmall(t *testing.T) {
	if path := os.Getenv(fileSizePath); path != "" {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4096, Max: 4096}); err != nil {
			t.Fatal(err)
		}
		_, err := Open(Config{Path: path})
		fmt.Println("opened:", err, "damaged:", errors.Is(err, ledger.ErrDamaged))
		return
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	child := exec.Command(os.Args[0], "-test.run=^TestFilesMustStaySmall$")
	child.Env = append(os.Environ(), fileSizePath+"="+path)
	out, err := child.CombinedOutput()
	if said := string(out); err != nil || !strings.Contains(said, "file too large damaged: false") {
		t.Errorf("%v: %s; want that the file is too large, and not that it is damaged", err, said)
	}
	if _, err := Open(Config{Path: path}); !errors.Is(err, ledger.ErrDamaged) ||
		!strings.Contains(err.Error(), "or remove the file, if no ledger was ever created in it") {
		t.Errorf("the next start: %v", err)
	}
}
