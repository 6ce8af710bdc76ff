// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// testStore is the dumbest ledger.Store: a list of records for each ledger,
// from which everything is counted anew. Its Append checks the counts that the
// keeper proposes, and fails as the test asks.
type testStore struct {
	ledger.Marks // unused

	mu      sync.Mutex
	ledgers map[string]*testLedger
	appends int
	loads   int
	limit   int // entries that one Append may have; 0: any number

	// fault, if set, is asked before each Append, without mu.
	fault func(n int, p ledger.Proposal) fault
	// damaged ledgers cannot be loaded.
	damaged map[string]bool
}

type testLedger struct {
	genesis ledger.Genesis
	records []ledger.Record
	writing bool // an Append is in flight
}

// fault is how an Append fails; the zero value is that it does not.
type fault struct {
	err  error
	keep bool // fail and keep, otherwise fail and lose
}

func newTestStore(names ...string) *testStore {
	s := &testStore{ledgers: map[string]*testLedger{}, damaged: map[string]bool{}}
	for _, name := range names {
		if _, _, err := s.Create(
			ledger.Genesis{Spec: ledger.Spec{Name: name, Adjacency: mechanism.AddOrRemoveOne}}); err != nil {
			panic(err)
		}
	}
	return s
}

func (s *testStore) ID() string { return "store" }

func (s *testStore) Create(g ledger.Genesis) (ledger.Summary, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.StoreID = s.ID()
	l, ok := s.ledgers[g.Spec.Name]
	if !ok {
		l = &testLedger{genesis: g}
		s.ledgers[g.Spec.Name] = l
	} else if !l.genesis.Spec.Equal(g.Spec) {
		return ledger.Summary{}, false, ledger.ErrExists
	}
	return l.snapshot().Summary, !ok, nil
}

// snapshot follows from the records.
func (l *testLedger) snapshot() ledger.Snapshot {
	bare := ledger.Summary{Genesis: l.genesis}
	bare.Genesis.Spec.Policy = ledger.Descriptive // which has no budgets, whose costs would have to be found
	state := ledger.NewState(ledger.Snapshot{Summary: bare})
	state.Follow(l.records)
	now := ledger.Snapshot{Summary: state.Summary(), Parts: state.Parts(), Open: state.Reservations()}
	now.Genesis = l.genesis
	return now
}

func (s *testStore) find(name string) (*testLedger, error) {
	l, ok := s.ledgers[name]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ledger.ErrNotFound, name)
	}
	return l, nil
}

func (s *testStore) Load(name string) (ledger.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	if s.damaged[name] {
		return ledger.Snapshot{}, fmt.Errorf("%w: %s", ledger.ErrDamaged, name)
	}
	l, err := s.find(name)
	if err != nil {
		return ledger.Snapshot{}, err
	}
	return l.snapshot(), nil
}

// List only looks for the ledger of that name.
func (s *testStore) List(name, _ string, _ int) ([]ledger.Summary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.ledgers[name]
	if !ok {
		return nil, nil
	}
	return []ledger.Summary{l.snapshot().Summary}, nil
}

func (s *testStore) Records(name string, _ uint64, _ int) ([]ledger.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.find(name)
	if err != nil {
		return nil, err
	}
	return l.records, nil
}

func (s *testStore) Reserving() ([]string, error) { panic("unused") }

func (s *testStore) GenesisRecord(string) ([]byte, ledger.Hash, error) { panic("unused") }

func (s *testStore) Writer(name string, w ledger.Writer) (sequence, position uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.find(name)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range l.records {
		if r.Entry.Writer == w {
			sequence, position = r.Entry.Sequence, r.Entry.Position
		}
	}
	return sequence, position, nil
}

func (s *testStore) RecordOf(name string, w ledger.Writer, sequence uint64) (ledger.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.find(name)
	if err != nil {
		return ledger.Record{}, err
	}
	for _, r := range l.records {
		if r.Entry.Writer == w && r.Entry.Sequence == sequence {
			return r, nil
		}
	}
	return ledger.Record{}, ledger.ErrNotFound
}

func (s *testStore) Namesakes(name string, w ledger.Writer) (out []ledger.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.find(name)
	if err != nil {
		return nil, err
	}
	for _, r := range l.records {
		if r.Entry.Sequence == 1 && r.Entry.Writer.Name == w.Name && r.Entry.Writer.Principal != w.Principal {
			out = append(out, r)
		}
	}
	return out, nil
}

func (s *testStore) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	if len(batch) != 1 {
		return nil, errors.New("test store: one ledger at a time")
	}
	p := batch[0]
	s.mu.Lock()
	s.appends++
	n := s.appends
	l, err := s.find(p.Ledger)
	if err == nil && l.writing {
		err = errors.New("test store: two Appends of one ledger at once")
	}
	if err == nil {
		l.writing = true
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var f fault
	if s.fault != nil {
		f = s.fault(n, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.writing = false
	if f.err != nil && !f.keep {
		return nil, f.err
	}
	hashes, err := l.write(p, s.limit)
	if err == nil {
		err = f.err
	}
	return [][]ledger.Hash{hashes}, err
}

func (s *testStore) Close() error { return nil }

func (l *testLedger) head() ledger.Head {
	if n := len(l.records); n > 0 {
		return ledger.Head{Position: uint64(n), Hash: l.records[n-1].Hash}
	}
	return ledger.Head{}
}

// write appends after checking the whole proposal against the records.
func (l *testLedger) write(p ledger.Proposal, limit int) ([]ledger.Hash, error) {
	switch {
	case limit > 0 && len(p.Entries) > limit:
		return nil, ledger.ErrTooLarge
	case p.Expected != l.head():
		return nil, ledger.ErrConflict
	}
	records := l.records[:len(l.records):len(l.records)]
	var hashes []ledger.Hash
	previous := p.Expected.Hash
	for _, e := range p.Entries {
		bytes := append(append(previous[:], e.Digest[:]...), e.Writer.Name...)
		hash := ledger.Hash(sha256.Sum256(binary.BigEndian.AppendUint64(bytes, e.Sequence)))
		records = append(records, ledger.Record{Entry: e, Hash: hash, Previous: previous})
		hashes = append(hashes, hash)
		previous = hash
	}
	counts, closed, err := count(records)
	if err != nil {
		return nil, err
	}
	total := uint64(0)
	for _, c := range counts {
		total += c
	}
	if total != p.Total || closed != p.Closed {
		return nil, fmt.Errorf("test store: total %d, closed %v proposed for %d, %v", p.Total, p.Closed, total, closed)
	}
	for _, c := range p.Counts {
		if counts[c.Mechanism] != c.Total {
			return nil, fmt.Errorf("test store: %v: count %d proposed for %d", c.Mechanism,
				c.Total, counts[c.Mechanism])
		}
	}
	l.records = records
	return hashes, nil
}

// count adds up a log, and checks that positions and every writer's sequence
// numbers follow each other without gap or repetition, and that nothing comes
// after the close.
func count(records []ledger.Record) (counts map[mechanism.Mechanism]uint64, closed bool, err error) {
	counts = map[mechanism.Mechanism]uint64{}
	last := map[ledger.Writer]uint64{}
	for i, r := range records {
		e := r.Entry
		if e.Position != uint64(i+1) || e.Sequence != last[e.Writer]+1 || closed {
			return nil, false, fmt.Errorf(
				"test store: record %d after close %v: position %d, sequence %d of %s after %d",
				i+1, closed, e.Position, e.Sequence, e.Writer.Name, last[e.Writer])
		}
		last[e.Writer] = e.Sequence
		switch v := e.Action.(type) {
		case ledger.Charge:
			for _, event := range v.Events {
				counts[event.Mechanism] += uint64(event.Count)
			}
		case ledger.Close:
			closed = true
		}
	}
	return counts, closed, nil
}

// newKeeper makes a Keeper that is closed when the test ends; what a test leaves
// open or undecided makes that fail.
func newKeeper(t testing.TB, c Config) *Keeper {
	k := New(c)
	t.Cleanup(func() {
		if err := k.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return k
}

func writerOf(name string) ledger.Writer {
	return ledger.Writer{Principal: "unverified:anonymous", Name: name}
}

func gaussian(sigma float64) mechanism.Mechanism {
	return mechanism.Gaussian{StandardDeviation: sigma, Sensitivity: 1}
}

// charge is a request for n applications of a Gaussian.
func charge(writer string, sequence uint64, n uint32) ledger.Request {
	return ledger.Request{
		Writer: writerOf(writer), Sequence: sequence,
		Digest: ledger.Digest(sha256.Sum256(binary.BigEndian.AppendUint32([]byte("charge"), n))),
		Action: ledger.Charge{Events: []mechanism.Event{{Mechanism: gaussian(float64(1 + n%3)), Count: n}}},
	}
}

func closing(writer string, sequence uint64) ledger.Request {
	return ledger.Request{
		Writer: writerOf(writer), Sequence: sequence,
		Digest: ledger.Digest(sha256.Sum256([]byte("close"))), Action: ledger.Close{Reason: "done"},
	}
}

// checkLedger compares what the keeper says of a ledger with its log.
func checkLedger(t testing.TB, k *Keeper, s *testStore, name string) []ledger.Record {
	t.Helper()
	records, err := s.Records(name, 1, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	counts, closed, err := count(records)
	if err != nil {
		t.Fatal(err)
	}
	c, summary, err := k.Composition(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	total := uint64(0)
	for _, p := range c.Parts {
		if counts[p.Mechanism] != p.Count {
			t.Errorf("%s: %v: count %d; want %d", name, p.Mechanism, p.Count, counts[p.Mechanism])
		}
		total += p.Count
	}
	if len(c.Parts) != len(counts) || summary.Total != total || summary.Distinct != len(counts) ||
		summary.Closed != closed || summary.Head.Position != uint64(len(records)) {
		t.Errorf("%s: %d parts of total %d, summary %+v; want %d parts, closed %v, %d records",
			name, len(c.Parts), total, summary, len(counts), closed, len(records))
	}
	return records
}
