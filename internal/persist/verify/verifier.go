// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/rights"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/cold"
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
	// Since is what was kept of a verification before; nil: all entries are read. Keep has the result say what to keep.
	Since *Kept
	Keep  bool
	// Progress, if set, is told now and then how many of all log records were gone
	// through.
	Progress func(done, total uint64)

	// AnyRoot accepts a file that may have lost its newest commits: a restore goes on from what is
	// there.
	AnyRoot bool
	// Cold is where segments of old entries are; nil: where the file says.
	Cold *cold.Place
}

// Result counts what a verification has read.
type Result struct {
	Ledgers, Entries uint64
	Witnesses        int       // kept, compared, and in agreement
	Newest           time.Time // when the newest record was taken; zero if there is none
	Keys             []rows.BoundKey
	Passed           uint64 // entries that were verified before, and not read again
	ToKeep           *Kept  // if that was asked for

	StoreID  string
	Left     *rows.Left      // of a store that was moved away; otherwise nil
	Contents record.Contents // a digest of all ledgers and entries
}

// verifier is one run of File.
type verifier struct {
	*rows.View
	Config
	Result
	ctx context.Context

	id        string                     // of the store
	gaps      bool                       // the log's keys may have some
	records   uint64                     // of the log, as the heads say
	since     map[string]stand           // from where ledgers need not be read again
	kept      map[string][]audit.Witness // of ledgers
	witnesses []audit.Witness            // all of them
	geneses   []uint64                   // ledgers by number
	tail      map[uint64][]uint64        // ledger numbers → log keys of their rows of the tail
	names     map[string]uint64          // ledgers → their numbers
	sets      sets
	rights    rights.History // without Spec

	gone, passed       atomic.Uint64 // records that were gone through, and entries among them that were verified before
	mu                 sync.Mutex    // guards what follows, and the counts of Result
	families           audit.Families
	keys, sum, highest uint64 // of the log keys: their number, sum (modulo 2^64) and the largest
}

// worker verifies a ledger.
type worker struct {
	*verifier
	*rows.View
	rights rights.History
	specs  map[string]ledger.Spec // of the ledger and of those above it
}

// went counts records that were gone through.
func (v *verifier) went(n int) {
	after := v.gone.Add(uint64(n))
	if after/4096 == (after-uint64(n))/4096 && after != v.records {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Progress(v.gone.Load(), v.records)
}
