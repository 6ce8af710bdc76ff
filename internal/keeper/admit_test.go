// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
)

// Large requests of all streams are admitted in turn, up to a bound, until they are decided. A stream of which nobody
// reads the answers has no turn, and one that ends gives its room back.
func TestAdmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s, LaneBytes: 10_000, Window: 2})
		first, second, third, unread := open(t, k, "v", 0), open(t, k, "w", 0), open(t, k, "x", 0), open(t, k, "y", 0)
		admitted := map[*Lane]bool{}
		var mu sync.Mutex
		admit := func(l *Lane, bytes int, want bool) {
			t.Helper()
			go func() {
				if err := l.Admit(t.Context(), bytes); err != nil && !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				admitted[l] = true
			}()
			if synctest.Wait(); admitted[l] != want {
				t.Errorf("admitted: %v; want %v", admitted[l], want)
			}
		}
		send := func(l *Lane, n uint64) {
			t.Helper()
			if err := l.Send(t.Context(), charge("", n, 1)); err != nil {
				t.Error(err)
			}
		}
		send(unread, 1)
		send(unread, 2)
		admit(unread, 1, false) // and keeps nobody else from coming
		admit(first, 6000, true)
		admit(second, 6000, false)
		admit(third, 1, false) // no small one comes before it
		send(first, 1)
		if synctest.Wait(); admitted[second] {
			t.Error("the second was admitted before the first was decided")
		}
		release()
		if synctest.Wait(); !admitted[second] || !admitted[third] || admitted[unread] {
			t.Errorf("once the first was decided: %v, %v, %v", admitted[second], admitted[third], admitted[unread])
		}
		if got := receive(t, unread); got != "1 2" {
			t.Errorf("answers: %q", got)
		}
		if synctest.Wait(); !admitted[unread] {
			t.Error("a stream was not admitted after its answers were read")
		}
		second.Close()
		second.Withdraw()
		unread.Withdraw()
		admitted[first] = false
		admit(first, 1<<30, false) // as much as there is
		third.Withdraw()
		if synctest.Wait(); !admitted[first] {
			t.Error("what was never sent is still admitted")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := third.Admit(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		first.Withdraw()
		for _, l := range []*Lane{first, second, third, unread} {
			l.Close()
		}
		if !k.large.TryAcquire(10_000) {
			t.Error("room is lost")
		}
		k.large.Release(10_000)
	})
}
