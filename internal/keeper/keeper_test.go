// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

func do(t *testing.T, k *Keeper, r ledger.Request) Result {
	t.Helper()
	result, err := k.Do(t.Context(), "a", r)
	if err != nil {
		t.Fatalf("Do(%s, %d): %v", r.Writer.Name, r.Sequence, err)
	}
	return result
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error: %v; want: %v", err, want)
	}
}

func refuses(t *testing.T, k *Keeper, r ledger.Request, want error) {
	t.Helper()
	_, err := k.Do(t.Context(), "a", r)
	wantErr(t, err, want)
}

func TestOneLane(t *testing.T) {
	s := newTestStore("a")
	k := newKeeper(t, Config{Store: s})
	first := do(t, k, charge("w", 1, 5))
	if r := first.Receipt; first.Replayed || r.Position != 1 || r.Sequence != 1 || r.StoreID != "store" ||
		r.Ledger != "a" || r.Writer != writerOf("w") || r.Head != s.ledgers["a"].records[0].Hash || r.Time.IsZero() {
		t.Fatalf("first result: %+v", first)
	}
	if again := do(t, k, charge("w", 1, 5)); again != (Result{first.Receipt, true}) {
		t.Errorf("duplicate of the newest: %+v; want the first receipt, replayed", again)
	}
	refuses(t, k, charge("w", 1, 6), ledger.ErrReused)
	refuses(t, k, charge("w", 3, 6), ledger.ErrGap)
	refuses(t, k, charge("w", 0, 6), ledger.ErrGap)

	check := charge("w", 2, 6)
	check.CheckOnly = true
	if r := do(t, k, check); r != (Result{}) {
		t.Errorf("check only: %+v; want an empty result", r)
	}
	do(t, k, charge("w", 2, 7)) // the number is still free
	if again := do(t, k, charge("w", 1, 5)); again != (Result{first.Receipt, true}) {
		t.Errorf("duplicate of an older one: %+v; want the first receipt, replayed", again)
	}

	do(t, k, closing("closer", 1))
	refuses(t, k, charge("w", 3, 1), ledger.ErrClosed)
	refuses(t, k, charge("other", 1, 1), ledger.ErrClosed)
	if again := do(t, k, charge("w", 2, 7)); !again.Replayed {
		t.Error("a duplicate is answered after closing too")
	}
	if again := do(t, k, closing("closer", 1)); !again.Replayed {
		t.Error("a duplicate close is answered")
	}
	if s.appends != 3 {
		t.Errorf("appends: %d; want 3: without entries there is nothing to write", s.appends)
	}
	if n := len(checkLedger(t, k, s, "a")); n != 3 {
		t.Errorf("records: %d; want 3", n)
	}
	sequence, position, err := k.Writer(t.Context(), "a", writerOf("w"))
	if sequence != 2 || position != 2 || err != nil {
		t.Errorf("Writer: %d, %d, %v; want 2, 2", sequence, position, err)
	}
}

func TestCreateAndReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore()
		k := newKeeper(t, Config{Store: s})
		g := ledger.Genesis{Spec: ledger.Spec{Name: "a", Adjacency: mechanism.ZeroOut}}
		if _, created, err := k.Create(t.Context(), g); !created || err != nil {
			t.Fatalf("Create: %v, %v", created, err)
		}
		again, created, err := k.Create(t.Context(), g)
		if created || err != nil || again.Genesis.Time.IsZero() {
			t.Errorf("Create again: %+v, %v, %v; want the first, with its time", again, created, err)
		}
		if adj, err := k.Adjacency(t.Context(), "a"); adj != mechanism.ZeroOut || err != nil {
			t.Errorf("Adjacency: %v, %v", adj, err)
		}
		if sum, err := k.Summary(t.Context(), "a"); !reflect.DeepEqual(sum, again) || err != nil {
			t.Errorf("Summary: %+v, %v; want what Create returned", sum, err)
		}
		for name, f := range map[string]func() error{
			"Do":      func() error { _, err := k.Do(t.Context(), "none", charge("w", 1, 1)); return err },
			"Open":    func() error { _, _, err := k.Open(t.Context(), "none", writerOf("w")); return err },
			"Summary": func() error { _, err := k.Summary(t.Context(), "none"); return err },
			"Writer":  func() error { _, _, err := k.Writer(t.Context(), "none", writerOf("w")); return err },
		} {
			if err := f(); !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("%s of a missing ledger: %v", name, err)
			}
		}
		synctest.Wait()
		if len(k.queues) != 1 || k.writers.list.Len() != 0 {
			t.Errorf("%d queues, %d writers kept; want nothing of a missing ledger",
				len(k.queues), k.writers.list.Len())
		}
	})
}

// A damaged ledger is refused, and no other is touched.
func TestDamagedLedger(t *testing.T) {
	s := newTestStore("a", "b")
	s.damaged["b"] = true
	k := newKeeper(t, Config{Store: s})
	do(t, k, charge("w", 1, 1))
	_, err := k.Do(t.Context(), "b", charge("w", 1, 1))
	wantErr(t, err, ledger.ErrDamaged)
	_, _, err = k.Composition(t.Context(), "b")
	wantErr(t, err, ledger.ErrDamaged)
	do(t, k, charge("w", 2, 1))
	s.damaged["b"] = false // restored by its operator
	if _, err := k.Do(t.Context(), "b", charge("w", 1, 1)); err != nil {
		t.Error(err)
	}
}

// A lane whose rows cannot be read, or do not fit together, is refused alone.
func TestDamagedLane(t *testing.T) {
	s := newTestStore("a")
	k := newKeeper(t, Config{Store: lostStore{s}})
	do(t, k, charge("w", 1, 1))
	do(t, k, charge("w", 2, 1))
	refuses(t, k, charge("w", 1, 1), ledger.ErrDamaged)
	refuses(t, k, charge("unreadable", 1, 1), ledger.ErrDamaged)
	_, _, err := k.Open(t.Context(), "a", writerOf("unreadable"))
	wantErr(t, err, ledger.ErrDamaged)
	do(t, k, charge("w", 3, 1))
	checkLedger(t, k, s, "a")
}

// lostStore has lost its index of records, and one writer's row.
type lostStore struct{ *testStore }

func (lostStore) RecordOf(string, ledger.Writer, uint64) (ledger.Record, error) {
	return ledger.Record{}, ledger.ErrNotFound
}

func (s lostStore) Writer(name string, w ledger.Writer) (sequence, position uint64, err error) {
	if w.Name == "unreadable" {
		return 0, 0, ledger.ErrDamaged
	}
	return s.testStore.Writer(name, w)
}

// hold makes the store's appends of a ledger wait until release is called.
func hold(s *testStore, name string, f func(n int) fault) (release func()) {
	held := make(chan struct{})
	s.fault = func(n int, p ledger.Proposal) fault {
		if p.Ledger == name {
			<-held
		}
		if f == nil {
			return fault{}
		}
		return f(n)
	}
	return func() { close(held) }
}

// async starts a call and returns where its answer will be.
func async(k *Keeper, ctx context.Context, name string, r ledger.Request) *pending {
	p := &pending{}
	go func() {
		p.result, p.err = k.Do(ctx, name, r)
		p.done = true
	}()
	return p
}

// pending is read only after synctest.Wait.
type pending struct {
	result Result
	err    error
	done   bool
}

// While one batch is being written the next one gathers; its refusals and
// duplicates wait for its commit, and fall with it.
func TestAnswersWaitForTheirCommit(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("lost=", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestStore("a", "b")
				second := make(chan struct{})
				release := hold(s, "a", func(n int) fault {
					if n == 2 {
						<-second
						if lost {
							return fault{err: ledger.ErrUnavailable}
						}
					}
					return fault{}
				})
				k := newKeeper(t, Config{Store: s})
				ctx := t.Context()
				one := async(k, ctx, "a", charge("one", 1, 1))
				synctest.Wait() // one is in the store
				closed := async(k, ctx, "a", closing("two", 1))
				synctest.Wait()
				refused := async(k, ctx, "a", charge("three", 1, 1))
				duplicate := async(k, ctx, "a", charge("one", 1, 1))
				synctest.Wait()
				if !duplicate.done || !errors.Is(duplicate.err, ErrBusy) {
					t.Fatalf("second call of a busy lane: %+v", duplicate)
				}
				release()
				synctest.Wait()
				if !one.done || one.err != nil || closed.done || refused.done {
					t.Fatalf("after the first commit: %+v %+v %+v", one, closed, refused)
				}
				duplicate = async(k, ctx, "a", charge("one", 1, 1))
				synctest.Wait()
				if duplicate.done {
					t.Error("the queue is decided in order: a duplicate waits behind the batch in flight")
				}
				if sum, err := k.Summary(ctx, "a"); sum.Closed || sum.Head.Position != 1 || err != nil {
					t.Errorf("queries read committed state, at once: %+v, %v", sum, err)
				}
				if _, err := k.Do(ctx, "b", charge("w", 1, 1)); err != nil {
					t.Errorf("another ledger is not held up: %v", err)
				}
				close(second)
				synctest.Wait()
				if !duplicate.result.Replayed {
					t.Errorf("duplicate: %+v", duplicate)
				}
				if lost {
					wantErr(t, closed.err, ledger.ErrUnavailable)
					wantErr(t, refused.err, ledger.ErrUnavailable)
				} else {
					wantErr(t, closed.err, nil)
					wantErr(t, refused.err, ledger.ErrClosed)
				}
				if s.appends != 3 {
					t.Errorf("appends: %d; want 3: one each, and one of b", s.appends)
				}
				checkLedger(t, k, s, "a")
			})
		})
	}
}

// A call whose caller went away stays in flight until it is decided.
func TestCancelledCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s})
		ctx, cancel := context.WithCancel(t.Context())
		first := async(k, ctx, "a", charge("w", 1, 1))
		synctest.Wait()
		cancel()
		synctest.Wait()
		wantErr(t, first.err, context.Canceled)
		refuses(t, k, charge("w", 1, 1), ErrBusy)
		release()
		synctest.Wait()
		if again := do(t, k, charge("w", 1, 1)); !again.Replayed || again.Receipt.Position != 1 {
			t.Errorf("retry: %+v; want the first receipt", again)
		}
		if _, err := k.Do(ctx, "a", charge("w", 2, 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
		checkLedger(t, k, s, "a")
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s, QueueRequests: 2, MaxWriters: 1})
		var calls []*pending
		for i := range 5 {
			calls = append(calls, async(k, t.Context(), "a", charge(fmt.Sprint(i), 1, 1)))
			synctest.Wait()
		}
		wantErr(t, calls[3].err, ledger.ErrUnavailable)
		wantErr(t, calls[4].err, ledger.ErrUnavailable)
		release()
		synctest.Wait()
		for _, c := range calls[:3] {
			wantErr(t, c.err, nil)
		}
		if n := len(checkLedger(t, k, s, "a")); n != 3 {
			t.Errorf("records: %d; want 3", n)
		}
		if q := k.queues["a"]; q.waiting != 0 || q.bytes != 0 || q.running || len(q.writers) != 1 {
			t.Errorf("queue: %d waiting, %d bytes, running %v, %d writers; want it at rest with 1", q.waiting, q.bytes,
				q.running, len(q.writers))
		}
	})
}

// An answer that is there is given, even if the caller has given up.
func TestAnswerBeforeCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		c := &call{done: make(chan struct{}, 1), result: Result{Replayed: true}}
		c.done <- struct{}{}
		if r, err := c.wait(ctx); !r.Replayed || err != nil {
			t.Fatalf("answer: %+v, %v", r, err)
		}
	}
}

// Batches keep to their bounds, and a request over them is a batch of its own.
func TestBatchIsBounded(t *testing.T) {
	one := charge("w", 1, 1).Weight()
	for _, c := range []struct {
		name   string
		config Config
		want   []int
	}{
		{"everything that waits", Config{}, []int{1, 20}},
		{"requests", Config{BatchRequests: 4}, []int{1, 4, 4, 4, 4, 4}},
		{"bytes", Config{BatchBytes: 3*one + 1}, []int{1, 3, 3, 3, 3, 3, 3, 2}},
		{"fewer bytes than a request", Config{BatchBytes: 1}, slices.Repeat([]int{1}, 21)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestStore("a")
				held := make(chan struct{})
				var got []int
				s.fault = func(_ int, p ledger.Proposal) fault {
					<-held
					got = append(got, len(p.Entries))
					return fault{}
				}
				c.config.Store = s
				k := newKeeper(t, c.config)
				l := open(t, k, "w", 0)
				send(t, l, numbered(1)...)
				synctest.Wait()
				for i := range uint64(20) {
					send(t, l, numbered(i+2)...)
				}
				close(held)
				synctest.Wait()
				if !slices.Equal(got, c.want) {
					t.Errorf("entries of each append: %v; want %v", got, c.want)
				}
				defer l.Close()
			})
		})
	}
}

// Ledgers do not wait for each other, however many there are; afterwards few
// goroutines stay.
func TestManyLedgersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore()
		held := make(chan struct{})
		s.fault = func(int, ledger.Proposal) fault { <-held; return fault{} }
		k := newKeeper(t, Config{Store: s})
		var calls []*pending
		for i := range 3 * maxIdleWorkers {
			name := fmt.Sprint("l", i)
			if _, _, err := k.Create(t.Context(), ledger.Genesis{Spec: ledger.Spec{Name: name}}); err != nil {
				t.Fatal(err)
			}
			calls = append(calls, async(k, t.Context(), name, charge("w", 1, 1)))
		}
		synctest.Wait()
		if s.appends != len(calls) {
			t.Errorf("appends in flight: %d; want %d", s.appends, len(calls))
		}
		close(held)
		synctest.Wait()
		for _, c := range calls {
			wantErr(t, c.err, nil)
		}
		if n := k.idleWorkers.Load(); n != maxIdleWorkers {
			t.Errorf("goroutines that stay: %d; want %d", n, maxIdleWorkers)
		}
	})
}

// What nobody uses is forgotten above a bound, and read again when needed.
func TestIdleIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"a", "b", "c", "d"}
		s := newTestStore(names...)
		k := newKeeper(t, Config{Store: s, MaxLedgers: 2, MaxWriters: 3})
		for i := range uint64(3) {
			for _, name := range names {
				for _, w := range []string{"v", "w"} {
					if _, err := k.Do(t.Context(), name, charge(w, i+1, uint32(i+1))); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if len(k.queues) > 2 || k.writers.list.Len() > 3 || k.pins != 0 {
						t.Fatalf("%d ledgers and %d writers are kept; allowed: 2 and 3",
							len(k.queues), k.writers.list.Len())
					}
				}
			}
		}
		for _, name := range names {
			if n := len(checkLedger(t, k, s, name)); n != 6 {
				t.Errorf("%s: %d records; want 6", name, n)
			}
		}
		if s.loads < 12 {
			t.Errorf("loads: %d; want ≥ 12: four ledgers in turn do not fit into two", s.loads)
		}
		// A bound on mechanisms keeps the newest ledger, however large.
		k = newKeeper(t, Config{Store: s, MaxMechanisms: 1})
		for range 3 {
			for _, name := range names {
				checkLedger(t, k, s, name)
				synctest.Wait() // a call may return before the last one has let go of its ledger
				if k.idle.Len() != 1 || len(k.queues) != 1 {
					t.Fatalf("idle ledgers: %d of %d; want 1", k.idle.Len(), len(k.queues))
				}
			}
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s})
		l, _, err := k.Open(t.Context(), "a", writerOf("stream"))
		wantErr(t, err, nil)
		wantErr(t, l.Send(t.Context(), charge("", 1, 1)), nil)
		call := async(k, t.Context(), "a", charge("w", 1, 1))
		synctest.Wait()
		var opened error
		go func() { _, _, opened = k.Open(t.Context(), "a", writerOf("w")) }()
		synctest.Wait()

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantErr(t, k.Close(ctx), context.Canceled)
		synctest.Wait()
		wantErr(t, opened, ledger.ErrUnavailable)
		wantErr(t, l.Send(t.Context(), charge("", 2, 1)), ledger.ErrUnavailable)
		refuses(t, k, charge("v", 1, 1), ledger.ErrUnavailable)
		_, err = k.Summary(t.Context(), "a")
		wantErr(t, err, ledger.ErrUnavailable)
		_, _, err = k.Writer(t.Context(), "a", writerOf("w"))
		wantErr(t, err, ledger.ErrUnavailable)

		release()
		wantErr(t, k.Close(t.Context()), nil)
		synctest.Wait()
		wantErr(t, call.err, nil)
		got, err := l.Receive(t.Context())
		if len(got) != 1 || got[0].Err != nil || err != nil {
			t.Errorf("what was queued is answered: %+v, %v", got, err)
		}
		_, err = l.Receive(t.Context())
		wantErr(t, err, ledger.ErrUnavailable)
		if n := len(s.ledgers["a"].records); n != 2 || k.pins != 0 {
			t.Errorf("records: %d, pins: %d; want 2, 0", n, k.pins)
		}
	})
}
