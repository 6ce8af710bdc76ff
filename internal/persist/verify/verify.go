// Package verify goes through all of a store's file, or of a backup: it has every ledger's log decided
// again (package audit), and compares every row that follows from the log with what follows. It needs
// no store, only the rows of the file.
package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/rights"
	"github.com/dpaccountant/accountant/internal/ledger"
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
// *audit.Finding: a page, or else what comes first in the order of the log.
//
// Memory: that of a thousand ledgers at most at once (package audit), and some
// bytes a ledger.
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

	id        string            // of the store
	gaps      bool              // the log's keys may have some
	records   uint64            // of the log
	geneses   []uint64          // ledgers, in the order of the log
	ledgers   map[uint64]uint64 // ledger numbers → records of the log
	sequences uint64            // rows that must be in that bucket
	families  audit.Families
	names     map[string]bool // ledgers of which something was kept: they are there
	rights    rights.History
	specs     map[string]ledger.Spec // of the ledgers that are followed, and of those above them
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
	v.names = map[string]bool{}
	for from := 0; from < len(v.geneses); {
		group, err := v.group(v.geneses[from:])
		if err != nil {
			return err
		}
		if err := v.follow(group); err != nil {
			return err
		}
		if err := v.again(group); err != nil {
			return err
		}
		clear(v.specs)
		for _, number := range v.geneses[from : from+len(group)] {
			if err := v.rows(group[number]); err != nil {
				return err
			}
		}
		from += len(group)
	}
	if err := v.families.Check(); err != nil {
		return err
	}
	if err := v.sets(); err != nil {
		return err
	}
	if err := audit.Missing(v.Kept, func(name string) bool { return v.names[name] }); err != nil {
		return err
	}
	if err := v.strays(); err != nil {
		return err
	}
	v.Result.Contents, err = v.View.Contents()
	return err
}

// survey reads the log once. It checks that keys have no gap, unless several daemons have drawn them,
// and finds all ledgers.
func (v *verifier) survey() error {
	bb, err := v.Bucket(rows.LogBucket)
	if err != nil {
		return err
	}
	v.ledgers = map[uint64]uint64{}
	c := bb.Cursor()
	at := uint64(0)
	for key, stored := c.First(); key != nil; key, stored = c.Next() {
		v.records++
		at++
		if v.gaps && len(key) == 8 {
			at = binary.BigEndian.Uint64(key)
		}
		if !bytes.Equal(key, rows.NumberKey(at)) {
			return rowFinding(rows.LogBucket, key, "key", fmt.Sprint(at), rows.KeyText(rows.LogBucket, key))
		}
		value, err := rows.Unseal(rows.LogBucket, key, stored)
		if err != nil {
			return err
		}
		if len(value) < rows.LogHeaderSize {
			return rows.Damaged(rows.LogBucket, key, "%d bytes; at least %d", len(value), rows.LogHeaderSize)
		}
		number := binary.BigEndian.Uint64(value)
		if number == at {
			v.geneses = append(v.geneses, number)
		} else if v.ledgers[number] == 0 {
			return rowFinding(rows.LogBucket, key, "ledger number", "that of an earlier genesis", fmt.Sprint(number))
		}
		v.ledgers[number]++
		if err := v.interrupted(v.records); err != nil {
			return err
		}
	}
	return nil
}

// interrupted checks now and then whether to stop.
func (v *verifier) interrupted(n uint64) error {
	if n%1024 == 0 {
		return v.ctx.Err()
	}
	return nil
}

const (
	groupLedgers = 1000
	groupParts   = 1 << 20
)

// group returns as many ledgers as are followed at once.
func (v *verifier) group(numbers []uint64) (map[uint64]*followed, error) {
	group, parts := map[uint64]*followed{}, 0
	for _, number := range numbers {
		h, err := v.Head(number)
		if err != nil {
			return nil, err
		}
		if parts += h.Distinct; len(group) > 0 && (parts > groupParts || len(group) == groupLedgers) {
			break
		}
		group[number] = nil
	}
	return group, nil
}

// follow reads the log for a group of ledgers.
func (v *verifier) follow(group map[uint64]*followed) error {
	return v.eachRecord(func(number, key uint64, l rows.Logged) (err error) {
		f, ours := group[number]
		switch {
		case !ours:
			return nil
		case f != nil:
			return v.next(f, l, key)
		}
		group[number], err = v.begin(l, key)
		return err
	})
}

// again reads the log a second time, for the ledgers that need it.
func (v *verifier) again(group map[uint64]*followed) error {
	second := map[uint64]*audit.Replay{}
	for number, f := range group {
		if r := f.Again(); r != nil {
			second[number] = r
		}
	}
	if len(second) == 0 {
		return nil
	}
	err := v.eachRecord(func(number, key uint64, l rows.Logged) error {
		r, ours := second[number]
		if !ours || number == key {
			return nil
		}
		_, err := r.NextRaw(l.Raw)
		return err
	})
	for _, r := range second {
		if err == nil {
			err = r.End()
		}
	}
	return err
}

// eachRecord calls record for each record of the log, which survey has verified.
func (v *verifier) eachRecord(record func(number, key uint64, l rows.Logged) error) error {
	bb, err := v.Bucket(rows.LogBucket)
	if err != nil {
		return err
	}
	c := bb.Cursor()
	for key, stored := c.First(); key != nil; key, stored = c.Next() {
		value := stored[rows.ChecksumSize:]
		l := rows.Logged{Number: binary.BigEndian.Uint64(value), Raw: value[rows.LogHeaderSize:]}
		copy(l.Previous[:], value[8:])
		at := binary.BigEndian.Uint64(key)
		if err := record(l.Number, at, l); err != nil {
			return err
		}
		if err := v.interrupted(at); err != nil {
			return err
		}
		if at%4096 == 0 || at == v.records {
			v.Progress(v.Ledgers+v.Entries, v.records)
		}
	}
	return nil
}
