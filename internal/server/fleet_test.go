// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server/lineartest"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// anyOf sends each call to one of several daemons, drawn anew each time.
type anyOf []grpc.ClientConnInterface

func (a anyOf) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return a[rand.IntN(len(a))].Invoke(ctx, method, args, reply, opts...)
}

func (a anyOf) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return a[rand.IntN(len(a))].NewStream(ctx, desc, method, opts...)
}

// fleet starts daemons, each with its own handle on one store, and a client whose calls go to any of them.
func fleet(t *testing.T, stores ...ledger.Store) api.Client {
	t.Helper()
	var all anyOf
	for _, store := range stores {
		all = append(all, servertest.StartWith(t, servertest.Config{Store: store}).Conn)
	}
	return api.NewClient(all)
}

// handles returns three handles on one store. Each fails as plan says, which is given the handle's number.
func handles(plan func(i uint64) func([]ledger.Proposal) memory.Failure) []ledger.Store {
	first := memory.New(memory.Config{Plan: plan(0)})
	return []ledger.Store{first.Shared(), first.Beside(memory.Config{Plan: plan(1)}),
		first.Beside(memory.Config{Plan: plan(2)})}
}

// Through three daemons of one store: every answer, of questions and checks as well as of charges, has all that
// was acknowledged before it was asked, by whichever daemon.
func TestLinearizableThroughSeveralDaemons(t *testing.T) {
	t.Parallel()
	expired := 0
	for seed := range uint64(2) {
		still := fleet(t, handles(func(uint64) func([]ledger.Proposal) memory.Failure { return nil })...)
		expired += lineartest.Game{Client: still, Ledger: fmt.Sprintf("fleet-%d", seed), Seed: seed, Clients: 6,
			Calls: 40}.Play(t)
	}
	if expired == 0 {
		t.Error("no reservation expired")
	}
	failing := fleet(t, handles(failingOften)...)
	lineartest.Game{Client: failing, Ledger: "failing", Seed: 6, Clients: 6, Calls: 60}.Play(t)
}

// The same of overlapping sets of ledgers, and of questions about several ledgers.
func TestSetsLinearizableThroughSeveralDaemons(t *testing.T) {
	t.Parallel()
	g := lineartest.Game{Seed: 3, Clients: 5, Calls: 40}
	g.Client = fleet(t, handles(func(uint64) func([]ledger.Proposal) memory.Failure { return nil })...)
	g.Ledger = "fleet"
	g.PlaySets(t)
	g.Client, g.Ledger = fleet(t, handles(failingOften)...), "failing"
	g.PlaySets(t)
}
