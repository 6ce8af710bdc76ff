// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/record"
)

const (
	waveSets = 16  // as the server's benchmark has callers
	setSize  = 100 // ledgers
)

// setAppender writes waves of sets as the keeper does: all members and one journal by one Append.
type setAppender struct {
	members []*appender
	journal *appender
}

func newSetAppender(b *testing.B, s *Store) *setAppender {
	b.Helper()
	a := &setAppender{}
	for i := range setSize {
		m, err := newAppender(s, i)
		if err != nil {
			b.Fatal(err)
		}
		m.writer = ledger.SetWriter("unverified:anonymous")
		a.members = append(a.members, m)
	}
	writer := ledger.Writer{Principal: "unverified:anonymous", Name: "00000000-0000-4000-8000-000000000001"}
	g := ledger.Genesis{Principal: ledger.Daemon, Time: storetest.Genesis("l").Time, Spec: ledger.Spec{
		Name: ledger.JournalName(ledger.JournalOf(writer.Name)), Adjacency: mechanism.AddOrRemoveOne}}
	sum, _, err := s.Create(g)
	if err != nil {
		b.Fatal(err)
	}
	a.journal = &appender{s: s, writer: writer, proposal: ledger.Proposal{Ledger: g.Spec.Name, Expected: sum.Head}}
	return a
}

// write writes one wave.
func (a *setAppender) write(s *Store) error {
	at := a.journal.proposal.Expected.Position
	of := make([]ledger.Member, setSize)
	for i, m := range a.members {
		of[i] = ledger.Member{Ledger: m.proposal.Ledger}
	}
	names := ledger.NamesHash(of)
	var wave []ledger.Proposal
	for _, m := range a.members {
		p := m.next(waveSets)
		for j := range p.Entries {
			p.Entries[j].Set = &ledger.SetPart{Contribution: ledger.OverAll,
				Journal: ledger.JournalOf(a.journal.writer.Name), Position: at + 1 + uint64(j), Members: setSize,
				Names: names}
		}
		wave = append(wave, p)
	}
	p := a.journal.proposal
	for j := range waveSets {
		members := make([]ledger.Member, setSize)
		for i := range members {
			members[i] = ledger.Member{Ledger: of[i].Ledger, Position: wave[i].Entries[j].Position}
		}
		v := ledger.Together{Members: members, Action: a.members[0].action, Contribution: ledger.OverAll}
		p.Entries = append(p.Entries, ledger.Entry{Position: at + 1 + uint64(j), Writer: a.journal.writer,
			Sequence: at + 1 + uint64(j), Digest: record.Digest(v), Time: wave[0].Entries[j].Time, Action: v})
	}
	hashes, err := s.Append(append(wave, p))
	if err != nil {
		return err
	}
	for i, m := range append(a.members[:setSize:setSize], a.journal) {
		m.done(hashes[i])
	}
	return nil
}

// BenchmarkWavesOfSets says what the disk allows: waves of 16 sets of 100 ledgers, written by the store; the
// same number of rows and bytes by bbolt alone; and the same bytes to a plain file, synced twice as bbolt
// syncs a commit. An operation is a set.
func BenchmarkWavesOfSets(b *testing.B) {
	waves := func(b *testing.B) int { return (b.N + waveSets - 1) / waveSets }
	timed := func(b *testing.B, wave func() error) {
		b.Helper()
		c0 := cpu()
		b.ResetTimer()
		for range waves(b) {
			if err := wave(); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		sets := float64(waves(b) * waveSets)
		b.ReportMetric(sets/b.Elapsed().Seconds(), "sets/s")
		b.ReportMetric((cpu()-c0)/(sets*setSize), "cpu-µs/entry")
	}
	var last Commit
	b.Run("store", func(b *testing.B) {
		s := mustOpen(b, Config{Path: filepath.Join(b.TempDir(), "s.db"), Observe: func(c Commit) { last = c }})
		defer s.Close()
		a := newSetAppender(b, s)
		timed(b, func() error { return a.write(s) })
		b.ReportMetric(float64(last.Bytes)/waveSets, "bytes/set")
	})
	if last.Entries == 0 {
		b.Skip("the sizes are those of the store's commits")
	}
	heads := setSize + 1
	size := (last.Bytes - heads*200) / last.Entries // of a row of the log; a head takes about 200 bytes
	b.Run("bbolt", func(b *testing.B) {
		db, err := bolt.Open(filepath.Join(b.TempDir(), "b.db"), 0o600, &bolt.Options{
			FreelistType: bolt.FreelistMapType, InitialMmapSize: initialMap()}) // as the store
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		next, row, head := uint64(0), make([]byte, size), make([]byte, 192)
		key := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
		timed(b, func() error {
			return db.Update(func(tx *bolt.Tx) error {
				log, err := tx.CreateBucketIfNotExists([]byte("log"))
				if err != nil {
					return err
				}
				log.FillPercent = logFill
				for range last.Entries {
					next++
					if err := log.Put(key(next), row); err != nil {
						return err
					}
				}
				all, err := tx.CreateBucketIfNotExists([]byte("heads"))
				if err != nil {
					return err
				}
				for i := range heads {
					if err := all.Put(key(uint64(i)), head); err != nil {
						return err
					}
				}
				return nil
			})
		})
	})
	b.Run("file", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "f"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		rows, root := make([]byte, last.Bytes), make([]byte, 4096)
		at := int64(len(root))
		timed(b, func() error {
			_, err := f.WriteAt(rows, at)
			if err == nil {
				err = f.Sync()
			}
			at += int64(len(rows))
			if err == nil {
				_, err = f.WriteAt(root, 0)
			}
			if err == nil {
				err = f.Sync()
			}
			if err != nil {
				return fmt.Errorf("at %d: %w", at, err)
			}
			return nil
		})
	})
}
