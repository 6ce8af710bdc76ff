// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// made is a store in which ledgers are made while others are listed.
type made struct {
	ledger.Store
	mu    sync.Mutex
	names []string
}

func (s *made) add(name string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	return true, nil
}

func (s *made) List(_, after string, limit int) (all []ledger.Summary, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.names { // in order
		if name > after && len(all) < limit {
			all = append(all, ledger.Summary{Genesis: ledger.Genesis{Spec: ledger.Spec{Name: name}}})
		}
	}
	return all, nil
}

// number is a gauge.
type number struct{ atomic.Int64 }

func (n *number) Inc()          { n.Add(1) }
func (n *number) Set(x float64) { n.Store(int64(x)) }

// A count beside which ledgers are made says that it may be wrong, and one that says it is right has the number, even
// if ledgers are made right before and right after it.
func TestCensus(t *testing.T) {
	t.Parallel()
	store := &made{}
	for i := range 5000 {
		_, _ = store.add(fmt.Sprintf("l%05d", i))
	}
	n := &number{}
	c := &census{store: store, gauge: n, found: func(ledger.Summary) {},
		logger: slog.New(slog.DiscardHandler)}
	for round := range 100 {
		var group sync.WaitGroup
		for i := range 3 {
			group.Go(func() {
				name := fmt.Sprintf("m%05d-%d", round, i)
				if err := c.create(func() (bool, error) { return store.add(name) }); err != nil {
					t.Error(err)
				}
			})
		}
		right := c.count(t.Context())
		group.Wait()
		if right && int(n.Load()) != len(store.names) {
			t.Fatalf("round %d: counted %d of %d and called it right", round, n.Load(), len(store.names))
		}
		if !c.count(t.Context()) || int(n.Load()) != len(store.names) {
			t.Fatalf("round %d: counted %d of %d while nothing was made", round, n.Load(), len(store.names))
		}
	}
}
