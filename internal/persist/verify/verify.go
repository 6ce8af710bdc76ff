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
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/rights"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/roots"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// Config says which file to verify. Only Path is required.
type Config struct {
	// Path is the file: a backup, or the store of a daemon that has stopped. It is
	// only read.
	Path string
	// LockTimeout is as Config's.
	LockTimeout time.Duration
	// Kept are receipts and signed heads whose entries must be in the file.
	Kept []audit.Witness
	// Progress, if set, is told now and then how many of all log records were gone
	// through.
	Progress func(done, total uint64)

	// AnyRoot accepts a file that may have lost its newest commits: a restore goes on from what is
	// there.
	AnyRoot bool
}

// Result counts what a verification has read.
type Result struct {
	Ledgers, Entries uint64
	Witnesses        int       // kept, compared, and in agreement
	Newest           time.Time // when the newest record was taken; zero if there is none
	Keys             []rows.BoundKey

	StoreID  string
	Final    *rows.Final     // of a final backup, or of a store that was moved away; otherwise nil
	Contents record.Contents // a digest of all ledgers and entries
}

// File goes through all of a file: its pages are checked before bbolt relies on them
// (package pages), every ledger's log is decided again, and every row that follows from
// the log is compared with what follows. The first thing that is wrong is an
// *audit.Finding: a page, or else what comes first in the first ledger that has anything.
//
// Memory: that of one ledger (package audit), and some bytes of each ledger, and of each member of a set.
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
		if err := rows.CheckPages(tx, file, pages.Check{Pace: rows.UntilDone(ctx)}); err != nil {
			return err
		}
		v := &verifier{View: &rows.View{Tx: tx}, Config: c, ctx: ctx}
		err := v.run()
		done = v.Result
		if err == nil && (!c.AnyRoot || done.Final != nil) { // a gap would not be reconciled
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

// verifier is one run of File.
type verifier struct {
	*rows.View
	Config
	Result
	ctx context.Context

	id       string              // of the store
	gaps     bool                // the log's keys may have some
	records  uint64              // of the log, as the heads say
	geneses  []uint64            // ledgers by number
	tail     map[uint64][]uint64 // ledger numbers → log keys of their rows of the tail
	names    map[string]uint64   // ledgers → their numbers
	ahead    <-chan opened
	families audit.Families
	sets     sets
	rights   rights.History
	specs    map[string]ledger.Spec // of the ledgers that were followed, and of those above them

	keys, sum, highest uint64 // of the log keys: their number, sum (modulo 2^64) and the largest
}

func (v *verifier) run() error {
	id, err := v.CheckFormat()
	if err != nil {
		return err
	}
	if v.Result.Keys, err = v.View.Keys(); err != nil {
		return err
	}
	if v.Result.Final, err = v.View.Final(); err != nil {
		return err
	}
	v.StoreID, v.id = id, id
	if v.gaps, err = v.View.Gaps(); err != nil {
		return err
	}
	if err := v.unknown(); err != nil {
		return err
	}
	if err := v.survey(); err != nil {
		return err
	}
	if err := v.policies(); err != nil {
		return err
	}
	if err := v.ledgers(v.order()); err != nil {
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
	there := func(name string) bool { return v.names[name] != 0 }
	if err := audit.Missing(v.Kept, there); err != nil {
		return err
	}
	if err := v.strays(); err != nil {
		return err
	}
	v.Result.Contents, err = v.View.Contents()
	return err
}

// order returns the numbers of all ledgers: the journals come first, which say what is done in the others.
func (v *verifier) order() []uint64 {
	var list []uint64
	for n := range ledger.Journals {
		if number := v.names[ledger.JournalName(uint8(n))]; number != 0 {
			list = append(list, number)
		}
	}
	first := slices.Clone(list)
	for _, number := range v.geneses {
		if !slices.Contains(first, number) {
			list = append(list, number)
		}
	}
	return list
}

// ledgers verifies ledgers, in this order.
func (v *verifier) ledgers(order []uint64) error {
	ctx, cancel := context.WithCancel(v.ctx)
	var wait func()
	v.ahead, wait = readAhead(ctx, v.Tx.DB(), order, v.tail)
	defer wait()
	defer cancel()
	for _, number := range order {
		if err := v.ledger(number); err != nil {
			return err
		}
	}
	return nil
}

// ledger verifies one ledger.
func (v *verifier) ledger(number uint64) error {
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
	return v.rows(f)
}
