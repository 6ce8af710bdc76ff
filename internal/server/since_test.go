// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Sets, children and datasets, whose ledgers write on each other's account, verify from each time at which they were
// kept, and come to what a whole verification does.
func TestVerifySinceOverSeveralLedgers(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	ctx := servertest.Context(t)
	var all []*verify.Kept
	check := func(path string) {
		done := func(since *verify.Kept) (verify.Result, []byte) {
			t.Helper()
			done, err := verify.File(t.Context(), verify.Config{Path: path, AnyRoot: true, Since: since, Keep: true})
			if err != nil {
				t.Fatal(err)
			}
			content, err := done.ToKeep.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			return done, content
		}
		whole, content := done(nil)
		for i, since := range all {
			part, same := done(since)
			if part.Passed == 0 || part.Entries != whole.Entries || !bytes.Equal(content, same) {
				t.Errorf("since %d: %+v; whole: %+v", i, part, whole)
			}
		}
		all = append(all, whole.ToKeep)
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	names := days(t, s.Server, 3)
	held := func(key string) *pb.Receipt {
		t.Helper()
		r, err := s.Client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
			Ledgers: &pb.LedgerSet{Ledgers: names}, Sequence: 1, Writer: "request/" + key},
			Reserve: &pb.Reserve{Events: tenths(2), LifetimeSeconds: 600}})
		ok(err)
		return r.GetReceipt()
	}
	commit := func(key string, of *pb.Receipt) {
		t.Helper()
		_, err := s.Client.Commit(ctx, &pb.CommitRequest{Lane: &pb.Lane{Ledger: of.GetLedger(),
			Writer: "request/" + key, Sequence: 1},
			Commit: &pb.Commit{Reservation: of.GetPosition(), Events: tenths(1)}})
		ok(err)
	}
	child := func(name string) {
		t.Helper()
		spec := servertest.Plan(name, servertest.Pure(0.1, 2))
		spec.Parent = "root"
		ok(s.create(spec))
	}
	first := held("r1")
	s.NewLedger("alone")
	s.Report("alone", servertest.Writer(), 1, tenthsCharge(1))
	ok(s.create(servertest.Plan("root", servertest.Pure(0.1, 9))))
	child("child/1")
	s.mustRegister(survey(servertest.Basic(4)))
	ok(s.create(of("Survey", "1", servertest.Plan("of/1", servertest.Pure(0.1, 3)))))
	s.RestartAfter(check)
	s.owner = s.Owner(t)
	commit("c1", first)
	second := held("r2")
	s.Report("child/1", servertest.Writer(), 1, tenthsCharge(1))
	_, err := s.owner.CloseLedger(ctx, &pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: "child/1",
		Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{}})
	ok(err)
	child("child/2")
	s.RestartAfter(check)
	s.owner = s.Owner(t)
	commit("c2", second)
	_, err = s.Client.Report(ctx, reportSet("x", 1, &pb.LedgerSet{Ledgers: names[1:]}))
	ok(err)
	ok(s.create(of("Survey", "1", servertest.Plan("of/2", servertest.Pure(0.1, 3)))))
	s.Report("of/1", servertest.Writer(), 1, tenthsCharge(1))
	s.RestartAfter(check)
	s.RestartAfter(check) // with nothing new
}

func tenthsCharge(n uint32) *pb.Charge { return &pb.Charge{Events: tenths(n)} }
