// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A charge in each of several ledgers that a restore has lost costs somebody in all of them as much afterwards as
// before, and no dataset's budget comes to pay for two of them.
func TestLostInEach(t *testing.T) {
	t.Parallel()
	const delta, each, all = 1e-6, pb.SetPart_IN_EACH, pb.SetPart_OVER_ALL
	for name, c := range map[string]struct {
		made, said pb.SetPart_Contribution
		adopted    bool
	}{
		"in each":                {each, each, false},
		"rows are drawn in each": {pb.SetPart_ROWS_DRAWN_IN_EACH, pb.SetPart_ROWS_DRAWN_IN_EACH, false},
		"over all":               {all, all, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withDatasets(t, server.Config{})
			names := []string{"a", "b", "c"}
			for _, l := range names {
				s.Create(of("elsewhere", "1", servertest.Spec(l)))
				s.Create(of("survey", "1", servertest.Filter("filter/"+l, servertest.Basic(1))))
			}
			inAll := func() float64 {
				t.Helper()
				answer, err := s.Client.QueryPrivacySet(servertest.Context(t), setAtDelta(delta, names...))
				if err != nil {
					t.Fatal(err)
				}
				return answer.GetInAll().GetEpsilon()
			}
			noise := servertest.Gaussian(4, 1).GetEvents()
			filters := []string{"filter/a", "filter/b"}
			var before float64
			s.LoseAfter(func() {
				if err := s.together(c.made, false, filters...); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Client.Report(servertest.Context(t), &pb.ReportRequest{Lane: &pb.Lane{Sequence: 1,
					Ledgers: &pb.LedgerSet{Ledgers: names}, Writer: servertest.Writer(), Contribution: c.made},
					Charge: &pb.Charge{Events: noise}}); err != nil {
					t.Fatal(err)
				}
				before = inAll()
			})
			reconcile := func(name string, lost *pb.Reconcile) error {
				_, err := s.owner.Reconcile(servertest.Context(t), &pb.ReconcileRequest{
					Lane:      &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
					Reconcile: lost,
				})
				return err
			}
			for _, l := range append([]string{"filter/c"}, append(names, filters...)...) {
				lost := &pb.Reconcile{Events: charged(1).GetEvents()}
				wantError(t, reconcile(l, lost), codes.InvalidArgument, "reconcile.contribution: missing; allowed: "+
					"OVER_ALL if the events were charged to this ledger alone")
				if lost.Contribution = c.said; slices.Contains(names, l) {
					lost.Events = noise
				} else if l == "filter/c" {
					lost = &pb.Reconcile{}
				}
				if err := reconcile(l, lost); err != nil {
					t.Fatal(err)
				}
			}
			if after := inAll(); after < before {
				t.Errorf("ε ≤ %g in all of the ledgers; want at least %g, as before the loss", after, before)
			}
			_, err := s.register(survey(servertest.Basic(50)))
			if c.adopted {
				if err != nil {
					t.Error(err)
				}
				wantError(t, reconcile("filter/a", &pb.Reconcile{Events: charged(1).GetEvents(), Contribution: each}),
					codes.FailedPrecondition, "dataset:survey pays for ledger filter/a and perhaps for the others")
				return
			}
			wantError(t, err, codes.FailedPrecondition, "ledger filter/a, with others that are not known since it has "+
				"lost entries", "nothing was changed")
		})
	}
}

// A journal charges nothing. That it cost "ε ≤ 0" would be read as the cost of the charges that it lists.
func TestJournalsAreNotAsked(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	s.Create(servertest.Spec("a"))
	s.Create(servertest.Spec("b"))
	receipt, err := s.Client.Report(servertest.Context(t), &pb.ReportRequest{Lane: &pb.Lane{Sequence: 1,
		Ledgers: &pb.LedgerSet{Ledgers: []string{"a", "b"}}, Writer: servertest.Writer(),
		Contribution: pb.SetPart_OVER_ALL},
		Charge: charged(1)})
	if err != nil {
		t.Fatal(err)
	}
	name, ctx := receipt.GetReceipt().GetLedger(), servertest.Context(t)
	for _, ask := range []func() error{
		func() error {
			_, err := s.owner.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{Subject: ofLedger(name)})
			return err
		},
		func() error {
			_, err := s.owner.GetStatement(ctx, &pb.GetStatementRequest{Name: name})
			return err
		},
		func() error {
			_, err := s.owner.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: name})
			return err
		},
		func() error {
			_, err := s.owner.QuerySpending(ctx, &pb.QuerySpendingRequest{Ledger: name})
			return err
		},
	} {
		wantError(t, ask(), codes.InvalidArgument, name, "the daemon's own record", "accountctl ledger entries shows")
	}
}
