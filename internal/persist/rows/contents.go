// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"github.com/dpaccountant/accountant/internal/record"
)

// Contents returns a digest of all ledgers and entries.
func (v *View) Contents() (c record.Contents, err error) {
	err = v.EachLedger(func(name string, number uint64) error {
		head, err := v.Head(number)
		c.Add(name, head.At)
		return err
	})
	return c, err
}
