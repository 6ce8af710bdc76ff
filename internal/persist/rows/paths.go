// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"errors"

	"github.com/dpaccountant/accountant/internal/persist/pages"
)

// Proven checks every page on the way to where a row is, or is not, and the checksums of
// all rows beside it. It is called before a row of writers or ledgers is written, and
// before any row is said to be missing.
//
// Every other row that is missing is missed: something else says that it is there. Only
// that a writer or a name is unknown rests on a search alone, and a search that one wrong
// bit leads astray finds nothing. Then a charge that is sent again would be charged again.
// And a page that is rewritten keeps only the rows which bbolt sees in it, so it is
// checked before that.
func (v *View) Proven(b Bucket, key []byte) error {
	if v.File == nil { // a file that is made, or that was checked as a whole
		return nil
	}
	_, err := v.leaf(b, key)
	return err
}

// way checks the pages of a search for a key before bbolt makes it: in a page that leads
// back to itself it would search without end.
func (v *View) way(b Bucket, key []byte) error {
	if v.File == nil {
		return nil
	}
	return AsDamage(v.Checked().Way(b.String(), key))
}

// leaf does what proven does, and returns the first key of the leaf after the one to which
// the key belongs, nil after the last.
func (v *View) leaf(b Bucket, key []byte) (next []byte, err error) {
	next, err = v.Checked().Leaf(b.String(), key)
	v.missing = true
	return next, AsDamage(err)
}

// Used checks that the pages in which something was found to be missing are in use. In a
// transaction that writes, free has told that of each page when it was read.
func (v *View) Used() error {
	if !v.missing {
		return nil
	}
	err := v.Paths.Used(uint64(v.Tx.ID()))
	if errors.Is(err, pages.ErrNoMeta) { // two commits since the transaction began
		return nil
	}
	return AsDamage(err)
}

// From returns a bucket's first row whose key is not before a given one; found is nil if
// there is none. No row between the two keys is overlooked. The row is not yet verified.
func (v *View) From(b Bucket, key []byte) (found, stored []byte, err error) {
	if err := v.way(b, key); err != nil {
		return nil, nil, err
	}
	c, err := v.cursor(b)
	if err != nil {
		return nil, nil, err
	}
	found, stored = c.Seek(key)
	if v.File == nil {
		return found, stored, nil
	}
	for next := key; next != nil && (found == nil || bytes.Compare(found, next) >= 0); {
		if next, err = v.leaf(b, next); err != nil {
			return nil, nil, err
		}
	}
	return found, stored, nil
}

// Checked returns the pages that were checked in this transaction.
func (v *View) Checked() *pages.Paths {
	if !v.begun {
		if v.Paths == nil {
			v.Paths = &pages.Paths{}
		}
		f := Pages(v.Tx, v.File)
		f.Mapped = mapped(v.Tx)
		v.Paths.Reset(f)
		v.Paths.Row, v.Paths.Free, v.begun = CheckRow, v.free, true
	}
	return v.Paths
}

// free reports whether a page is in bbolt's list of free pages, which only a transaction
// that writes may look at.
func (v *View) free(id uint64) bool {
	if !v.Tx.Writable() {
		return false
	}
	info, err := v.Tx.Page(int(id))
	return err == nil && info != nil && info.Type == "free"
}
