// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// at is the head of a ledger at a position.
func at(position uint64) ledger.Head { return ledger.Head{Position: position} }

// Questions that wait while a reading is under way share the next one, which begins after all of them.
func TestQuestionsShareAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var readings [][]string
		position := uint64(0)
		h := newHeads(func(names []string) ([]ledger.Head, error) {
			readings = append(readings, slices.Clone(names))
			position++
			heads := slices.Repeat([]ledger.Head{at(position)}, len(names))
			time.Sleep(time.Millisecond)
			return heads, nil
		})
		ask := func(want uint64, names ...string) {
			heads, now, err := h.Of(t.Context(), names...)
			if err != nil || !now || len(heads) != len(names) || heads[0] != at(want) {
				t.Errorf("%v: %v, %v, %v; want %d", names, heads, now, err, want)
			}
		}
		var all sync.WaitGroup
		all.Go(func() { ask(1, "a") })
		synctest.Wait()
		for i := range 50 {
			all.Go(func() { ask(2, "a", fmt.Sprint(i%3)) })
		}
		all.Wait()
		if len(readings) != 2 || len(readings[1]) != 4 {
			t.Errorf("readings: %v; want two, the second of 4 ledgers", readings)
		}
		if err := h.wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Within one call a ledger's head is read once, and the caller is told so.
func TestWithinOneCall(t *testing.T) {
	n := uint64(0)
	h := newHeads(func(names []string) ([]ledger.Head, error) {
		n++
		return slices.Repeat([]ledger.Head{at(n)}, len(names)), nil
	})
	ctx := Within(t.Context())
	for i, c := range []struct {
		names []string
		want  uint64
		now   bool
	}{{[]string{"a"}, 1, true}, {[]string{"a"}, 1, false}, {[]string{"a", "b"}, 2, true}, {[]string{"b"}, 2, false}} {
		heads, now, err := h.Of(ctx, c.names...)
		if err != nil || now != c.now || heads[0] != at(c.want) {
			t.Errorf("%d: %v, %v, %v; want %d, %v", i, heads, now, err, c.want, c.now)
		}
	}
}

// A damaged ledger affects nobody who asks about others at the same time.
func TestDamagedLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeads(func(names []string) ([]ledger.Head, error) {
			time.Sleep(time.Millisecond)
			if slices.Contains(names, "bad") {
				return nil, ledger.ErrDamaged
			}
			return slices.Repeat([]ledger.Head{at(1)}, len(names)), nil
		})
		var all sync.WaitGroup
		for _, name := range []string{"first", "bad", "good"} {
			all.Go(func() {
				_, _, err := h.Of(t.Context(), name)
				if damaged := errors.Is(err, ledger.ErrDamaged); damaged != (name == "bad") || !damaged && err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
	})
}

// A reading that does not end fails those who wait for it and those behind it, each after its patience; one that
// fails, panics or answers nonsense fails those who wait for it. The next one is tried again.
func TestReadingsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		var do func() ([]ledger.Head, error)
		h := newHeads(func([]string) ([]ledger.Head, error) { return do() })
		back := make(chan struct{})
		do = func() ([]ledger.Head, error) { <-back; return []ledger.Head{at(1)}, nil }
		for range 2 {
			begun := time.Now()
			if _, _, err := h.Of(t.Context(), "a"); !errors.Is(err, ledger.ErrUnavailable) {
				t.Errorf("%v; want ErrUnavailable", err)
			}
			if took := time.Since(begun); took != Patience {
				t.Errorf("after %v; want %v", took, Patience)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := h.Of(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v; want that of the context", err)
		}
		close(back)
		synctest.Wait()
		for _, c := range []func() ([]ledger.Head, error){
			func() ([]ledger.Head, error) { return nil, broken },
			func() ([]ledger.Head, error) { panic(broken) },
			func() ([]ledger.Head, error) { return nil, nil },
		} {
			do = c
			if _, _, err := h.Of(t.Context(), "a"); err == nil {
				t.Error("no error")
			}
		}
		do = func() ([]ledger.Head, error) { return []ledger.Head{at(5)}, nil }
		if heads, _, err := h.Of(t.Context(), "a"); err != nil || heads[0] != at(5) {
			t.Errorf("afterwards: %v, %v", heads, err)
		}
	})
}
