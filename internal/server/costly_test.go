// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// costly are events of distinct mechanisms, of which each takes an RDP guard tens of
// milliseconds to charge.
func costly(n int) (events []*pb.Event) {
	for i := range n {
		step := &pb.PoissonSampled{SamplingProbability: proto.Float64(1e-4 + float64(i)*1e-6),
			Mechanism: &pb.Mechanism{
				Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: proto.Float64(30)}}}}
		group := &pb.Group{Size: proto.Uint64(255),
			Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: step}}}
		events = append(events, &pb.Event{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_Group{Group: group}}})
	}
	return events
}

// renyi is a budget that an RDP guard enforces; 0 is no order.
func renyi(order float64) *pb.Budget {
	b := &pb.Budget{Guard: pb.Budget_RDP, Epsilon: proto.Float64(1e9), Delta: proto.Float64(1e-6)}
	if order > 0 {
		b.Order = &order
	}
	return b
}

// wantLate checks that a call ended because what it needs takes too long to compute.
func wantLate(t *testing.T, what string, err error) {
	t.Helper()
	if s := status.Convert(err); s.Code() != codes.DeadlineExceeded ||
		!strings.Contains(s.Message(), "nothing was written") || !strings.Contains(s.Message(), "allowed: ") {
		t.Errorf("%s: %v; want DEADLINE_EXCEEDED, that nothing was written, and what to do", what, err)
	}
}

// What a request's mechanisms cost is found in the time of its own call, not in the
// ledger's: others charge meanwhile. What takes too long writes nothing, and the same
// request sent again goes on where it stopped.
func TestCostlyMechanismsBlockNobody(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{QuestionTime: 500 * time.Millisecond}})
	s.Create(servertest.Filter("costly", renyi(3.5)))
	s.Report("costly", servertest.Writer(), 1, servertest.Gaussian(30, 1))
	check := func(events []*pb.Event) error {
		_, err := s.Client.Report(servertest.Context(t),
			&pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: "costly", Writer: servertest.Writer(), Sequence: 1, CheckOnly: true},
				Charge: &pb.Charge{Events: events},
			})
		return err
	}
	many := costly(1000)
	wantLate(t, "a check", check(many))
	s.Report("costly", servertest.Writer(), 1, servertest.Gaussian(31, 1)) // within the usual time
	_, err := s.Client.Report(servertest.Context(t),
		&pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "costly", Writer: servertest.Writer(), Sequence: 1},
			Charge: &pb.Charge{Events: many},
		})
	wantLate(t, "a charge", err)

	goesOn := func(events []*pb.Event) {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); ; {
			if err := check(events); err == nil {
				return
			} else if wantLate(t, "again", err); time.Now().After(end) {
				t.Fatal("the same request never comes to its end")
			}
		}
	}
	goesOn(costly(2)) // a slow machine needs more than one call
	stream := s.Stream("costly", servertest.Writer())
	stream.Charge(1, &pb.Charge{Events: costly(2)})
	stream.Acknowledged(1)

	spec := servertest.Filter("other", renyi(0))
	spec.ExpectedRun = &pb.Workload{Adjacency: spec.Adjacency, Events: many}
	_, err = s.Client.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: spec})
	wantLate(t, "a new ledger", err)
	if _, err := s.Client.GetLedger(servertest.Context(t),
		&pb.GetLedgerRequest{Name: "other"}); status.Code(err) != codes.NotFound {
		t.Errorf("a ledger that was not created in time: %v", err)
	}

	child := servertest.Plan("child", many...)
	child.Parent = "costly"
	_, err = s.Client.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: child})
	wantLate(t, "a child's plan", err)

	goesOn(costly(15)) // ten at most in a call
	if n := s.Position("costly"); n != 3 {
		t.Errorf("%d entries; want the three that were acknowledged", n)
	}
}

// A server that stops does not wait for what a write needs: nothing of it was written.
func TestStopEndsCostlyWrites(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.Create(servertest.Filter("costly", renyi(3.5)))
	ended := make(chan error, 1)
	go func() {
		_, err := s.Client.Report(servertest.Context(t),
			&pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: "costly", Writer: servertest.Writer(), Sequence: 1},
				Charge: &pb.Charge{Events: costly(1000)},
			})
		ended <- err
	}()
	time.Sleep(200 * time.Millisecond) // for it to begin
	s.Stop()                           // fails the test unless the stop is in order
	if err := <-ended; status.Code(err) != codes.Unavailable {
		t.Errorf("%v; want UNAVAILABLE", err)
	}
}
