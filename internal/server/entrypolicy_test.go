// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"slices"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

const everybody = "grants:\n  - {roles: [reporter, manager, auditor], to: 'unverified:*', on: everything}\n"

// wrote compares the policies that let in a ledger's creation and its entries.
func (g *guarded) wrote(name string, want ...uint64) {
	g.t.Helper()
	page, err := g.Client.ListEntries(servertest.Context(g.t), &pb.ListEntriesRequest{Ledger: name, Raw: true})
	if err != nil {
		g.t.Fatal(err)
	}
	genesis, err := record.UnmarshalGenesis(page.GetGenesis())
	if err != nil {
		g.t.Fatal(err)
	}
	got := []uint64{genesis.Policy}
	for _, e := range page.GetEntries() {
		got = append(got, e.GetPolicy())
	}
	if !slices.Equal(got, want) {
		g.t.Errorf("%s: policies %v, want %v", name, got, want)
	}
}

// Each entry names the access policy that let it in: of a stream that of its message, of a set in each member, of a
// retry that of the first try, and of the daemon none.
func TestEntriesNameTheirPolicy(t *testing.T) {
	t.Parallel()
	g := guard(t, everybody)
	g.create(servertest.Spec("a"))
	writer := servertest.Writer()
	g.Report("a", writer, 1, servertest.Gaussian(1, 1))
	stream := g.Stream("a", servertest.Writer())
	stream.Charge(1, servertest.Gaussian(1, 1))
	stream.Acknowledged(1)
	g.change("# the second\n" + everybody)
	stream.Charge(2, servertest.Gaussian(1, 1))
	stream.Acknowledged(2)
	g.Report("a", writer, 1, servertest.Gaussian(1, 1)) // again
	g.create(servertest.Spec("b"))
	r, err := g.Client.Report(servertest.Context(t), reportSet("x", 1, &pb.LedgerSet{Ledgers: []string{"a", "b"}}))
	if err != nil {
		t.Fatal(err)
	}
	g.wrote("a", 1, 1, 1, 2, 2)
	g.wrote("b", 2, 2)
	g.wrote(r.GetReceipt().GetLedger(), 0, 2)
	g.wrote(ledger.AccessLedger, 0, 0, 0)
}

// Each daemon of a store names the policy that it follows, also one without a file.
func TestFleetsEntriesNameTheirPolicy(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{}).Shared()
	open := daemonOf(t, store, "")
	open.create(servertest.Spec("a"))
	open.Report("a", servertest.Writer(), 1, servertest.Gaussian(1, 1))
	first := daemonOf(t, store, everybody)
	eventually(t, "the policy on the other daemon", func() bool {
		answer, err := open.Owner.GetAccess(servertest.Context(t), &pb.GetAccessRequest{})
		return err == nil && answer.GetPolicyInForce()
	})
	for _, g := range []*guarded{open, first} {
		g.Report("a", servertest.Writer(), 1, servertest.Gaussian(1, 1))
	}
	first.wrote("a", 0, 0, 1, 1)
}
