// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// two returns keepers with a handle each on one store, which has the ledger "a" with budgets for ten tenths,
// and "d" without.
func two(t testing.TB, config memory.Config) (all [2]*Keeper, stores [2]memory.Shared) {
	t.Helper()
	return twoOn(t, config, func(_ int, s memory.Shared) ledger.Store { return s })
}

// twoOn is two with keepers that see their handles through what on returns.
func twoOn(t testing.TB, config memory.Config, on func(i int, s memory.Shared) ledger.Store) (all [2]*Keeper,
	stores [2]memory.Shared) {
	t.Helper()
	stores[0] = memory.New(config).Shared()
	stores[1] = stores[0].Beside(config)
	for i := range all {
		all[i] = newKeeper(t, Config{Store: on(i, stores[i]), Digest: wholeDigest})
	}
	plain := ledger.Genesis{Principal: "p", Spec: ledger.Spec{Name: "d", Adjacency: mechanism.AddOrRemoveOne}}
	for _, g := range []ledger.Genesis{budgeted(), plain} {
		if _, _, err := all[0].Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	return all, stores
}

// Two daemons in turn are as good as one: a dumb model, which knows nothing of daemons, says after each step
// what both of them answer.
func TestTwoDaemonsInTurn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		keepers, _ := two(t, memory.Config{})
		spent, held := map[string]uint64{}, map[string]uint64{}
		last := map[string]uint64{} // of each ledger's only lane
		open := map[string][]uint64{}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			k := keepers[rapid.IntRange(0, 1).Draw(rt, "daemon")]
			name := rapid.SampledFrom([]string{"a", "d"}).Draw(rt, "ledger")
			n := rapid.Uint32Range(1, 4).Draw(rt, "n")
			var v ledger.Action = ledger.Charge{Events: tenths(n)}
			check, release := false, uint64(0)
			switch move := rapid.IntRange(0, 4).Draw(rt, "action"); {
			case move == 0 && name == "a": // only where there are budgets
				v = ledger.Reserve{Events: tenths(n), Lifetime: time.Hour}
			case move == 1 && len(open[name]) > 0:
				release = open[name][0]
				v = ledger.Release{Reservation: release}
			case move == 2:
				check = true
			}
			fits := name == "d" || release > 0 || spent[name]+held[name]+uint64(n) <= 10
			result, err := k.Do(t.Context(), name, ledger.Request{Writer: lane("w"), Sequence: last[name] + 1,
				Digest: wholeDigest(v), Action: v, CheckOnly: check})
			if fits != (err == nil) || err != nil && !errors.Is(err, ledger.ErrBudget) {
				rt.Fatalf("%s: %+v: %v; fits: %v", name, v, err, fits)
			}
			if err == nil && !check {
				last[name]++
				switch v.(type) {
				case ledger.Reserve:
					open[name] = append(open[name], result.Receipt.Position)
					held[name] += uint64(n)
				case ledger.Release:
					open[name] = open[name][1:]
				default:
					spent[name] += uint64(n)
				}
				if release > 0 {
					held[name] = 0
					view, err := k.View(t.Context(), name)
					if err != nil {
						rt.Fatal(err)
					}
					for _, r := range view.Reservations {
						held[name] += r.Total()
					}
				}
			}
			for i, k := range keepers {
				view, err := k.View(t.Context(), name)
				var h uint64
				for _, r := range view.Reservations {
					h += r.Total()
				}
				if err != nil || view.Total != spent[name] || h != held[name] || view.Head.Position != last[name] {
					rt.Fatalf("daemon %d, %s: %d spent, %d held at %d, %v; want %d, %d, %d", i, name, view.Total, h,
						view.Head.Position, err, spent[name], held[name], last[name])
				}
			}
		}
	})
}

// A ledger, with budgets or without, is followed entry by entry. A question while nobody else writes reads nothing but
// the head.
func TestFollowingIsCheap(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "d"} {
		var stores [2]*counted
		keepers, _ := twoOn(t, memory.Config{}, func(i int, s memory.Shared) ledger.Store {
			stores[i] = &counted{Shared: s}
			return stores[i]
		})
		one, other := keepers[0], keepers[1]
		follow := func(i uint64) {
			if _, err := one.Do(t.Context(), name, action("w", i, ledger.Charge{Events: tenths(1)})); err != nil {
				t.Fatal(err)
			}
			if sum, err := other.Summary(t.Context(), name); err != nil || sum.Total != i {
				t.Fatalf("%s: %d, %v; want %d", name, sum.Total, err, i)
			}
		}
		follow(1) // with the first mechanism a budget's costs are found
		before := stores[1].loads
		for i := range uint64(9) {
			follow(i + 2)
		}
		if n := stores[1].loads - before; n != 0 {
			t.Errorf("%s: the ledger was read %d times; want never", name, n)
		}
		before = stores[1].records
		if _, err := other.Summary(t.Context(), name); err != nil || stores[1].records != before {
			t.Errorf("%s: a question without news has read %d times entries, %v", name, stores[1].records-before, err)
		}
	}
}

type counted struct {
	memory.Shared
	mu             sync.Mutex
	loads, records int
}

func (c *counted) Load(name string) (ledger.Snapshot, error) {
	c.mu.Lock()
	c.loads++
	c.mu.Unlock()
	return c.Shared.Load(name)
}

func (c *counted) Records(name string, from uint64, limit int) ([]ledger.Record, error) {
	c.mu.Lock()
	c.records++
	c.mu.Unlock()
	return c.Shared.Records(name, from, limit)
}

// What a failover has lost is not answered from memory.
func TestLostEntriesAreForgotten(t *testing.T) {
	t.Parallel()
	s := newTestStore("a")
	k := newKeeper(t, Config{Store: sharedStore{s}})
	for i := range uint64(3) {
		do(t, k, charge("w", i+1, 1))
	}
	s.mu.Lock()
	s.ledgers["a"].records = s.ledgers["a"].records[:1]
	s.mu.Unlock()
	if sum, err := k.Summary(t.Context(), "a"); err != nil || sum.Head.Position != 1 {
		t.Errorf("at %d, %v; want 1", sum.Head.Position, err)
	}
	do(t, k, charge("w", 2, 7)) // another entry in the place of the lost one
	checkLedger(t, k, s, "a")
}

// sharedStore is a testStore that others may write to as well.
type sharedStore struct{ *testStore }

// Records implements ledger.Store.
func (s sharedStore) Records(name string, from uint64, _ int) ([]ledger.Record, error) {
	all, err := s.testStore.Records(name, 1, 0)
	return all[min(from-1, uint64(len(all))):], err
}

// Heads implements Shared.
func (s sharedStore) Heads(names []string) ([]ledger.Head, error) {
	heads := make([]ledger.Head, len(names))
	for i, name := range names {
		if found, err := s.List(name, "", 1); err == nil && len(found) > 0 {
			heads[i] = found[0].Head
		}
	}
	return heads, nil
}

// Newer implements Shared.
func (s sharedStore) Newer(names []string, from []uint64, limit int) ([][]ledger.Record, error) {
	all := make([][]ledger.Record, len(names))
	for i, name := range names {
		var err error
		if all[i], err = s.Records(name, from[i], limit); err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return nil, err
		}
	}
	return all, nil
}

// InTurn implements Shared.
func (s sharedStore) InTurn(t ledger.Turn) ([][]ledger.Hash, error) {
	heads, err := s.Heads(t.Ledgers)
	newer := make([][]ledger.Record, len(t.Ledgers))
	for i, name := range t.Ledgers {
		if known := t.Known(i); err == nil && known != (ledger.Head{}) {
			newer[i], err = s.Records(name, known.Position+1, t.Limit)
		}
	}
	if err != nil {
		return nil, err
	}
	if batch := t.Decide(heads, newer); len(batch) > 0 {
		return s.Append(batch)
	}
	return nil, nil
}

// Changes implements Shared.
func (s sharedStore) Changes(func(...string)) (stop func()) { return func() {} }

// Ahead implements Shared.
func (s sharedStore) Ahead() (time.Duration, error) { return 0, nil }

// LostWhole implements Shared.
func (s sharedStore) LostWhole(string) (ledger.Head, error) { return ledger.Head{}, nil }

// A watcher sees what other daemons write: at once where the store tells, and otherwise when it looks by itself.
func TestWatchSeesOtherDaemons(t *testing.T) {
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprint(told), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				keepers, stores := two(t, memory.Config{})
				watcher := keepers[1]
				if !told {
					watcher = newKeeper(t, Config{Store: stores[1], Shared: silent{stores[1]}})
				}
				w := watch(t.Context(), watcher, "a")
				w.next(t, 0)
				w.nothing(t)
				begun := time.Now()
				if _, err := keepers[0].Do(t.Context(), "a", tenth(lane("w").Name, 1)); err != nil {
					t.Fatal(err)
				}
				w.next(t, 1)
				want := time.Duration(0)
				if !told {
					want = pollInterval
				}
				if took := time.Since(begun); took != want {
					t.Errorf("seen after %v; want %v", took, want)
				}
				w.nothing(t)
			})
		})
	}
}

// A cap that one daemon has lowered holds for charges through the other, from the moment that it was acknowledged.
func TestCapsOfOtherDaemons(t *testing.T) {
	t.Parallel()
	keepers, _ := two(t, memory.Config{})
	ctx := t.Context()
	spec := datasetSpec("d", "1", 20)
	spec.Dataset.Caps.Charge = 0.5
	if _, _, _, err := keepers[0].Register(ctx, Registration{
		Genesis: ledger.Genesis{Spec: spec, Principal: "uid:1"}}); err != nil {
		t.Fatal(err)
	}
	g := ledger.Genesis{Spec: rootSpec("l", "d", "1", ledger.Filtered, 10), Principal: "uid:1"}
	if _, _, err := keepers[1].Create(ctx, g); err != nil {
		t.Fatal(err)
	}
	sequence := uint64(0)
	charge := func(n int) error {
		_, err := keepers[1].Do(ctx, "l", action("w", sequence+1, ledger.Charge{Events: tenthsOf(n)}))
		if err == nil {
			sequence++
		}
		return err
	}
	if err := charge(3); err != nil {
		t.Fatal(err)
	}
	other := ledger.Genesis{Spec: rootSpec("m", "d", "1", ledger.Filtered, 1), Principal: "uid:1"}
	if _, _, err := keepers[0].Create(ctx, other); err != nil { // moves the record's head, and not the cap
		t.Fatal(err)
	}
	if err := charge(3); err != nil {
		t.Fatal(err)
	}
	v := ledger.AmendDataset{Caps: &ledger.Caps{Charge: 0.1}, Reason: "r"}
	if _, err := keepers[0].Do(ctx, spec.Name, action("w", 1, v)); err != nil {
		t.Fatal(err)
	}
	wantErr(t, charge(3), ledger.ErrDataset)
	if err := charge(1); err != nil {
		t.Error(err)
	}
}

// While one daemon registers a dataset, another cannot create a ledger of it that the first does not know: where
// several daemons serve the ledgers, the dataset is registered first.
func TestLedgersOfUnregisteredDatasets(t *testing.T) {
	t.Parallel()
	keepers, _ := two(t, memory.Config{})
	g := ledger.Genesis{Spec: rootSpec("l", "d", "1", ledger.Filtered, 3), Principal: "uid:1"}
	_, _, err := keepers[1].Create(t.Context(), g)
	wantErr(t, err, ledger.ErrDataset)
	if _, _, _, err := keepers[0].Register(t.Context(), Registration{
		Genesis: ledger.Genesis{Spec: datasetSpec("d", "1", 5), Principal: "uid:1"}}); err != nil {
		t.Fatal(err)
	}
	if _, created, err := keepers[1].Create(t.Context(), g); err != nil || !created {
		t.Errorf("%v, %v", created, err)
	}
	g.Spec.Name = "m"
	_, _, err = keepers[0].Create(t.Context(), g) // no more fits
	wantErr(t, err, ledger.ErrBudget)
}

// silent tells of no changes.
type silent struct{ fleet.Shared }

func (silent) Changes(func(...string)) (stop func()) { return func() {} }

// A question fails, soon, where the store does not tell how far others have come; and so does a watcher.
func TestNoOldAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, stores := two(t, memory.Config{})
		away := make(chan struct{})
		k := newKeeper(t, Config{Store: stores[0], Shared: hanging{stores[0], away}})
		begun := time.Now()
		_, err := k.View(t.Context(), "a")
		wantErr(t, err, ledger.ErrUnavailable)
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("refused after %v", took)
		}
		wantErr(t, k.Watch(t.Context(), "a", func(ledger.View) error { return nil }), ledger.ErrUnavailable)
		close(away)
		if _, err := k.View(t.Context(), "a"); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// hanging answers nothing until the store is there again.
type hanging struct {
	fleet.Shared
	back chan struct{}
}

func (h hanging) Heads(names []string) ([]ledger.Head, error) {
	<-h.back
	return h.Shared.Heads(names)
}

// A daemon that has one request is not starved by one that has very many: the store below makes a writer wait
// for the one before, as a database's row lock does, and takes its time.
func TestNobodyStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, stores := two(t, memory.Config{})
		row := make(chan struct{}, 1)
		busy := newKeeper(t, Config{Store: locked{stores[0], row}, BatchRequests: 4})
		other := newKeeper(t, Config{Store: locked{stores[1], row}})
		ctx, cancel := context.WithCancel(t.Context())
		l, _, err := busy.Open(ctx, "d", lane("s"))
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() {
			for n := uint64(1); ; n++ {
				if l.Send(ctx, action("", n, ledger.Charge{Events: tenths(1)})) != nil {
					return
				}
			}
		})
		both.Go(func() {
			for {
				results, err := l.Receive(ctx)
				if err != nil {
					return
				}
				for _, r := range results {
					if r.Err != nil {
						t.Errorf("the busy one: %v", r.Err)
					}
				}
			}
		})
		for n := range uint64(20) {
			if _, err := other.Do(t.Context(), "d", action("o", n+1, ledger.Charge{Events: tenths(1)})); err != nil {
				t.Errorf("the other, %d: %v", n+1, err)
			}
		}
		cancel()
		both.Wait()
		l.Close()
	})
}

// locked lets one handle write at a time, in the order in which they came.
type locked struct {
	memory.Shared
	row chan struct{}
}

func (l locked) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	l.row <- struct{}{}
	defer func() { <-l.row }()
	time.Sleep(2 * time.Millisecond)
	return l.Shared.Append(batch)
}

func (l locked) InTurn(t ledger.Turn) ([][]ledger.Hash, error) {
	l.row <- struct{}{}
	defer func() { <-l.row }()
	time.Sleep(2 * time.Millisecond)
	return l.Shared.InTurn(t)
}

func (l locked) Records(name string, from uint64, limit int) ([]ledger.Record, error) {
	time.Sleep(300 * time.Microsecond)
	return l.Shared.Records(name, from, limit)
}

// What a question costs, about a store that is used by this daemon alone and about a shared one.
func BenchmarkQuestion(b *testing.B) {
	for _, shared := range []bool{false, true} {
		b.Run(map[bool]string{false: "alone", true: "shared"}[shared], func(b *testing.B) {
			store := memory.New(memory.Config{})
			config := Config{Store: store}
			if shared {
				config.Store = store.Shared()
			}
			k := newKeeper(b, config)
			if _, _, err := k.Create(b.Context(), budgeted()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Standing(b.Context(), "a"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
