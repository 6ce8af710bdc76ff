// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// provenRows checks every page that putting the staged rows rewrites, before bbolt frees
// it: one wrong bit in how many pages it takes frees those of others, or a number of pages
// for which there is no memory.
func (w *writing) provenRows() error {
	if w.File == nil {
		return nil
	}
	for _, r := range w.staged {
		appended := r.bucket == rows.TailBucket && r.value != nil
		if appended && w.endProven {
			continue
		}
		var err error
		switch r.bucket {
		// The leaves of these were not checked at the start.
		case rows.WritersBucket, rows.LedgersBucket, rows.PacksBucket, rows.SinglesBucket:
			err = w.Proven(r.bucket, r.key)
		}
		if err == nil && (r.bucket != rows.WritersBucket && r.bucket != rows.LedgersBucket) {
			err = rows.AsDamage(w.Checked().Rewritten(r.bucket.String(), r.key, r.value == nil))
		}
		if err != nil {
			return err
		}
		w.endProven = w.endProven || appended
	}
	return nil
}

// provenFree checks the list of free pages, which each commit rewrites.
func (w *writing) provenFree() error {
	if w.File == nil {
		return nil
	}
	f := rows.Pages(w.Tx, w.File)
	return rows.AsDamage(f.CheckFreeSize(uint64(w.Tx.ID()) - 1))
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
	if _, ok := errors.AsType[*pages.Damage](err); ok {
		s.refuse(err)
	}
}
