// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/lineartest"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// onSocket starts a server on a Unix socket, and a client that connects again at
// once.
func onSocket(t *testing.T, store ledger.Store) (*servertest.Server, api.Client) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "accountant.sock")
	s := servertest.StartWith(t,
		servertest.Config{Store: store, SocketOnly: true, Server: server.Config{Socket: socket}})
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(
			grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1.5,
				MaxDelay: 20 * time.Millisecond}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return s, api.NewClient(conn)
}

// Charges, retries, reservations, commits, releases and expiries of many clients.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	expired := 0
	for seed := range uint64(3) {
		expired += lineartest.Game{Client: s.Client, Ledger: fmt.Sprintf("linear-%d", seed), Seed: seed,
			Clients: 6, Calls: 40}.Play(t)
	}
	if expired == 0 {
		t.Error("no reservation expired")
	}
}

// The same while the server is restarted.
func TestLinearizableThroughRestarts(t *testing.T) {
	t.Parallel()
	s, client := onSocket(t, nil)
	lineartest.Game{Client: client, Ledger: "restarted", Seed: 4, Clients: 6, Calls: 60,
		Disturb: func(context.Context) error {
			for range 4 {
				s.Restart()
			}
			return nil
		}}.Play(t)
}

// The same on a store of which every third write fails: with a conflict, refused,
// or so that nobody knows whether it was written.
func TestLinearizableThroughFailures(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{Plan: failingOften(5)})
	_, client := onSocket(t, store)
	lineartest.Game{Client: client, Ledger: "failing", Seed: 6, Clients: 6, Calls: 60}.Play(t)
}

// linearGames is how many games of sets are played: more make a longer test.
const linearGames = "ACCOUNTANT_LINEAR_GAMES"

// Charges, reservations, commits, releases and queries of overlapping sets, and calls about single
// ledgers, all of them in one order; also while the server is restarted, and on a store that fails.
func TestSetsLinearizable(t *testing.T) {
	t.Parallel()
	games := 1
	if text := os.Getenv(linearGames); text != "" {
		var err error
		if games, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", linearGames, err)
		}
	}
	for seed := range uint64(games) {
		restarted, onRestarted := onSocket(t, nil)
		_, onFailing := onSocket(t, memory.New(memory.Config{Plan: failingOften(7 + seed)}))
		g := lineartest.Game{Seed: seed, Clients: 5, Calls: 40}
		g.Client, g.Ledger = servertest.Start(t).Client, fmt.Sprintf("still-%d", seed)
		g.PlaySets(t)
		g.Client, g.Ledger = onFailing, fmt.Sprintf("failing-%d", seed)
		g.PlaySets(t)
		g.Client, g.Ledger = onRestarted, fmt.Sprintf("restarted-%d", seed)
		g.Disturb = func(context.Context) error {
			for range 3 {
				restarted.Restart()
			}
			return nil
		}
		g.PlaySets(t)
	}
}

// failingOften has every third write fail: with a conflict, refused, or so that nobody knows whether it was
// written.
func failingOften(seed uint64) func([]ledger.Proposal) memory.Failure {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, seed))
	return func(batch []ledger.Proposal) memory.Failure {
		mu.Lock()
		defer mu.Unlock()
		if batch == nil || rng.IntN(3) > 0 {
			return memory.None
		}
		return []memory.Failure{memory.FailAndKeep, memory.FailAndLose, memory.Conflict,
			memory.Unavailable}[rng.IntN(4)]
	}
}
