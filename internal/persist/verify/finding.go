// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

func textOf(n uint64, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(n)
}

func finding(name string, position uint64, what, expected, found string) error {
	return &audit.Finding{Ledger: name, Position: position, What: what, Expected: expected, Found: found}
}

// rowFinding is about a row that is no ledger's, or nobody knows whose.
func rowFinding(b rows.Bucket, key []byte, what, expected, found string) error {
	return &audit.Finding{What: fmt.Sprintf("bucket %s, key %s: %s", b, rows.KeyText(b, key), what),
		Expected: expected, Found: found}
}
