package persist

import (
	"errors"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
)

// proven checks every page on the way to where a row is, or is not, and the checksums of
// all rows beside it. It must be called before a row of writers or ledgers is written.
//
// Every other row that is missing is missed: something else says that it is there. Only
// that a writer or a name is unknown rests on a search alone, and a search that one wrong
// bit leads astray finds nothing. Then a charge that is sent again would be charged again.
// And a page that is rewritten keeps only the rows which bbolt sees in it, so it is
// checked before that.
func (v *view) proven(b bucket, key []byte) error {
	if v.file == nil { // a file that is made, or that was checked as a whole
		return nil
	}
	if !v.begun {
		if v.paths == nil {
			v.paths = &pages.Paths{}
		}
		v.paths.Reset(pagesOf(v.tx, v.file))
		v.paths.Row, v.paths.Free, v.begun = checkRow, v.free, true
	}
	_, err := v.paths.Leaf(b.String(), key)
	return structural(err)
}

// free reports whether a page is in bbolt's list of free pages, which only a transaction
// that writes may look at.
func (v *view) free(id uint64) bool {
	if !v.tx.Writable() {
		return false
	}
	info, err := v.tx.Page(int(id))
	return err == nil && info != nil && info.Type == "free"
}

// damage makes the store refuse everything if err, of a check, says that its file is
// damaged: nobody knows what else a search has missed. The process goes on, so that it
// can say so.
func (s *Store) damage(err error) {
	if errors.Is(err, ledger.ErrDamaged) {
		s.refuse(err)
	}
}

// damagedPage is damage for what a commit met: a damaged row of one ledger is that
// ledger's alone, a damaged page is everybody's.
func (s *Store) damagedPage(err error) {
	var d *pages.Damage
	if errors.As(err, &d) {
		s.refuse(err)
	}
}
