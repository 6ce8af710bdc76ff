// SPDX-License-Identifier: Apache-2.0

// Package verify goes through all of a store's file, or of a backup: it has every ledger's log decided
// again (package audit), and compares every row that follows from the log with what follows. It needs
// no store, only the rows of the file.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/roots"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// File goes through all of a file: its pages are checked before bbolt relies on them
// (package pages), every ledger's log is decided again, and every row that follows from
// the log is compared with what follows. The first thing that is wrong is an
// *audit.Finding: a page, or else what comes first in the first ledger that has anything, or else what comes first of
// what concerns several ledgers. Ledgers are gone through side by side, and it is the same finding
// whichever ends first.
//
// Memory: that of one ledger for each processor (package audit), and some bytes of each ledger, and of each member of a
// set.
func File(ctx context.Context, c Config) (done Result, err error) {
	if c.LockTimeout == 0 {
		c.LockTimeout = time.Second
	}
	if c.Progress == nil {
		c.Progress = func(uint64, uint64) {}
	}
	info, err := os.Stat(c.Path)
	if err != nil {
		return done, fmt.Errorf("store: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return done, fmt.Errorf("store %s: %d bytes, %v; allowed: a store's file", c.Path, info.Size(), info.Mode())
	}
	err = rows.OpenToRead(c.Path, c.LockTimeout, func(tx *bolt.Tx, file io.ReaderAt) error {
		if err := rows.CheckPages(tx, file, pages.Check{Stop: ctx.Err}); err != nil {
			return err
		}
		v := &verifier{Config: c, ctx: ctx}
		v.View = v.another(ctx, tx)
		err := v.run()
		done = v.Result
		if err == nil && !c.AnyRoot {
			err = roots.Check(v.View, file, c.Path, v.id)
		}
		return err
	})
	var page *pages.Damage
	switch {
	case errors.Is(err, rows.ErrInUse):
		return done, fmt.Errorf("store %s: %w: stop the daemon, or take a backup instead", c.Path, err)
	case errors.Is(err, rows.ErrNoPages):
		return done, fmt.Errorf("store %s: %w", c.Path, err)
	case errors.As(err, &page):
		return done, &audit.Finding{What: fmt.Sprintf("page %d of the file", page.Page),
			Expected: page.Expected, Found: page.Found}
	}
	var finding *audit.Finding
	if errors.As(err, &finding) || !errors.Is(err, ledger.ErrDamaged) {
		return done, err
	}
	return done, &audit.Finding{What: "store " + c.Path, Expected: "whole records", Found: err.Error()}
}

func (v *verifier) run() error {
	id, err := v.CheckFormat()
	if err != nil {
		return err
	}
	if v.Result.Keys, err = v.View.Keys(); err != nil {
		return err
	}
	if v.Result.Left, err = v.View.Left(); err != nil {
		return err
	}
	v.StoreID, v.id = id, id
	if v.gaps, err = v.View.Gaps(); err != nil {
		return err
	}
	if err := v.unknown(); err != nil {
		return err
	}
	v.keepers()
	if err := v.survey(); err != nil {
		return err
	}
	if err := v.policies(); err != nil {
		return err
	}
	journals, others := v.order()
	if err := v.ledgers(journals, 1); err != nil { // the members' entries are compared with what all of them say
		return err
	}
	if err := v.ledgers(others, runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	there := func(name string) bool { return v.names[name] != 0 }
	if err := audit.Missing(v.witnesses, there); err != nil {
		return err
	}
	if err := v.gapless(); err != nil {
		return err
	}
	if err := v.families.Check(); err != nil {
		return err
	}
	if err := v.sets.end(); err != nil {
		return err
	}
	if err := v.strays(); err != nil {
		return err
	}
	v.Result.Passed = v.passed.Load()
	v.Result.Contents, err = v.View.Contents()
	return err
}

// keepers begins with what was kept of ledgers, and what is to be kept. What was kept of another store, such as that of
// which this one was restored, says only which hashes the ledgers had.
func (v *verifier) keepers() {
	v.witnesses = v.Config.Kept
	if v.Since != nil {
		v.witnesses = slices.Concat(v.witnesses, v.Since.witnesses())
		if v.Since.StoreID == v.id {
			v.since = v.Since.ledgers
		}
	}
	v.kept = audit.ByLedger(v.witnesses)
	if v.Keep {
		v.ToKeep = &Kept{StoreID: v.id, ledgers: map[string]stand{}}
	}
}

// order returns the numbers of the journals, which say what is done in other ledgers, and of those.
func (v *verifier) order() (journals, others []uint64) {
	for n := range ledger.Journals {
		if number := v.names[ledger.JournalName(uint8(n))]; number != 0 {
			journals = append(journals, number)
		}
	}
	for _, number := range v.geneses {
		if !slices.Contains(journals, number) {
			others = append(others, number)
		}
	}
	return journals, others
}

// ledgers verifies ledgers, so many at a time. The error is that of the first one in this order that has any.
func (v *verifier) ledgers(order []uint64, together int) error {
	errs := make([]error, len(order))
	var next, wrong atomic.Int64 // where to go on, and the first ledger that has an error so far
	wrong.Store(int64(len(order)))
	var workers sync.WaitGroup
	for range min(together, len(order)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < wrong.Load(); i = next.Add(1) - 1 {
				if errs[i] = v.alone(order[i]); errs[i] == nil {
					continue
				}
				for before := wrong.Load(); i < before && !wrong.CompareAndSwap(before, i); before = wrong.Load() {
				}
			}
		})
	}
	workers.Wait()
	if i := wrong.Load(); i < int64(len(order)) {
		return errs[i]
	}
	return v.ctx.Err()
}

// another returns a view of another transaction, which reads segments until a context ends.
func (v *verifier) another(ctx context.Context, tx *bolt.Tx) *rows.View {
	return &rows.View{Tx: tx, Fetch: func(a *rows.AwayError) ([]byte, error) {
		if v.Config.Cold != nil {
			a.Place = *v.Config.Cold
		}
		return a.Fetch(ctx)
	}}
}

// alone verifies a ledger in a transaction of its own.
func (v *verifier) alone(number uint64) error {
	return rows.Guard(func() error {
		return v.Tx.DB().View(func(tx *bolt.Tx) error {
			w := &worker{verifier: v, View: v.another(v.ctx, tx), rights: v.rights, specs: map[string]ledger.Spec{}}
			w.rights.Spec = w.spec
			return w.ledger(number)
		})
	})
}

// ledger verifies one ledger.
func (v *worker) ledger(number uint64) error {
	f, err := v.follow(number)
	if err != nil {
		return err
	}
	if second := f.Again(); second != nil { // a second time, for ledgers that need it
		err := v.EachPack(number, v.tail[number], func(p packs.Pack, _ uint64) error {
			for _, raw := range p.Raws {
				if _, err := second.NextRaw(raw); err != nil {
					return err
				}
			}
			return v.ctx.Err()
		})
		if err == nil {
			err = second.End()
		}
		if err != nil {
			return err
		}
	}
	if err := v.keep(f); err != nil {
		return err
	}
	if err := v.rows(f); err != nil {
		return err
	}
	v.add(f)
	return nil
}

// add adds what concerns several ledgers, once one was verified.
func (v *verifier) add(f *followed) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Ledgers++
	v.Entries += f.Head().Position
	v.Witnesses += f.Agreed()
	v.families.Add(f.Replay)
	v.keys, v.sum, v.highest = v.keys+f.keys, v.sum+f.sum, max(v.highest, f.highest)
	if f.taken.After(v.Newest) {
		v.Newest = f.taken
	}
}
