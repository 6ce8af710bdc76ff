// SPDX-License-Identifier: Apache-2.0

package roots

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Suffix ends the name of the file beside a store that records which commit was
// acknowledged last; the store's name comes before it.
const Suffix = ".acknowledged"

// Acknowledged is the content of that file: one line of fixed length, written in place before
// each commit is acknowledged, and not synced. It survives the process but not a power cut. So
// a line from an earlier boot is a lower bound, and a line from this boot is exact.
type Acknowledged struct {
	Store       string
	Transaction uint64 // of bbolt
	Boot        string // the kernel's identifier of its boot; "" where there is none
}

const acknowledgedFormat = "accountant acknowledged v1 store %-36s transaction %020d boot %-36s"

func (a Acknowledged) Line() []byte {
	b := fmt.Appendf(nil, acknowledgedFormat, a.Store, a.Transaction, a.Boot)
	return fmt.Appendf(b, " crc32c %08x\n", crc32.Checksum(b, rows.Castagnoli))
}

// Read reads the file beside a store. It returns the zero value, which proves
// nothing, if the file is missing or nothing was ever written to it. If the file holds anything
// but a line of this program, the error is a *noteError.
func Read(path string) (a Acknowledged, err error) {
	content, err := readNote(path + Suffix)
	if err != nil || len(bytes.Trim(content, "\x00")) == 0 { // a power cut may leave it empty when it is new
		return a, err
	}
	var read Acknowledged
	_, err = fmt.Sscanf(string(content), "accountant acknowledged v1 store %s transaction %d boot %s",
		&read.Store, &read.Transaction, &read.Boot)
	if strings.HasPrefix(read.Boot, "crc32c") { // there was none
		read.Boot = ""
	}
	if err != nil || !bytes.Equal(content, read.Line()) {
		return a, &noteError{path}
	}
	return read, nil
}

// noteError says that the file beside the store at path does not hold such a line. The daemon
// never leaves one like that behind: it writes one line in place, within one sector of the
// disk.
type noteError struct{ path string }

func (e *noteError) Error() string {
	return fmt.Sprintf("%s, which says what commit was acknowledged last, is damaged: "+
		"nothing shows that %s has that commit and was not put back as it was earlier; "+
		"if you know that it was not, move %[1]s away, and the daemon makes a new one; "+
		"otherwise \"accountantd restore FILE --data NEWDIR\" makes a store whose ledgers ask to be reconciled",
		e.path+Suffix, e.path)
}

func (e *noteError) Unwrap() error { return ledger.ErrDamaged }

// readNote reads as many bytes as such a line has and one more, which shows a file that is
// longer. It returns nothing for a file that is missing.
func readNote(path string) (content []byte, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: it must be readable and writable for the daemon's user, as %s is",
			err, strings.TrimSuffix(filepath.Base(path), Suffix))
	}
	content, err = io.ReadAll(io.LimitReader(f, int64(len(Acknowledged{}.Line()))+1))
	return content, errors.Join(err, f.Close())
}

// BootID returns the kernel's identifier of the current boot. While it is the same, what was
// written to files without a sync is still there.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
