package persist

import (
	"errors"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
)

// proven checks every page on the way to where a row is, or is not, and the checksums of
// all rows beside it. It is called before a row of writers or ledgers is written.
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
	_, err := v.checked().Leaf(b.String(), key)
	return structural(err)
}

// checked returns the pages that were checked in this transaction.
func (v *view) checked() *pages.Paths {
	if !v.begun {
		if v.paths == nil {
			v.paths = &pages.Paths{}
		}
		v.paths.Reset(pagesOf(v.tx, v.file))
		v.paths.Row, v.paths.Free, v.begun = checkRow, v.free, true
	}
	return v.paths
}

// provenRows checks every page that putting the staged rows rewrites, before bbolt frees
// it: one wrong bit in how many pages it takes frees those of others, or a number of pages
// for which there is no memory.
func (w *writing) provenRows() error {
	if w.file == nil {
		return nil
	}
	for _, r := range w.staged {
		if r.bucket == logBucket && w.endProven {
			continue
		}
		var err error
		if r.bucket == writersBucket || r.bucket == ledgersBucket {
			err = w.proven(r.bucket, r.key)
		} else {
			err = structural(w.checked().Rewritten(r.bucket.String(), r.key, r.value == nil))
		}
		if err != nil {
			return err
		}
		w.endProven = w.endProven || r.bucket == logBucket
	}
	return nil
}

// provenFree checks the list of free pages, which each commit rewrites.
func (w *writing) provenFree() error {
	if w.file == nil {
		return nil
	}
	f := pagesOf(w.tx, w.file)
	return structural(f.CheckFreeSize(uint64(w.tx.ID()) - 1))
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
