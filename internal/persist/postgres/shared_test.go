// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"sync"
	"testing"

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
