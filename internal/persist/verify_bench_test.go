// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// benchEntries are in the files that BenchmarkVerify and BenchmarkRestore read.
const benchEntries = 1_000_000

// benchFile makes a file with so many ledgers, and all entries in them.
func benchFile(b *testing.B, ledgers int, keyed bool) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "s.db")
	s := mustOpen(b, Config{Path: path, hooks: hooks{noSync: true}})
	appenders := make([]*appender, ledgers)
	for i := range appenders {
		a, err := newAppender(s, i)
		if err != nil {
			b.Fatal(err)
		}
		appenders[i] = a
	}
	const group = 64
	now := storetest.Genesis("l").Time
	for n := 0; n < benchEntries; {
		batch := make([]ledger.Proposal, 0, 16)
		some := appenders[n/group%ledgers:]
		some = some[:min(len(some), 16)]
		for _, a := range some {
			a.next(group)
			for j := range a.proposal.Entries {
				e := &a.proposal.Entries[j]
				now = now.Add(time.Millisecond)
				e.Time = now
				if keyed {
					e.Sequence, e.Writer.Name = 1, fmt.Sprintf("request/%016x", uint64(n+j)*0x9e3779b97f4a7c15)
				}
			}
			n += group
			batch = append(batch, a.proposal)
		}
		hashes, err := s.Append(batch)
		if err != nil {
			b.Fatal(err)
		}
		for i, a := range some {
			a.done(hashes[i])
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// benchShapes are what the files have: the streams of training jobs, one long stream, and requests with IDs.
func benchShapes(b *testing.B, run func(b *testing.B, path string)) {
	for _, c := range []struct {
		ledgers int
		keyed   bool
	}{{64, false}, {1, false}, {64, true}} {
		b.Run(fmt.Sprintf("ledgers=%d/keyed=%v", c.ledgers, c.keyed), func(b *testing.B) {
			path := benchFile(b, c.ledgers, c.keyed)
			c0 := cpu()
			b.ResetTimer()
			for range b.N {
				run(b, path)
			}
			b.StopTimer()
			b.ReportMetric((cpu()-c0)/float64(b.N)/1e6, "cpu-s/op")
		})
	}
}

// BenchmarkVerify goes through files of a million entries.
func BenchmarkVerify(b *testing.B) {
	benchShapes(b, func(b *testing.B, path string) {
		if _, err := verify.File(context.Background(), verify.Config{Path: path}); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkRestore makes stores of backups of a million entries.
func BenchmarkRestore(b *testing.B) {
	benchShapes(b, func(b *testing.B, path string) {
		c := RestoreConfig{Backup: path, Path: filepath.Join(b.TempDir(), "restored", FileName)}
		if _, err := Restore(context.Background(), c); err != nil {
			b.Fatal(err)
		}
	})
}
