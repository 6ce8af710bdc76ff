// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// wholeDigest is of all that an action says.
func wholeDigest(v ledger.Action) ledger.Digest {
	return sha256.Sum256(fmt.Appendf(nil, "%T %+v", v, v))
}

// asking makes a keeper over a store and a function that asks it, writer by writer.
func asking(t *testing.T, store ledger.Store,
	now *time.Time) (*Keeper, func(name, writer string, v ledger.Action) (Result, error)) {
	t.Helper()
	k := newKeeper(t, Config{Store: store, Digest: wholeDigest, Now: func() time.Time { return *now }})
	return k, func(name, writer string, v ledger.Action) (Result, error) {
		last, _, err := k.Writer(t.Context(), name, lane(writer))
		if err != nil {
			return Result{}, err
		}
		return k.Do(t.Context(), name,
			ledger.Request{Writer: lane(writer), Sequence: last + 1, Digest: wholeDigest(v), Action: v})
	}
}

func refundOf(position uint64) ledger.Action { return ledger.Refund{Position: position, Reason: "r"} }

// A refund gives back what its entry charged: a charge, a commit, or what was left
// of a reservation when it expired. All of it is there after a restart.
func TestRefundsAreOfWhatWasCharged(t *testing.T) {
	store := memory.New(memory.Config{})
	now := time.Unix(1000, 0)
	k, ask := asking(t, store, &now)
	if _, _, err := k.Create(t.Context(), budgeted()); err != nil {
		t.Fatal(err)
	}
	must := func(v ledger.Action) ledger.Receipt {
		t.Helper()
		r, err := ask("a", "w", v)
		if err != nil {
			t.Fatalf("%+v: %v", v, err)
		}
		return r.Receipt
	}
	must(ledger.Charge{Events: tenths(2)})                                                    // 1
	must(ledger.Reserve{Events: append(tenths(3), tenths(4)...), Lifetime: 10 * time.Second}) // 2
	must(ledger.Commit{Reservation: 2, Events: tenths(1)})                                    // 3
	must(ledger.Commit{Reservation: 2, Events: tenths(2)})                                    // 4
	now = now.Add(time.Minute)
	if _, err := k.Expire(t.Context()); err != nil { // 5: 4 of them
		t.Fatal(err)
	}
	total := func(want uint64) {
		t.Helper()
		v, err := k.View(t.Context(), "a")
		if err != nil || v.Total != want {
			t.Fatalf("%d charged, %v; want %d", v.Total, err, want)
		}
	}
	total(9)
	for _, c := range []struct {
		position uint64
		says     string
	}{{2, "position: 2 is a reserve; allowed: the position of a charge"},
		{6, "position: 6 is not there"}, {0, "position: 0"}} {
		if _, err := ask("a", "w", refundOf(c.position)); !errors.Is(err, ledger.ErrRefund) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%v; want %s", err, c.says)
		}
	}
	first := must(refundOf(5)) // 6
	total(5)
	must(refundOf(4))
	total(3)
	must(refundOf(1))
	total(1)
	_, err := ask("a", "w", refundOf(4))
	wantErr(t, err, ledger.ErrRefund)
	k, ask = asking(t, store.Reopen(), &now)
	total(1)
	_, err = ask("a", "w", refundOf(4))
	wantErr(t, err, ledger.ErrRefund)
	must(ledger.Charge{Events: tenths(9)})
	if v, err := k.View(t.Context(), "a"); err != nil || v.Guarantee != "descriptive" || len(v.Assumptions) != 3 ||
		v.Budgets[0].Value.Remaining != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	must(ledger.Close{})
	_, err = ask("a", "w", refundOf(3))
	wantErr(t, err, ledger.ErrClosed)
	// A retry gets its receipt, closed or not.
	again, err := k.Do(t.Context(), "a",
		ledger.Request{Writer: first.Writer, Sequence: first.Sequence,
			Digest: wholeDigest(refundOf(5)), Action: refundOf(5)})
	if err != nil || !again.Replayed || again.Receipt != first {
		t.Errorf("again: %+v, %v; want %+v", again, err, first)
	}
	_, err = k.Do(t.Context(), "a",
		ledger.Request{Writer: first.Writer, Sequence: first.Sequence,
			Digest: wholeDigest(refundOf(3)), Action: refundOf(3)})
	wantErr(t, err, ledger.ErrReused)
}

// A raise is resolved by the keeper, enforced at once, and there after a restart.
func TestRaisesAreResolved(t *testing.T) {
	store := memory.New(memory.Config{})
	now := time.Unix(1000, 0)
	k, ask := asking(t, store, &now)
	if _, _, err := k.Create(t.Context(), budgeted()); err != nil {
		t.Fatal(err)
	}
	raise := func(epsilon float64) ledger.Action {
		return ledger.Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: epsilon}}, Reason: "r"}
	}
	if _, err := ask("a", "w", ledger.Charge{Events: tenths(10)}); err != nil {
		t.Fatal(err)
	}
	_, err := ask("a", "w", ledger.Charge{Events: tenths(1)})
	wantErr(t, err, ledger.ErrBudget)
	_, err = ask("a", "w", raise(0.5))
	wantErr(t, err, ledger.ErrRaise)
	if _, err := ask("a", "w", raise(1.5)); err != nil {
		t.Fatal(err)
	}
	if _, err := ask("a", "w", ledger.Charge{Events: tenths(4)}); err != nil {
		t.Errorf("within the new budget: %v", err)
	}
	k, ask = asking(t, store.Reopen(), &now)
	if _, err := ask("a", "w", ledger.Charge{Events: tenths(1)}); err != nil {
		t.Errorf("within the new budget: %v", err)
	}
	_, err = ask("a", "w", ledger.Charge{Events: tenths(1)})
	wantErr(t, err, ledger.ErrBudget)
	if v, err := k.View(t.Context(), "a"); err != nil || v.Guarantee != "descriptive" ||
		v.Budgets[0].Budget.Epsilon != 1.5 ||
		v.Resolution.Limits[0].Value != 1.5 || v.Genesis.Spec.Budgets[0].Epsilon != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	// The spec as requested is what a second CreateLedger is compared with.
	if _, created, err := k.Create(t.Context(), budgeted()); created || err != nil {
		t.Errorf("created again: %v, %v", created, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	v := raise(3)
	_, err = k.Do(ended, "a", ledger.Request{Writer: lane("v"), Sequence: 1, Digest: wholeDigest(v), Action: v})
	wantErr(t, err, context.Canceled)
	_, err = k.Do(t.Context(), "b", ledger.Request{Writer: lane("v"), Sequence: 1, Action: v})
	wantErr(t, err, ledger.ErrNotFound)
}

// childOf asks for a child of "a".
func childOf(name string, s ledger.Spec) ledger.Genesis {
	s.Name, s.Adjacency, s.Parent = name, mechanism.AddOrRemoveOne, "a"
	return ledger.Genesis{Principal: "p", Time: time.Unix(0, 0), Spec: s}
}

func plannedChild(name string, n uint32) ledger.Genesis {
	return childOf(name, ledger.Spec{Policy: ledger.Planned, Plan: ledger.Workload{Events: tenths(n)}})
}

func filteredChild(name string, epsilon float64) ledger.Genesis {
	return childOf(name, ledger.Spec{Policy: ledger.Filtered,
		Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: epsilon}}})
}

// checkParent: so many tenths are spent and held by children.
func checkParent(t *testing.T, k *Keeper, spent, held uint64) {
	t.Helper()
	v, err := k.View(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	amount := v.Budgets[0].Value
	if amount.Spent != float64(spent)/10 || amount.Reserved != float64(held)/10 {
		t.Fatalf("spent %v, held %v; want %d and %d tenths", amount.Spent, amount.Reserved, spent, held)
	}
}

// A child's charges touch only itself; its parent holds its share until it is
// closed.
func TestChildren(t *testing.T) {
	store := memory.New(memory.Config{})
	now := time.Unix(1000, 0)
	k, ask := asking(t, store, &now)
	if _, _, err := k.Create(t.Context(), budgeted()); err != nil {
		t.Fatal(err)
	}
	create := func(g ledger.Genesis) error {
		_, _, err := k.Create(t.Context(), g)
		return err
	}
	// p twice: one share
	for _, g := range []ledger.Genesis{plannedChild("p", 5), plannedChild("p", 5), filteredChild("f", 0.3)} {
		if err := create(g); err != nil {
			t.Fatal(err)
		}
	}
	checkParent(t, k, 0, 8)
	if err := create(plannedChild("q", 3)); !errors.Is(err, ledger.ErrBudget) ||
		!strings.HasPrefix(err.Error(), "parent: a: budget exceeded") {
		t.Errorf("above what is left: %v", err)
	}
	wantErr(t, create(plannedChild("p", 4)), ledger.ErrExists)
	_, err := k.Summary(t.Context(), "q")
	wantErr(t, err, ledger.ErrNotFound)
	grandchild := filteredChild("g", 0.1)
	grandchild.Spec.Parent = "f"
	if err := create(grandchild); err != nil {
		t.Fatal(err)
	}
	orphan := plannedChild("o", 1)
	orphan.Spec.Parent = "nobody"
	wantErr(t, create(orphan), ledger.ErrNotFound)
	other := plannedChild("o", 1)
	other.Spec.DatasetID = "d"
	wantErr(t, create(other), ledger.ErrParent)
	checkParent(t, k, 0, 8)

	must := func(name string, v ledger.Action) {
		t.Helper()
		if _, err := ask(name, "w", v); err != nil {
			t.Fatalf("%s: %+v: %v", name, v, err)
		}
	}
	refuse := func(name string, v ledger.Action, want error) {
		t.Helper()
		_, err := ask(name, "w", v)
		wantErr(t, err, want)
	}
	must("p", ledger.Charge{Events: tenths(2)})
	must("f", ledger.Charge{Events: tenths(2)})
	refuse("f", ledger.Charge{Events: tenths(1)}, ledger.ErrBudget) // its child has it
	must("g", ledger.Charge{Events: tenths(1)})
	must("p", ledger.Reserve{Events: tenths(1), Lifetime: time.Hour})
	refuse("a", ledger.Release{Reservation: 1}, ledger.ErrReservation)
	refuse("a", ledger.Commit{Reservation: 1, Events: tenths(1)}, ledger.ErrReservation)
	refuse("p", refundOf(1), ledger.ErrRefund)
	refuse("f", ledger.Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 1}}, Reason: "r"},
		ledger.ErrRaise)
	now = now.Add(1000 * time.Hour)
	if _, err := k.Expire(t.Context()); err != nil { // the reservation in p, not those in a
		t.Fatal(err)
	}
	checkParent(t, k, 0, 8)
	must("p", ledger.Close{}) // 3 of 5 were charged
	checkParent(t, k, 3, 3)
	must("f", ledger.Close{})
	checkParent(t, k, 6, 0)
	must("g", ledger.Close{}) // its parent is closed and has charged it already
	checkParent(t, k, 6, 0)
	if err := create(plannedChild("q", 3)); err != nil { // what p gave back
		t.Fatal(err)
	}
	must("q", ledger.Close{}) // nothing was charged
	checkParent(t, k, 6, 0)
	if next, err := k.Expire(t.Context()); err != nil || !next.IsZero() {
		t.Errorf("%v, %v", next, err)
	}
	checkParent(t, k, 6, 0)
	must("a", ledger.Close{})
	wantErr(t, create(plannedChild("late", 1)), ledger.ErrParent)
	_, _, err = newKeeper(t, Config{Store: store}).Create(t.Context(), plannedChild("late", 1))
	if err == nil {
		t.Error("a child without digests")
	}
}

// Wherever a crash or a refusing store cuts off the creation or the settling of a
// child, its parent never holds less than the child may have spent, and trying again
// completes it.
func TestChildrenThroughCrashes(t *testing.T) {
	for _, failure := range []memory.Failure{memory.FailAndKeep, memory.FailAndLose, memory.Unavailable,
		memory.TooLarge, memory.Conflict} {
		for _, planned := range []bool{true, false} {
			for at := range map[bool]int{true: 5, false: 4}[planned] { // writes there are
				t.Run(fmt.Sprintf("%d/%v/%d", failure, planned, at), func(t *testing.T) {
					child := filteredChild("c", 0.5)
					if planned {
						child = plannedChild("c", 5)
					}
					store := memory.New(memory.Config{StopOnUnknown: true})
					now := time.Unix(1000, 0)
					k, ask := asking(t, store, &now)
					if _, _, err := k.Create(t.Context(), budgeted()); err != nil {
						t.Fatal(err)
					}
					fail := slices.Repeat([]memory.Failure{memory.None}, at)
					store.FailNext(append(fail, failure)...)
					restart := func() {
						store = store.Reopen()
						k, ask = asking(t, store, &now)
					}
					retry := func(do func() error) {
						t.Helper()
						for try := 0; ; try++ {
							err := do()
							if err == nil {
								return
							}
							if try == 3 || errors.Is(err, ledger.ErrBudget) {
								t.Fatal(err)
							}
							restart()
						}
					}
					retry(func() error {
						_, _, err := k.Create(t.Context(), child)
						return err
					})
					checkParent(t, k, 0, 5)
					lane := ledger.Request{Writer: lane("w"), Sequence: 1, Action: ledger.Charge{Events: tenths(2)}}
					retry(func() error {
						_, err := k.Do(t.Context(), "c", lane)
						return err
					})
					checkParent(t, k, 0, 5)
					lane.Sequence, lane.Action = 2, ledger.Close{}
					retry(func() error {
						_, err := k.Do(t.Context(), "c", lane)
						return err
					})
					retry(func() error { // settling may have failed, and the store with it
						_, err := k.Expire(t.Context())
						return err
					})
					want := uint64(5)
					if planned {
						want = 2
					}
					checkParent(t, k, want, 0)
					if _, err := ask("a", "v", ledger.Charge{Events: tenths(uint32(10 - want))}); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// The creation of a child that fails leaves nothing set aside in its parent.
func TestAbandonedChild(t *testing.T) {
	store := memory.New(memory.Config{StopOnUnknown: true})
	now := time.Unix(1000, 0)
	k, _ := asking(t, store, &now)
	if _, _, err := k.Create(t.Context(), budgeted()); err != nil {
		t.Fatal(err)
	}
	store.FailNext(memory.FailAndLose)
	if _, _, err := k.Create(t.Context(), plannedChild("c", 7)); !errors.Is(err, ledger.ErrUnknown) {
		t.Fatal(err)
	}
	store = store.Reopen()
	k, _ = asking(t, store, &now)
	checkParent(t, k, 0, 0)
	if _, _, err := k.Create(t.Context(), plannedChild("c", 7)); err != nil {
		t.Fatal(err)
	}
	checkParent(t, k, 0, 7)
	store.FailNext(memory.TooLarge)
	_, _, err := k.Create(t.Context(), plannedChild("d", 3))
	wantErr(t, err, ledger.ErrTooLarge)
	checkParent(t, k, 0, 7)
}

// While one settles a child, another gives nothing back: the charge of the first may
// still fail, and what the child has spent would be lost.
func TestSettledByTwo(t *testing.T) {
	settling, fail := make(chan struct{}), make(chan struct{})
	first := true
	store := memory.New(memory.Config{Plan: func(batch []ledger.Proposal) memory.Failure {
		if len(batch) == 0 || len(batch[0].Entries) == 0 {
			return memory.None
		}
		if _, commit := batch[0].Entries[0].Action.(ledger.Commit); !commit || !first {
			return memory.None
		}
		first = false
		close(settling)
		<-fail
		return memory.Unavailable
	}})
	now := time.Unix(1000, 0)
	k, ask := asking(t, store, &now)
	for _, g := range []ledger.Genesis{budgeted(), plannedChild("c", 5)} {
		if _, _, err := k.Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ask("c", "w", ledger.Charge{Events: tenths(2)}); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := ask("c", "w", ledger.Close{}); err != nil {
			t.Error(err)
		}
	})
	<-settling
	done := make(chan struct{})
	both.Go(func() {
		defer close(done)
		if _, err := k.Expire(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for waiting, over := 0, false; waiting == 0 && !over; runtime.Gosched() {
		select {
		case <-done:
			over = true
		default:
		}
		k.mu.Lock()
		q := k.queues["a"]
		k.mu.Unlock()
		q.mu.Lock()
		waiting = q.waiting
		q.mu.Unlock()
	}
	close(fail)
	both.Wait()
	if _, err := k.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkParent(t, k, 2, 0)
}

// Two daemons create a child at the same time, each with another spec: one of them wins, and its share is set
// aside in the parent, whichever was first to look.
func TestCreatedByTwoAtOnce(t *testing.T) {
	for _, win := range []uint32{2, 7} {
		late, write := make(chan struct{}), make(chan struct{})
		var first sync.Once
		store := memory.New(memory.Config{Plan: func(batch []ledger.Proposal) memory.Failure {
			if len(batch) > 0 {
				first.Do(func() {
					close(late)
					<-write
				})
			}
			return memory.None
		}})
		now := time.Unix(1000, 0)
		k, _ := asking(t, store.Shared(), &now)
		other, _ := asking(t, store.Beside(memory.Config{}), &now)
		if _, _, err := k.Create(t.Context(), budgeted()); err != nil {
			t.Fatal(err)
		}
		lost := make(chan error, 1)
		go func() {
			_, _, err := k.Create(context.Background(), plannedChild("c", 9-win))
			lost <- err
		}()
		<-late
		if _, _, err := other.Create(t.Context(), plannedChild("c", win)); err != nil {
			t.Fatal(err)
		}
		close(write)
		wantErr(t, <-lost, ledger.ErrExists)
		checkParent(t, k, 0, uint64(win))
		checkParent(t, other, 0, uint64(win))
	}
}
