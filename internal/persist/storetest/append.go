// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

func testAppend(t *testing.T, h Harness) {
	s := h.open(t)
	a, b := create(t, s, "a"), create(t, s, "b")
	a.check()
	a.append(a.charge(writer(0), 0, 1))
	a.check()
	b.append(b.charge(writer(0), 3, 7), b.charge(writer(0), 0, 2)) // lanes are a ledger's own
	a.append(a.charge(writer(1), 1, 10), a.charge(writer(0), 0, 4294967295), a.charge(writer(1), 2, 1))
	two := ledger.Charge{Events: []mechanism.Event{{Mechanism: mech(1), Count: 5}, {Mechanism: mech(9), Count: 6},
		{Mechanism: mech(1), Count: 7}}}
	a.append(a.request(writer(2), two))
	a.check()
	b.check()
	pa, pb := a.decide(a.charge(writer(0), 0, 1)), b.decide(b.charge(writer(5), 0, 1))
	hashes, err := s.Append([]ledger.Proposal{pb.Proposal(), pa.Proposal()})
	if err != nil || len(hashes) != 2 {
		t.Fatalf("Append to two ledgers = %d hash lists, %v", len(hashes), err)
	}
	b.apply(pb, hashes[0])
	a.apply(pa, hashes[1])
	a.check()
	b.check()
	if got, err := s.Append(nil); err != nil || len(got) != 0 {
		t.Errorf("Append of nothing = %v, %v", got, err)
	}
}

func testConflict(t *testing.T, h Harness) {
	s := h.open(t)
	b := create(t, s, "l")
	stale := b.decide(b.charge(writer(0), 0, 1)).Proposal()
	b.last[writer(0)]--
	b.append(b.charge(writer(1), 1, 2))
	fresh := b.decide(b.charge(writer(0), 0, 1)).Proposal()
	b.last[writer(0)]--

	ahead, behind, other := fresh, fresh, fresh
	ahead.Expected.Position++
	behind.Expected.Position = 0
	other.Expected.Hash[31] ^= 1
	for what, p := range map[string]ledger.Proposal{"stale": stale, "ahead": ahead, "behind": behind,
		"another chain": other} {
		if _, err := s.Append([]ledger.Proposal{p}); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("Append on a head that is %s = %v, want ErrConflict", what, err)
		}
		b.check()
	}
	b.append(b.charge(writer(0), 0, 1))
	b.check()
	// The same proposal again is a conflict, not a second charge.
	if _, err := s.Append([]ledger.Proposal{fresh}); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("the same Append again = %v, want ErrConflict", err)
	}
	b.check()
}

func testAtomic(t *testing.T, h Harness) {
	s := h.open(t)
	books := []*book{create(t, s, "a"), create(t, s, "b"), create(t, s, "c")}
	for bad := range books {
		for what, spoil := range map[string]func(*ledger.Proposal){
			"conflict":       func(p *ledger.Proposal) { p.Expected.Hash[0] ^= 1 },
			"unknown ledger": func(p *ledger.Proposal) { p.Ledger = "d" },
			"wrong total":    func(p *ledger.Proposal) { p.Total++ },
			"wrong sequence": func(p *ledger.Proposal) { p.Entries[0].Sequence++ },
		} {
			var batch []ledger.Proposal
			for _, b := range books {
				batch = append(batch, b.decide(b.charge(writer(0), 0, 1)).Proposal())
				b.last[writer(0)]--
			}
			spoil(&batch[bad])
			if _, err := s.Append(batch); err == nil {
				t.Fatalf("%s in proposal %d was taken", what, bad)
			}
			for _, b := range books {
				b.check()
				b.checkRecordOf(writer(0), 1)
			}
		}
	}
	twice := books[0].decide(books[0].charge(writer(0), 0, 1)).Proposal()
	books[0].last[writer(0)]--
	if _, err := s.Append([]ledger.Proposal{twice, twice}); err == nil {
		t.Error("two proposals for one ledger in one Append were taken")
	}
	books[0].check()
}

func testWrongProposals(t *testing.T, h Harness) {
	s := h.open(t)
	b := create(t, s, "l")
	b.append(b.charge(writer(0), 0, 10), b.charge(writer(0), 1, 10))
	for what, spoil := range map[string]func(*ledger.Proposal){
		"no entries":           func(p *ledger.Proposal) { p.Entries, p.Counts, p.Total = nil, nil, 20 },
		"position gap":         func(p *ledger.Proposal) { p.Entries[1].Position++ },
		"position again":       func(p *ledger.Proposal) { p.Entries[0].Position-- },
		"sequence again":       func(p *ledger.Proposal) { p.Entries[1].Sequence-- },
		"sequence gap":         func(p *ledger.Proposal) { p.Entries[1].Sequence++ },
		"total too small":      func(p *ledger.Proposal) { p.Total-- },
		"count too small":      func(p *ledger.Proposal) { p.Counts[0].Total-- },
		"count not changed":    func(p *ledger.Proposal) { p.Counts[0].Total = 10 },
		"counts missing":       func(p *ledger.Proposal) { p.Counts = p.Counts[:1] },
		"count twice":          func(p *ledger.Proposal) { p.Counts[1] = p.Counts[0] },
		"index gap":            func(p *ledger.Proposal) { p.Counts[len(p.Counts)-1].Index++ },
		"index negative":       func(p *ledger.Proposal) { p.Counts[0].Index = -1 },
		"no mechanism":         func(p *ledger.Proposal) { p.Counts[len(p.Counts)-1].Mechanism = nil },
		"closed without entry": func(p *ledger.Proposal) { p.Closed = true },
		"no event":             func(p *ledger.Proposal) { p.Entries[1].Action = ledger.Charge{} },
		"a writer without a name": func(p *ledger.Proposal) {
			for i := range p.Entries {
				p.Entries[i].Writer, p.Entries[i].Sequence = ledger.Writer{Principal: "p"}, uint64(i+1)
			}
		},
	} {
		// Events of mechanisms 0 (known) and 2 (new), one entry each.
		p := b.decide(b.charge(writer(0), 0, 3), b.charge(writer(0), 2, 4)).Proposal()
		b.last[writer(0)] -= 2
		spoil(&p)
		if _, err := s.Append([]ledger.Proposal{p}); err == nil {
			t.Errorf("%s: was taken", what)
		} else if errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrUnknown) {
			t.Errorf("%s: %v; a wrong proposal must not look like something to try again", what, err)
		}
		b.check()
	}
	b.append(b.charge(writer(0), 0, 3), b.charge(writer(0), 2, 4))
	b.check()
}

func testTooLarge(t *testing.T, h Harness) {
	s := h.open(t)
	b, c := create(t, s, "l"), create(t, s, "m")
	limit := h.MaxBatchBytes
	if limit == 0 {
		limit = 1 << 20
	}
	const most = 2000 // entries
	refused := false
	for n := 1; n <= most && !refused; n *= 2 {
		requests := make([]ledger.Request, n)
		for i := range requests {
			requests[i] = b.charge(writer(0), 0, 1)
		}
		big, small := b.decide(requests...), c.decide(c.charge(writer(0), 0, 1))
		hashes, err := s.Append([]ledger.Proposal{small.Proposal(), big.Proposal()})
		switch {
		case errors.Is(err, ledger.ErrTooLarge):
			refused = true
			b.last[writer(0)] -= uint64(n)
			c.last[writer(0)]--
			if n == 1 {
				t.Fatalf("an Append of two entries is too large: %v", err)
			}
		case err != nil:
			t.Fatal(err)
		default:
			c.apply(small, hashes[0])
			b.apply(big, hashes[1])
			stored := 0
			page, err := s.Records("l", b.state.Summary().Head.Position-uint64(n)+1, n)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				stored += len(r.Raw)
			}
			if h.MaxBatchBytes > 0 && stored > limit {
				t.Fatalf("an Append of %d bytes was taken; the limit is %d", stored, limit)
			}
		}
	}
	if h.MaxBatchBytes > 0 && !refused {
		t.Errorf("no Append was too large for %d bytes", limit)
	}
	b.check()
	c.check()
	b.append(b.charge(writer(0), 0, 1))
	b.check()
}

// testCounts has more mechanisms than any store keeps together, and changes a
// few of them at a time.
func testCounts(t *testing.T, h Harness) {
	s := h.open(t)
	b := create(t, s, "l")
	for i := range 40 {
		b.append(b.charge(writer(0), i, uint32(i+1)))
		if i < 20 || i%7 == 0 {
			b.checkState()
		}
	}
	for i := 0; i < 40; i += 3 {
		b.append(b.charge(writer(0), i, 1), b.charge(writer(1), 39-i, 4294967295), b.charge(writer(0), 40+i, 2))
	}
	b.check()
}

func testClosing(t *testing.T, h Harness) {
	s := h.open(t)
	b := create(t, s, "l")
	b.append(b.charge(writer(0), 0, 1))
	open := b.decide(b.charge(writer(1), 0, 1)).Proposal()
	b.last[writer(1)]--
	b.append(b.charge(writer(0), 0, 1), b.request(writer(0), ledger.Close{Reason: "done"}))
	b.check()
	sums, err := s.List("l", "", 1)
	if err != nil || len(sums) != 1 || !sums[0].Closed {
		t.Errorf("List after a closing = %+v, %v", sums, err)
	}
	open.Expected = b.state.Summary().Head
	open.Entries[0].Position = open.Expected.Position + 1
	open.Counts[0].Total, open.Total = 3, 3
	if _, err := s.Append([]ledger.Proposal{open}); err == nil {
		t.Error("a closed ledger took a charge")
	}
	empty := create(t, s, "m")
	empty.append(empty.request(writer(3), ledger.Close{}))
	empty.check()
	b.check()
	if sum, created, err := s.Create(Genesis("l")); created || err != nil || !sum.Closed {
		t.Errorf("Create of a closed ledger's spec = %+v, %v, %v; want the closed one", sum, created, err)
	}
}

func testDurable(t *testing.T, h Harness) {
	s := h.Open(t)
	id := s.ID()
	names := []string{"a", "b", "c"}
	books := map[string]*book{}
	for round := range 4 {
		for _, name := range names[:min(round+1, 3)] {
			if books[name] == nil {
				books[name] = create(t, s, name)
			}
			for i := range 3 {
				b := books[name]
				b.append(b.charge(writer(i), round*2+i, uint32(round+1)))
			}
		}
		s = h.Reopen(t, s)
		if s.ID() != id {
			t.Fatalf("reopened as store %s, want %s", s.ID(), id)
		}
		for _, b := range books {
			b.s = s
			b.check()
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load("a"); err == nil {
		t.Error("a closed store answers")
	}
	if _, _, err := s.Create(Genesis("late")); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Create on a closed store = %v, want ErrUnavailable", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

func testIsolation(t *testing.T, h Harness) {
	s := h.open(t)
	b := create(t, s, "l")
	events := []mechanism.Event{{Mechanism: mech(0), Count: 3}}
	labels := []ledger.Label{{Key: "k", Value: "v"}}
	batch := b.decide(b.request(writer(0), ledger.Charge{Events: events, Labels: labels}))
	hashes, err := s.Append([]ledger.Proposal{batch.Proposal()})
	if err != nil {
		t.Fatal(err)
	}
	b.apply(batch, hashes[0])
	b.records[0].Entry.Action = ledger.Charge{
		Events: []mechanism.Event{{Mechanism: mech(0), Count: 3}}, Labels: []ledger.Label{{Key: "k", Value: "v"}}}
	events[0].Count, labels[0].Value, hashes[0][0] = 9, "changed", ledger.Hash{}

	spoil := func(r ledger.Record) {
		clear(r.Raw)
		c := r.Entry.Action.(ledger.Charge)
		c.Events[0].Count, c.Labels[0].Value = 8, "changed"
	}
	records, err := s.Records("l", 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	spoil(records[0])
	r, err := s.RecordOf("l", writer(0), 1)
	if err != nil {
		t.Fatal(err)
	}
	spoil(r)
	raw, _, err := s.GenesisRecord("l")
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	snapshot, err := s.Load("l")
	if err != nil {
		t.Fatal(err)
	}
	for i := range snapshot.Parts {
		snapshot.Parts[i].Count = 7
	}
	clear(snapshot.Genesis.Spec.Labels)
	b.check()
	if raw, hash, err := s.GenesisRecord("l"); err != nil || record.GenesisHash(raw) != hash {
		t.Errorf("the genesis changed with what a caller was given: %v", err)
	}
}

// testNamesakes: lanes of one name, of principals that begin alike or are of one
// length, in two ledgers.
func testNamesakes(t *testing.T, h Harness) {
	s := h.open(t)
	b, other := create(t, s, "l"), create(t, s, "other")
	name := writer(0).Name
	for i, principal := range []string{"uid:1", "uid:10", "uid:11", "unverified:ann", "cn:ann", "cn:anz", "ü",
		strings.Repeat("z", 256)} {
		b.append(b.charge(ledger.Writer{Principal: principal, Name: name}, 0, 1))
		if i%2 == 0 {
			b.append(b.charge(ledger.Writer{Principal: principal, Name: "request/1"}, 0, 1))
			b.append(b.charge(ledger.Writer{Principal: principal, Name: name}, 0, 2))
		} else {
			other.append(other.charge(ledger.Writer{Principal: principal, Name: "request/1"}, 0, 1))
		}
	}
	similar := alike(100) // of which any two may be taken for each other
	for _, principal := range similar {
		b.append(b.charge(ledger.Writer{Principal: principal, Name: "request/1"}, 0, 1))
		b.append(b.charge(ledger.Writer{Principal: principal, Name: "request/2"}, 0, 1))
	}
	for w := range b.last {
		if i := slices.Index(similar, w.Principal); i > 8 && i%16 > 0 {
			continue // each asks for all the others
		}
		b.checkNamesakes(w)
		b.checkRecordOf(w, 1)
		if !w.Single() {
			continue
		}
		// Whoever takes it for a new request ID is refused.
		r := b.charge(w, 3, 1)
		r.Sequence, b.last[w] = 1, 1
		batch := ledger.NewBatch(b.state)
		if d := batch.Decide(r, ledger.Lane{}, timeOf(0)); d.Err != nil {
			t.Fatal(d.Err)
		}
		if _, err := s.Append([]ledger.Proposal{batch.Proposal()}); err == nil {
			t.Fatalf("%v has written twice", w)
		}
	}
	b.check()
	for w := range other.last {
		other.checkNamesakes(w)
		other.checkRecordOf(w, 1)
	}
}

// alike returns principals, n or more, of whose SHA-256 the first two bytes are those of another one.
func alike(n int) (list []string) {
	first := map[[2]byte]string{}
	for i := 0; len(list) < n; i++ {
		principal := fmt.Sprint("uid:", i)
		sum := sha256.Sum256([]byte(principal))
		other, there := first[[2]byte(sum[:])]
		if !there {
			first[[2]byte(sum[:])] = principal
		} else if other != "" {
			list, first[[2]byte(sum[:])] = append(list, other, principal), ""
		}
	}
	return list
}

func testManyWriters(t *testing.T, h Harness) {
	s := h.open(t)
	b := create(t, s, "l")
	// Writers take turns within an Append, from one to the next, and come back.
	for round := range 6 {
		var requests []ledger.Request
		for i := range 12 {
			requests = append(requests, b.charge(writer((i*5+round)%9), 0, 1))
		}
		b.append(requests...)
		b.append(b.charge(writer(round%3), 0, 1))
		b.append(b.charge(ledger.Writer{Principal: "unverified:p0", Name: fmt.Sprintf("request/%d", round)}, 0, 1))
		b.check()
	}
	for w, last := range b.last {
		for sequence := uint64(0); sequence <= last+1; sequence++ {
			b.checkRecordOf(w, sequence)
		}
	}
	for w := range b.last {
		b.checkNamesakes(w)
	}
	// The same name of another principal is another writer.
	w := writer(0)
	b.checkRecordOf(ledger.Writer{Principal: w.Principal + "x", Name: w.Name}, 1)
	b.checkRecordOf(ledger.Writer{Principal: w.Principal + w.Name[:1], Name: w.Name[1:]}, 1)
}
