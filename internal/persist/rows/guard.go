// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"runtime/debug"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Guard runs f and turns a panic into ErrDamaged. bbolt panics on pages that make no sense, and
// reading a file that was cut short faults.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: reading the file: %v", ledger.ErrDamaged, p)
		}
	}()
	return f()
}
