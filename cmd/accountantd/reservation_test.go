// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// A job and the daemon are killed while a part of the budget is reserved: the daemon
// that comes back charges what was left of it, once, and nobody was given that part
// meanwhile. Only over the daemon's socket is it given back.
func TestReservationThroughKill(t *testing.T) {
	dir := dataDir(t)
	ctx := patiently(t)
	connect := func(target string) api.Client {
		t.Helper()
		conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return api.NewClient(conn)
	}
	epsilon, tenth := 1.0, 0.1
	events := func(n uint32) []*pb.Event {
		return []*pb.Event{{Count: n,
			Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: &tenth}}}}}
	}
	first := start(t, dir)
	c := connect(first.ready["listen"])
	// A part is committed before the time is over. On a slow machine a second may be too short for that.
	name := ""
	for lifetime, committed := uint32(1), false; !committed; lifetime *= 2 {
		name = fmt.Sprintf("a/%d", lifetime)
		_, err := c.CreateLedger(ctx,
			&pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE,
				Policy: pb.LedgerSpec_FILTER, Budgets: []*pb.Budget{{Guard: pb.Budget_BASIC, Epsilon: &epsilon}}}})
		if err != nil {
			t.Fatal(err)
		}
		held, err := c.Reserve(ctx,
			&pb.ReserveRequest{
				Lane:    &pb.Lane{Ledger: name, Writer: "request/hold", Sequence: 1},
				Reserve: &pb.Reserve{Events: events(6), LifetimeSeconds: lifetime},
			})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Commit(ctx, &pb.CommitRequest{
			Lane:   &pb.Lane{Ledger: name, Writer: "request/part", Sequence: 1},
			Commit: &pb.Commit{Reservation: held.GetReceipt().GetPosition(), Events: events(2)},
		})
		if committed = err == nil; !committed && (status.Code(err) != codes.FailedPrecondition || lifetime > 60) {
			t.Fatal(err)
		}
	}
	first.kill()

	second := start(t, dir)
	c = connect(second.ready["listen"])
	_, err := c.Report(ctx, &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: name, Writer: "request/more", Sequence: 1},
		Charge: &pb.Charge{Events: events(5)},
	})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("more than is left: %v", err)
	}
	watch, err := c.WatchLedger(ctx, &pb.WatchLedgerRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	var l *pb.Ledger
	for l.GetPosition() < 3 {
		m, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		l = m.GetLedger()
	}
	if v := l.GetBudgets()[0].GetValue(); l.GetPosition() != 3 || v.GetSpent() != 0.6 || v.GetReserved() != 0 ||
		v.GetRemaining() != 0.4 {
		t.Errorf("after the time: %v", l)
	}
	entries, err := c.ListEntries(ctx, &pb.ListEntriesRequest{Ledger: name})
	if err != nil || len(entries.GetEntries()) != 3 || entries.GetEntries()[2].GetExpire().GetReservation() != 1 {
		t.Errorf("entries: %v, %v", entries, err)
	}
	refund := &pb.RefundRequest{
		Lane:   &pb.Lane{Ledger: name, Writer: "request/back", Sequence: 1},
		Refund: &pb.Refund{Position: 3, NothingReleased: true, Reason: "killed"},
	}
	if _, err := c.Refund(ctx, refund); status.Code(err) != codes.PermissionDenied {
		t.Errorf("refund over TCP: %v", err)
	}
	if _, err := connect("unix:"+second.ready["socket"]).Refund(ctx, refund); err != nil {
		t.Errorf("refund over the socket: %v", err)
	}
	second.stop(syscall.SIGTERM) // also while somebody watches
}
