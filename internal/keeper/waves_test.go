// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// waiting returns how many requests about several ledgers wait.
func waiting(k *Keeper) (n int) {
	k.sets.mu.Lock()
	defer k.sets.mu.Unlock()
	for _, calls := range k.sets.waiting {
		n += len(calls)
	}
	return n
}

// await waits until n requests about several ledgers wait.
func await(t *testing.T, k *Keeper, n int) {
	t.Helper()
	for ctx := t.Context(); waiting(k) != n; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
}

// A request that comes again over another listener, from a principal of another kind, meets the first one,
// also where both are in the wave that makes their journal.
func TestSetTakenInTheFirstWave(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	k, names := ledgersOf(t, store, 2)
	all, err := k.hold(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	errs := make([]error, 2)
	for i, principal := range []string{"unverified:ann", "cn:ann"} {
		calls.Go(func() {
			r := ofSet("x", 1, names...)
			r.Writer.Principal = principal
			_, errs[i] = k.DoSet(t.Context(), r)
		})
		await(t, k, i+1)
	}
	k.free(all)
	calls.Wait()
	slices.SortFunc(errs, func(a, b error) int {
		if a == nil {
			return -1
		}
		return 1
	})
	if errs[0] != nil || !errors.Is(errs[1], ledger.ErrTaken) {
		t.Errorf("%v; want one of them refused: it is the same request", errs)
	}
}

// A set is decided although one of its ledgers is always held by somebody, as a parent is of which many
// children are made.
func TestSetAmongHolders(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	k, names := ledgersOf(t, store, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// At each moment one holder has the ledger and another one waits for it.
	var holders sync.WaitGroup
	held := make(chan struct{}, 1)
	for range 3 {
		holders.Go(func() {
			for ctx.Err() == nil {
				all, err := k.hold(ctx, names[0])
				if err != nil {
					return
				}
				select {
				case held <- struct{}{}:
				default:
				}
				time.Sleep(time.Millisecond)
				k.free(all)
			}
		})
	}
	<-held
	_, err := k.DoSet(ctx, ofSet("x", 1, names...))
	cancel()
	holders.Wait()
	if err != nil {
		t.Errorf("the set was not decided: %v", err)
	}
}
