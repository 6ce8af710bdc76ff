// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// budgeted is a ledger in which ten times ε = 0.1 fit.
func budgeted() ledger.Genesis {
	return ledger.Genesis{Principal: "p", Time: time.Unix(0, 0), Spec: ledger.Spec{
		Name: "a", Adjacency: mechanism.AddOrRemoveOne, Policy: ledger.Filtered,
		Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 1}},
	}}
}

func tenth(writer string, sequence uint64) ledger.Request {
	return ledger.Request{
		Writer: writerOf(writer), Sequence: sequence,
		Action: ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 1}}},
	}
}

// A ledger is resolved when it is created, and never again.
func TestCreateResolves(t *testing.T) {
	k := newKeeper(t, Config{Store: memory.New(memory.Config{})})
	sum, created, err := k.Create(t.Context(), budgeted())
	if err != nil || !created || len(sum.Genesis.Resolution.Limits) != 1 {
		t.Fatalf("%+v, %v, %v", sum, created, err)
	}
	again, created, err := k.Create(t.Context(), budgeted())
	if err != nil || created || !again.Genesis.Resolution.Equal(sum.Genesis.Resolution) {
		t.Errorf("again: %+v, %v, %v", again, created, err)
	}
	other := budgeted()
	other.Spec.Budgets[0].Epsilon = 2
	_, _, err = k.Create(t.Context(), other)
	wantErr(t, err, ledger.ErrExists)
	other.Spec.Name, other.Spec.Budgets[0].Guard = "b", accountant.GuardGDP
	var pe *mechanism.ParameterError
	if _, _, err := k.Create(t.Context(), other); !errors.As(err, &pe) || pe.Field != "budgets[0].bound" {
		t.Errorf("a budget that is not allowed: %v", err)
	}
}

// Writers that charge at the same time get exactly what fits, through conflicts,
// lost answers and retries; what was refused leaves its sequence number free.
func TestConcurrentChargesKeepTheBudget(t *testing.T) {
	store := memory.New(memory.Config{})
	if _, _, err := newKeeper(t, Config{Store: store}).Create(t.Context(), budgeted()); err != nil {
		t.Fatal(err)
	}
	store.FailNext(memory.Conflict, memory.FailAndKeep, memory.Unavailable, memory.FailAndLose, memory.Conflict)
	keepers := []*Keeper{newKeeper(t, Config{Store: store}), newKeeper(t, Config{Store: store})}
	var accepted atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			k, w := keepers[i%2], fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
			for sequence := uint64(1); ; {
				_, err := k.Do(t.Context(), "a", tenth(w, sequence))
				switch {
				case err == nil:
					accepted.Add(1)
					sequence++
				case errors.Is(err, ledger.ErrBudget):
					if last, _, err := k.Writer(t.Context(), "a", writerOf(w)); err != nil || last != sequence-1 {
						t.Errorf("%s stands at %d, %v; acknowledged: %d", w, last, err, sequence-1)
					}
					return
				case !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrUnknown):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	_, sum, err := keepers[0].Composition(t.Context(), "a")
	if err != nil || sum.Total != 10 || accepted.Load() != 10 {
		t.Errorf("%d acknowledged, %d charged, %v; want 10", accepted.Load(), sum.Total, err)
	}
}

func action(writer string, sequence uint64, v ledger.Action) ledger.Request {
	return ledger.Request{Writer: lane(writer), Sequence: sequence, Digest: digestOf(v), Action: v}
}

// lane is a writer with a name that the memory store takes.
func lane(letter string) ledger.Writer {
	return writerOf(fmt.Sprintf("00000000-0000-4000-8000-%012x", letter))
}

// digestOf stands for package wire's, which this room does not import.
func digestOf(v ledger.Action) ledger.Digest {
	var d ledger.Digest
	copy(d[:], fmt.Sprintf("%T", v))
	return d
}

func tenths(n uint32) []mechanism.Event {
	return []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: n}}
}

// Reservations expire by entries, once each however many daemons try, and only
// what is left of them is charged.
func TestExpire(t *testing.T) {
	store := memory.New(memory.Config{})
	now := time.Unix(1000, 0)
	config := Config{Store: store, Digest: digestOf, Now: func() time.Time { return now }}
	k, other := newKeeper(t, config), newKeeper(t, config)
	for _, name := range []string{"a", "b", "idle"} {
		g := budgeted()
		g.Spec.Name = name
		if _, _, err := k.Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if next, err := k.Expire(t.Context()); !next.IsZero() || err != nil {
		t.Errorf("nothing open: %v, %v", next, err)
	}
	do := func(name string, r ledger.Request) {
		t.Helper()
		if _, err := k.Do(t.Context(), name, r); err != nil {
			t.Fatal(err)
		}
	}
	do("a", action("w", 1, ledger.Reserve{Events: tenths(4), Lifetime: 10 * time.Second}))
	do("a", action("w", 2, ledger.Reserve{Events: tenths(3), Lifetime: 20 * time.Second}))
	do("b", action("w", 1, ledger.Reserve{Events: tenths(2), Lifetime: 15 * time.Second}))
	expect := func(k *Keeper, at int64, wantNext int64, wantSpent, wantOpen int) {
		t.Helper()
		now = time.Unix(at, 0)
		next, err := k.Expire(t.Context())
		if err != nil || wantNext == 0 != next.IsZero() || wantNext != 0 && next.Unix() != wantNext {
			t.Fatalf("at %d: %v, %v; want %d", at, next, err, wantNext)
		}
		snapshot, err := store.Load("a")
		if err != nil || snapshot.Total != uint64(wantSpent) || len(snapshot.Open) != wantOpen {
			t.Errorf("at %d: %d spent, %d open, %v; want %d, %d", at, snapshot.Total, len(snapshot.Open),
				err, wantSpent, wantOpen)
		}
	}
	expect(k, 1009, 1010, 0, 2)
	now = time.Unix(1012, 0)
	do("a", action("w", 3, ledger.Commit{Reservation: 1, Events: tenths(3)})) // late, but before the entry
	expect(k, 1012, 1015, 4, 1)
	expect(other, 1012, 1015, 4, 1)
	_, err := k.Do(t.Context(), "a", action("w", 4, ledger.Commit{Reservation: 1, Events: tenths(1)}))
	wantErr(t, err, ledger.ErrReservation)
	expect(k, 1030, 0, 7, 0)
	expect(other, 1030, 0, 7, 0)
	records, err := store.Records("a", 1, 100)
	if err != nil || len(records) != 5 {
		t.Fatalf("%d records, %v; want 5", len(records), err)
	}
	for _, i := range []int{3, 4} {
		e := records[i].Entry
		if v, ok := e.Action.(ledger.Expire); !ok || e.Writer.Principal != "daemon" || e.Digest != digestOf(v) {
			t.Errorf("record %d: %+v; want an expiry", i, e)
		}
	}
}

// A store that fails for one ledger does not keep others from expiring.
func TestExpireGoesOn(t *testing.T) {
	store := memory.New(memory.Config{})
	now := time.Unix(1000, 0)
	k := newKeeper(t, Config{Store: store, Digest: digestOf, Now: func() time.Time { return now }})
	for _, name := range []string{"a", "b"} {
		g := budgeted()
		g.Spec.Name = name
		if _, _, err := k.Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Do(t.Context(), name,
			action("w", 1, ledger.Reserve{Events: tenths(4), Lifetime: time.Second})); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Minute)
	store.FailNext(memory.Unavailable)
	_, err := k.Expire(t.Context())
	wantErr(t, err, ledger.ErrUnavailable)
	if names, err := store.Reserving(); err != nil || len(names) != 1 || names[0] != "a" {
		t.Errorf("still open: %v, %v; want that of a", names, err)
	}
	if next, err := k.Expire(t.Context()); err != nil || !next.IsZero() {
		t.Errorf("again: %v, %v", next, err)
	}
}

// What another keeper has given back is there at once: a refusal is by the newest
// state.
func TestRefusalsAreByTheNewestState(t *testing.T) {
	keepers, _ := two(t, memory.Config{})
	k, other := keepers[0], keepers[1]
	if _, err := k.Do(t.Context(), "a",
		action("w", 1, ledger.Reserve{Events: tenths(10), Lifetime: time.Hour})); err != nil {
		t.Fatal(err)
	}
	_, err := other.Do(t.Context(), "a", action("v", 1, ledger.Charge{Events: tenths(1)}))
	wantErr(t, err, ledger.ErrBudget)
	if _, err := k.Do(t.Context(), "a", action("w", 2, ledger.Release{Reservation: 1})); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Do(t.Context(), "a", action("v", 1, ledger.Charge{Events: tenths(1)})); err != nil {
		t.Errorf("after the release: %v", err)
	}
	if _, err := other.Do(t.Context(), "a",
		action("v", 2, ledger.Reserve{Events: tenths(2), Lifetime: time.Hour})); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Do(t.Context(), "a", action("w", 3, ledger.Commit{Reservation: 4, Events: tenths(1)})); err != nil {
		t.Errorf("a commit of what another keeper has reserved: %v", err)
	}
}

// hourBehind is a store whose clock is an hour behind this machine's: this machine's is fast.
type hourBehind struct{ memory.Shared }

func (hourBehind) Ahead() (time.Duration, error) { return -time.Hour, nil }

// A daemon whose clock is an hour fast does not end what others have reserved, and what it reserves ends in time.
func TestExpireByTheClockOfTheStore(t *testing.T) {
	now := time.Unix(10_000, 0)
	clock := func() time.Time { return now }
	store := memory.New(memory.Config{}).Shared()
	right := newKeeper(t, Config{Store: store, Digest: digestOf, Now: clock})
	fast := newKeeper(t, Config{Store: hourBehind{store.Beside(memory.Config{})}, Digest: digestOf,
		Now: func() time.Time { return now.Add(time.Hour) }})
	if _, _, err := right.Create(t.Context(), budgeted()); err != nil {
		t.Fatal(err)
	}
	for i, k := range []*Keeper{right, fast} {
		if _, err := k.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		v := ledger.Reserve{Events: tenths(1), Lifetime: 10 * time.Minute}
		if _, err := k.Do(t.Context(), "a", action(fmt.Sprint(i), 1, v)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		after time.Duration
		open  int
	}{{9 * time.Minute, 2}, {11 * time.Minute, 0}} {
		now = time.Unix(10_000, 0).Add(c.after)
		next, err := fast.Expire(t.Context())
		if err != nil || next.IsZero() != (c.open == 0) {
			t.Errorf("after %v: next %v, %v", c.after, next, err)
		}
		if snapshot, err := store.Load("a"); err != nil || len(snapshot.Open) != c.open {
			t.Errorf("after %v: %d are open, %v; want %d", c.after, len(snapshot.Open), err, c.open)
		}
	}
}
