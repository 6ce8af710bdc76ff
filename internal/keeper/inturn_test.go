// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// What a turn has read of other daemons' entries may be lost until its commit: no question is answered from it before.
// If the commit fails, it is read again.
func TestNoAnswerFromATurn(t *testing.T) {
	for _, failure := range []memory.Failure{memory.None, memory.Unavailable} {
		synctest.Test(t, func(t *testing.T) {
			k, hook, other, names := beside(t)
			must(t, other, ofSet("priced", 1, names...))
			for _, name := range names {
				if _, err := k.View(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			old := headOf(t, k, names[0]) // which a question has been told
			must(t, other, ofSet("first", 1, names...))
			reading, writing := make(chan struct{}), make(chan struct{})
			hook.atAppend = func() {
				close(reading)
				<-writing
				hook.FailNext(failure)
			}
			var err error
			var all sync.WaitGroup
			all.Go(func() { _, err = k.DoSet(t.Context(), ofSet("second", 2, names...)) })
			<-reading
			answered := uint64(0)
			all.Go(func() {
				q, err := k.acquire(t.Context(), names[0])
				if err != nil {
					t.Error(err)
					return
				}
				defer k.release(q, 1)
				if err := q.meet(t.Context(), old, func(s *ledger.State) { answered = s.Summary().Total }); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			if answered != 0 {
				t.Errorf("answered with %d charges that may not be durable", answered)
			}
			close(writing)
			all.Wait()
			want := uint64(4)
			if failure != memory.None {
				want = 2
			}
			if (err == nil) != (failure == memory.None) || err != nil && !errors.Is(err, ledger.ErrUnavailable) {
				t.Error(err)
			}
			if answered != want {
				t.Errorf("answered: %d charges; want %d", answered, want)
			}
		})
	}
}

// headOf returns the head of a ledger in memory.
func headOf(t *testing.T, k *Keeper, name string) (head ledger.Head) {
	t.Helper()
	if err := k.read(t.Context(), name, func(s *ledger.State) { head = s.Summary().Head }); err != nil {
		t.Fatal(err)
	}
	return head
}
