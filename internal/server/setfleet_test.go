// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// losing counts how often another daemon was faster.
type losing struct {
	*postgres.Store
	lost atomic.Int64
}

func (l *losing) count(err error) {
	if errors.Is(err, ledger.ErrConflict) {
		l.lost.Add(1)
	}
}

func (l *losing) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	hashes, err := l.Store.Append(batch)
	l.count(err)
	return hashes, err
}

func (l *losing) InTurn(t ledger.Turn) ([][]ledger.Hash, error) {
	hashes, err := l.Store.InTurn(t)
	l.count(err)
	return hashes, err
}

// Three daemons write to the same ledgers as fast as they can. No set loses to another daemon, and a single charge
// loses once at most: then it has its turn.
func TestTurnsOfAFleet(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{})
	for what, sets := range map[string]bool{"sets": true, "singles": false} {
		t.Run(what, func(t *testing.T) {
			const callers, calls = 3, 12 // of each daemon, and of each caller
			url := server.Database(t)
			var stores []*losing
			var all []*servertest.Server
			for range 3 {
				stores = append(stores, &losing{Store: openShared(t, url)})
				all = append(all, servertest.StartWith(t, servertest.Config{Store: stores[len(stores)-1]}))
			}
			var names []string
			for i := range 10 {
				names = append(names, fmt.Sprintf("t/%02d", i))
				all[0].NewLedger(names[i])
			}
			charge := step()
			var wait sync.WaitGroup
			for i := range callers * len(all) {
				wait.Go(func() {
					w := servertest.Writer()
					for n := range uint64(calls) {
						lane := &pb.Lane{Ledger: names[0], Writer: w, Sequence: n + 1}
						if sets {
							lane.Ledger, lane.Contribution = "", pb.SetPart_OVER_ALL
							lane.Ledgers = &pb.LedgerSet{Ledgers: names}
						}
						r := &pb.ReportRequest{Charge: charge, Lane: lane}
						if _, err := all[i%len(all)].Client.Report(t.Context(), r); err != nil {
							t.Errorf("caller %d, %d: %v", i, n+1, err)
						}
					}
				})
			}
			wait.Wait()
			for i, s := range stores {
				most := int64(callers * calls)
				if sets {
					most = 0
				}
				if n := s.lost.Load(); n > most {
					t.Errorf("daemon %d lost %d times; want at most %d", i, n, most)
				}
			}
		})
	}
}
