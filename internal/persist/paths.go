package persist

import (
	"bytes"
	"errors"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
)

// proven checks every page on the way to where a row is, or is not, and the checksums of
// all rows beside it. It is called before a row of writers or ledgers is written, and
// before any row is said to be missing.
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
	_, err := v.leaf(b, key)
	return err
}

// way checks the pages of a search for a key before bbolt makes it: in a page that leads
// back to itself it would search without end.
func (v *view) way(b bucket, key []byte) error {
	if v.file == nil {
		return nil
	}
	return structural(v.checked().Way(b.String(), key))
}

// leaf does what proven does, and returns the first key of the leaf after the one to which
// the key belongs, nil after the last.
func (v *view) leaf(b bucket, key []byte) (next []byte, err error) {
	next, err = v.checked().Leaf(b.String(), key)
	v.missing = true
	return next, structural(err)
}

// used checks that the pages in which something was found to be missing are in use. In a
// transaction that writes, free has told that of each page when it was read.
func (v *view) used() error {
	if !v.missing {
		return nil
	}
	err := v.paths.Used(uint64(v.tx.ID()))
	if errors.Is(err, pages.ErrNoMeta) { // two commits since the transaction began
		return nil
	}
	return structural(err)
}

// from returns a bucket's first row whose key is not before a given one; found is nil if
// there is none. No row between the two keys is overlooked. The row is not yet verified.
func (v *view) from(b bucket, key []byte) (found, stored []byte, err error) {
	if err := v.way(b, key); err != nil {
		return nil, nil, err
	}
	c, err := v.cursor(b)
	if err != nil {
		return nil, nil, err
	}
	found, stored = c.Seek(key)
	if v.file == nil {
		return found, stored, nil
	}
	for next := key; next != nil && (found == nil || bytes.Compare(found, next) >= 0); {
		if next, err = v.leaf(b, next); err != nil {
			return nil, nil, err
		}
	}
	return found, stored, nil
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
