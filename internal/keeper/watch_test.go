// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// watching runs Watch and hands out the positions that it shows, one at a time: it
// is a reader as slow as the test.
type watching struct {
	shown chan ledger.View
	ended chan error
}

func watch(ctx context.Context, k *Keeper, name string) *watching {
	w := &watching{make(chan ledger.View), make(chan error, 1)}
	go func() {
		w.ended <- k.Watch(ctx, name, func(v ledger.View) error {
			select {
			case w.shown <- v:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return w
}

func (w *watching) next(t *testing.T, position uint64) ledger.View {
	t.Helper()
	select {
	case v := <-w.shown:
		if v.Head.Position != position {
			t.Errorf("shown: position %d; want %d", v.Head.Position, position)
		}
		return v
	case err := <-w.ended:
		t.Fatalf("Watch ended: %v; want position %d", err, position)
	}
	return ledger.View{}
}

// nothing waits until all goroutines rest, and wants nothing shown by then.
func (w *watching) nothing(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-w.shown:
		t.Errorf("shown: position %d; want nothing new", v.Head.Position)
	default:
	}
}

// The state as it is, then the newest after commits; the last is that of a close.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, Config{Store: newTestStore("a", "b")})
		do(t, k, charge("w", 1, 1))
		w := watch(t.Context(), k, "a")
		w.next(t, 1)
		w.nothing(t)
		refuses(t, k, charge("w", 3, 1), ledger.ErrGap)
		do(t, k, charge("w", 1, 1)) // a duplicate
		if _, err := k.Do(t.Context(), "b", charge("w", 1, 1)); err != nil {
			t.Fatal(err)
		}
		w.nothing(t) // none of these changes a
		do(t, k, charge("w", 2, 2))
		if v := w.next(t, 2); v.Total != v.Charged.Parts[0].Count+v.Charged.Parts[1].Count {
			t.Errorf("%+v is not of one position", v)
		}
		// A reader that takes its time holds nobody up and sees the newest only.
		for n := uint64(3); n <= 100; n++ {
			do(t, k, charge("w", n, 3))
		}
		// One of them may have been on its way to the reader.
		if v := <-w.shown; v.Head.Position != 100 {
			w.next(t, 100)
		}
		w.nothing(t)
		do(t, k, closing("closer", 1))
		if v := w.next(t, 101); !v.Closed {
			t.Error("the last state is not closed")
		}
		if err := <-w.ended; err != nil {
			t.Errorf("after the close: %v", err)
		}
		w = watch(t.Context(), k, "a")
		w.next(t, 101)
		if err := <-w.ended; err != nil {
			t.Errorf("of a closed ledger: %v", err)
		}
	})
}

func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, Config{Store: newTestStore("a")})
		wantErr(t, k.Watch(t.Context(), "none", func(ledger.View) error { return nil }), ledger.ErrNotFound)
		mine := errors.New("enough")
		wantErr(t, k.Watch(t.Context(), "a", func(ledger.View) error { return mine }), mine)

		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, k, "a")
		w.next(t, 0)
		synctest.Wait()
		cancel()
		wantErr(t, <-w.ended, context.Canceled)

		// Close ends those that rest, and waits for one whose reader is slow.
		rests, slow := watch(t.Context(), k, "a"), watch(t.Context(), k, "a")
		rests.next(t, 0)
		synctest.Wait() // both watch: a Watch after Close would only be refused
		closed := make(chan error, 1)
		go func() { closed <- k.Close(t.Context()) }()
		wantErr(t, <-rests.ended, ledger.ErrUnavailable)
		synctest.Wait()
		select {
		case err := <-closed:
			t.Errorf("Close returned %v while a ledger is read", err)
		default:
		}
		slow.next(t, 0)
		wantErr(t, <-slow.ended, ledger.ErrUnavailable)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		wantErr(t, k.Watch(t.Context(), "a", func(ledger.View) error { return nil }), ledger.ErrUnavailable)
	})
}

// Many watchers beside many writers: each sees growing positions whose sums are right, and the end.
func TestWatchWhileOthersWrite(t *testing.T) {
	s := newTestStore("a")
	k := newKeeper(t, Config{Store: s})
	var watchers, writers sync.WaitGroup
	const each, charges = 8, 50
	for range each {
		watchers.Go(func() {
			last := int64(-1)
			err := k.Watch(t.Context(), "a", func(v ledger.View) error {
				if int64(v.Head.Position) <= last {
					return fmt.Errorf("position %d after %d", v.Head.Position, last)
				}
				last = int64(v.Head.Position)
				if sum := v.Charged.Parts; len(sum) > 0 && sum[0].Count != v.Total {
					return fmt.Errorf("position %d: %d charged of a total of %d", last, sum[0].Count, v.Total)
				}
				if want := uint64(last); !v.Closed && v.Total != want {
					return fmt.Errorf("position %d: a total of %d; want %d", last, v.Total, want)
				}
				return nil
			})
			if err != nil || last != each*charges+1 {
				t.Errorf("watched until %d: %v; want %d", last, err, each*charges+1)
			}
		})
	}
	for i := range each {
		writers.Go(func() {
			for n := uint64(1); n <= charges; n++ {
				r := charge(fmt.Sprint("w", i), n, 1)
				if _, err := k.Do(t.Context(), "a", r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	do(t, k, closing("closer", 1))
	watchers.Wait()
}
