// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// TestHeads: a daemon's question sees what another one has acknowledged before it, and many that ask
// at the same time are all answered.
func TestHeads(t *testing.T) {
	c := Config{URL: database(t)}
	a, b := mustOpen(t, c), mustOpen(t, c)
	defer mustClose(t, a)
	defer mustClose(t, b)
	for _, name := range []string{"l", "m"} {
		if _, _, err := a.Create(storetest.Genesis(name)); err != nil {
			t.Fatal(err)
		}
	}
	if heads, err := b.Heads([]string{"l", "absent"}); err != nil || len(heads) != 2 ||
		heads[0] == (ledger.Head{}) || heads[1] != (ledger.Head{}) {
		t.Errorf("Heads of a ledger that is there and one that is not = %+v, %v", heads, err)
	}
	for i := range 10 {
		if err := storetest.Charge(a, "l", i); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				heads, err := b.Heads([]string{"m", "l"})
				if err != nil || len(heads) != 2 || heads[0].Position != 0 || heads[1].Position != uint64(i+1) {
					t.Errorf("Heads after %d charges = %+v, %v", i+1, heads, err)
				}
			})
		}
		wg.Wait()
	}
}

// TestChanges: a daemon is told what another one has changed, and by polls that anything may have.
func TestChanges(t *testing.T) {
	c := Config{URL: database(t)}
	a, b := mustOpen(t, c), mustOpen(t, c)
	defer mustClose(t, a)
	defer mustClose(t, b)
	told, polled := make(chan string, 1000), make(chan struct{}, 1000)
	stop := b.Changes(func(names ...string) {
		if len(names) == 0 {
			polled <- struct{}{}
		}
		for _, name := range names {
			told <- name
		}
	})
	<-polled // it listens
	if _, _, err := a.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	if name := <-told; name != "l" {
		t.Errorf("told of %q", name)
	}
	execute(t, c.URL, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "+
		"AND pid <> pg_backend_pid()")
	for len(polled) > 0 {
		<-polled
	}
	<-polled // after the connection was lost
	for {
		if err := storetest.Charge(a, "l", 0); err != nil {
			t.Fatal(err)
		}
		select {
		case <-told:
		case <-polled: // it may not listen again yet
			continue
		}
		break
	}
	stop()
}

// Newer says of each ledger what Records says, of merged entries as of others.
func TestNewer(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Config{URL: database(t), cold: cold{every: time.Hour}})
	defer mustClose(t, s)
	charged(t, s, "a", 70)
	charged(t, s, "b", 5)
	merge(t, s)
	charged(t, s, "c", 3)
	for range 3 {
		if err := storetest.Charge(s, "a", 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1000, 10} {
		names, from := []string{"a", "none", "b", "c"}, []uint64{60, 1, 5, 0}
		got, err := s.Newer(names, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			want, err := s.Records(name, from[i], 1000)
			if len(want) > limit {
				want = nil
			}
			if err != nil && !errors.Is(err, ledger.ErrNotFound) || !reflect.DeepEqual(want, got[i]) {
				t.Errorf("%s from %d, at most %d: %d records; want %d, %v", name, from[i], limit, len(got[i]),
					len(want), err)
			}
		}
	}
	if got, err := s.Newer([]string{"b", "a"}, []uint64{6, 74}, 1000); err != nil || got[0] != nil || got[1] != nil {
		t.Errorf("past the ends: %v, %v", got, err)
	}
}
