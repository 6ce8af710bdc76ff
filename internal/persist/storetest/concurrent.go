// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// testSameHead lets many append on the same head: exactly one may win.
func testSameHead(t *testing.T, h Harness) {
	s := h.open(t)
	b := create(t, s, "l")
	const n = 8
	for range 10 {
		batches := make([]*ledger.Batch, n)
		hashes := make([][][]ledger.Hash, n)
		errs := make([]error, n)
		for i := range n {
			batches[i] = b.decide(b.charge(writer(i), i, 1), b.charge(writer(i), 0, 1))
			b.last[writer(i)] -= 2
		}
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				<-start
				hashes[i], errs[i] = s.Append([]ledger.Proposal{batches[i].Proposal()})
			})
		}
		close(start)
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("%d and %d both appended on one head", winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, ledger.ErrConflict):
				t.Fatalf("Append = %v, want ErrConflict", err)
			}
		}
		if winner < 0 {
			t.Fatal("nobody appended")
		}
		b.last[writer(winner)] += 2
		b.apply(batches[winner], hashes[winner][0])
		b.check()
	}
}

// testManyLedgers lets each of many write to its own ledger and to one that all
// share, in one Append, while others read.
func testManyLedgers(t *testing.T, h Harness) {
	s := h.open(t)
	const n, rounds = 6, 12
	create(t, s, "shared")
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := readWhole(s, "shared"); err != nil {
					t.Errorf("read while others write: %v", err)
					return
				}
			}
		})
	}
	for i := range n {
		writers.Go(func() {
			own := fmt.Sprintf("own/%d", i)
			if _, _, err := s.Create(Genesis(own)); err != nil {
				t.Errorf("Create(%s): %v", own, err)
				return
			}
			for round := range rounds {
				if err := appendBoth(s, own, "shared", writer(i), uint64(round)); err != nil {
					t.Errorf("Append to %s: %v", own, err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	for i := range n {
		name := fmt.Sprintf("own/%d", i)
		for ledgerName, events := range map[string]uint64{name: rounds, "shared": rounds * n * 2} {
			snapshot, err := s.Load(ledgerName)
			if err != nil {
				t.Fatal(err)
			}
			if sum := ledger.NewState(snapshot).Summary(); sum.Total != events || sum.Head.Position != events {
				t.Errorf("ledger %s: total %d at position %d, want %d", ledgerName, sum.Total,
					sum.Head.Position, events)
			}
		}
	}
}

// appendBoth writes one entry to own and two to shared, again after a conflict.
func appendBoth(s ledger.Store, own, shared string, w ledger.Writer, round uint64) error {
	for {
		var batch []ledger.Proposal
		for _, name := range []string{shared, own} {
			snapshot, err := s.Load(name)
			if err != nil {
				return err
			}
			last, _, err := s.Writer(name, w)
			if err != nil {
				return err
			}
			b := book{s: s, name: name, last: map[ledger.Writer]uint64{w: last}}
			decided := ledger.NewBatch(ledger.NewState(snapshot))
			for range map[string]int{shared: 2, own: 1}[name] {
				if d := decided.Decide(b.charge(w, 0, 1), ledger.Lane{Sequence: last},
					timeOf(int(round))); d.Outcome != ledger.Accepted {
					return d.Err
				}
			}
			batch = append(batch, decided.Proposal())
		}
		_, err := s.Append(batch)
		if !errors.Is(err, ledger.ErrConflict) {
			return err
		}
	}
}

// readWhole reads a ledger that grows by two entries at a time, and checks that
// what it sees was committed as a whole.
func readWhole(s ledger.Store, name string) error {
	snapshot, err := s.Load(name)
	if err != nil {
		return err
	}
	sum := ledger.NewState(snapshot).Summary()
	if sum.Head.Position%2 != 0 || sum.Total != sum.Head.Position {
		return fmt.Errorf("half an Append: total %d at position %d", sum.Total, sum.Head.Position)
	}
	records, err := s.Records(name, 1, 1<<20)
	if err != nil {
		return err
	}
	if uint64(len(records)) < sum.Head.Position || len(records)%2 != 0 {
		return fmt.Errorf("%d records, after a head at %d", len(records), sum.Head.Position)
	}
	if p := sum.Head.Position; p > 0 && records[p-1].Hash != sum.Head.Hash {
		return fmt.Errorf("head hash %x, record %d has %x", sum.Head.Hash, p, records[p-1].Hash)
	}
	return nil
}

// Charge charges a ledger for one event of the i-th mechanism, in a lane of its own, again after a
// conflict.
func Charge(s ledger.Store, name string, i int) error {
	for {
		p, err := Proposed(s, name, i)
		if err != nil {
			return err
		}
		if _, err = s.Append([]ledger.Proposal{p}); !errors.Is(err, ledger.ErrConflict) {
			return err
		}
	}
}

// Proposed loads a ledger and returns what Charge appends to it.
func Proposed(s ledger.Store, name string, i int) (p ledger.Proposal, err error) {
	for {
		snapshot, err := s.Load(name)
		if err != nil {
			return p, err
		}
		last, position, err := s.Writer(name, writer(i))
		if err != nil {
			return p, err
		}
		if position > snapshot.Head.Position { // another one has written since
			continue
		}
		b := book{s: s, name: name, last: map[ledger.Writer]uint64{writer(i): last}}
		decided := ledger.NewBatch(ledger.NewState(snapshot))
		lane := ledger.Lane{Sequence: last, Position: position}
		if d := decided.Decide(b.charge(writer(i), i, 1), lane, timeOf(i)); d.Outcome != ledger.Accepted {
			return p, d.Err
		}
		return decided.Proposal(), nil
	}
}
