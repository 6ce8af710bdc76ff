// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"github.com/dpaccountant/accountant/internal/record"
)

// Contents returns a digest of all ledgers and entries.
func (v *View) Contents() (c record.Contents, err error) {
	bb, err := v.Bucket(LedgersBucket)
	if err != nil {
		return c, err
	}
	cursor := bb.Cursor()
	for name, stored := cursor.First(); name != nil; name, stored = cursor.Next() {
		value, err := Unseal(LedgersBucket, name, stored)
		if err != nil {
			return c, err
		}
		number, err := NumberIn(LedgersBucket, name, value)
		if err != nil {
			return c, err
		}
		head, err := v.Head(number)
		if err != nil {
			return c, err
		}
		c.Add(string(name), head.At)
	}
	return c, nil
}
