// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// Pure is an event of count ε-DP mechanisms.
func Pure(epsilon float64, count uint32) *pb.Event {
	return &pb.Event{Count: count, Mechanism: &pb.Mechanism{
		Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: &epsilon}}}}
}

// Basic is a budget of ε by the guard BASIC.
func Basic(epsilon float64) *pb.Budget {
	return &pb.Budget{Guard: pb.Budget_BASIC, Epsilon: &epsilon}
}

// Filter is a spec with budgets that hold whatever is charged.
func Filter(name string, budgets ...*pb.Budget) *pb.LedgerSpec {
	spec := Spec(name)
	spec.Policy, spec.Budgets = pb.LedgerSpec_FILTER, budgets
	return spec
}

// Plan is a spec with a plan.
func Plan(name string, events ...*pb.Event) *pb.LedgerSpec {
	spec := Spec(name)
	spec.Policy, spec.Plan = pb.LedgerSpec_PLAN, &pb.Workload{Adjacency: spec.Adjacency, Events: events}
	return spec
}

// Create makes a ledger of a spec.
func (s *Server) Create(spec *pb.LedgerSpec) *pb.Ledger {
	s.t.Helper()
	answer, err := s.Client.CreateLedger(Context(s.t), &pb.CreateLedgerRequest{Spec: spec})
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.GetLedger()
}

// Ledger is a ledger's committed state.
func (s *Server) Ledger(name string) *pb.Ledger {
	s.t.Helper()
	answer, err := s.Client.GetLedger(Context(s.t), &pb.GetLedgerRequest{Name: name})
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.GetLedger()
}

// Owner is a client on the server's own socket, which Config.Server.Socket names.
func (s *Server) Owner(t testing.TB) api.Client {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+s.config.Server.Socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return api.NewClient(conn)
}
