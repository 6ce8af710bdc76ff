// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/record"
)

// appender is one lane of one ledger that appends without reading.
type appender struct {
	s        *Store
	proposal ledger.Proposal
	action   ledger.Charge
	digest   ledger.Digest
	writer   ledger.Writer
}

func newAppender(s *Store, i int) (*appender, error) {
	name := fmt.Sprintf("bench/ledger-%d", i)
	sum, _, err := s.Create(storetest.Genesis(name))
	if err != nil {
		return nil, err
	}
	v := ledger.Charge{
		Events: []mechanism.Event{{Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.01,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}, Count: 1}},
		Labels: []ledger.Label{{Key: "step", Value: "1234"}},
	}
	return &appender{
		s: s, action: v, digest: record.Digest(v), proposal: ledger.Proposal{Ledger: name, Expected: sum.Head},
		writer: ledger.Writer{Principal: "unverified:anonymous",
			Name: fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(i)*2654435761, i+1)},
	}, nil
}

// next makes a proposal of n entries.
func (a *appender) next(n int) ledger.Proposal {
	p := &a.proposal
	p.Entries = make([]ledger.Entry, n)
	for i := range p.Entries {
		at := p.Expected.Position + 1 + uint64(i)
		p.Entries[i] = ledger.Entry{Position: at, Writer: a.writer, Sequence: at, Digest: a.digest,
			Time: storetest.Genesis("l").Time, Action: a.action}
	}
	p.Total += uint64(n)
	p.Counts = []ledger.CountChange{{Index: 0, Mechanism: a.action.Events[0].Mechanism, Total: p.Total}}
	return *p
}

func (a *appender) done(hashes []ledger.Hash) {
	a.proposal.Expected.Position += uint64(len(hashes))
	a.proposal.Expected.Hash = hashes[len(hashes)-1]
}

func cpu() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e3
}

// bench reports CPU time, which other load disturbs least, and entries a second.
func bench(b *testing.B, run func(s *Store) (entries int)) {
	commits, written := 0, 0
	s := mustOpen(b, Config{Path: filepath.Join(b.TempDir(), "s.db"), Observe: func(c Commit) {
		commits++
		written += c.Entries
	}})
	defer s.Close()
	b.ReportAllocs()
	entries := run(s)
	b.ReportMetric(float64(entries)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(float64(written)/float64(commits), "entries/commit")
}

// BenchmarkHotLedger appends groups to one ledger, one after the other.
func BenchmarkHotLedger(b *testing.B) {
	for _, group := range []int{1, 10, 100, 500} {
		b.Run(fmt.Sprintf("group=%d", group), func(b *testing.B) {
			bench(b, func(s *Store) int {
				a, err := newAppender(s, 0)
				if err != nil {
					b.Fatal(err)
				}
				c0 := cpu()
				b.ResetTimer()
				for range b.N {
					hashes, err := s.Append([]ledger.Proposal{a.next(group)})
					if err != nil {
						b.Fatal(err)
					}
					a.done(hashes[0])
				}
				b.StopTimer()
				b.ReportMetric((cpu()-c0)/float64(b.N*group), "cpu-µs/entry")
				return b.N * group
			})
		})
	}
}

// BenchmarkManyLedgers has one goroutine per ledger, each appending groups of
// its own; the committer puts them together.
func BenchmarkManyLedgers(b *testing.B) {
	for _, c := range []struct{ ledgers, group int }{{64, 1}, {64, 16}, {500, 1}, {1000, 1}, {1000, 4}} {
		b.Run(fmt.Sprintf("ledgers=%d/group=%d", c.ledgers, c.group), func(b *testing.B) {
			bench(b, func(s *Store) int {
				appenders := make([]*appender, c.ledgers)
				var create sync.WaitGroup
				for i := range appenders {
					create.Go(func() {
						a, err := newAppender(s, i)
						if err != nil {
							b.Error(err)
						}
						appenders[i] = a
					})
				}
				create.Wait()
				if b.Failed() {
					return 0
				}
				rounds := max(1, b.N/c.ledgers) // b.N counts Appends
				c0 := cpu()
				b.ResetTimer()
				var wg sync.WaitGroup
				for _, a := range appenders {
					wg.Go(func() {
						for range rounds {
							hashes, err := s.Append([]ledger.Proposal{a.next(c.group)})
							if err != nil {
								b.Error(err)
								return
							}
							a.done(hashes[0])
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				n := rounds * c.ledgers * c.group
				b.ReportMetric((cpu()-c0)/float64(n), "cpu-µs/entry")
				return n
			})
		})
	}
}

// BenchmarkAcknowledge is what a commit pays besides its two syncs: for looking whether
// the file is in its place, for writing down what is acknowledged, and what it would pay
// if that were synced, too.
func BenchmarkAcknowledge(b *testing.B) {
	s := mustOpen(b, Config{Path: filepath.Join(b.TempDir(), "s.db")})
	defer s.Close()
	for name, f := range map[string]func(int) error{
		"in place": func(int) error { return s.inPlace() },
		"written":  s.noteAcknowledged,
		"synced":   func(i int) error { return errors.Join(s.noteAcknowledged(i), s.syncAcknowledged()) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if err := f(i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
