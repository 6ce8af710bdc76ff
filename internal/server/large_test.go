// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
	"github.com/dpaccountant/accountant/internal/wire"
)

// matrices are 14 mechanisms of 32 kB each, with so much noise that thousands of them
// fit into any budget; number makes them others.
func matrices(number int, count uint32) (events []*pb.Event) {
	for i := range 14 {
		noise, steps := 1e6+float64(100*number+i), uint64(4096)
		m := &pb.BandedMatrix{NoiseMultiplier: &noise, Steps: &steps, Coefficients: make([]float64, 4096)}
		m.Coefficients[0] = 1
		for j := range m.Coefficients[1:] {
			m.Coefficients[j+1] = 1e-6
		}
		events = append(events,
			&pb.Event{Count: count, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_BandedMatrix{BandedMatrix: m}}})
	}
	return events
}

// appendUnbounded writes entries as a daemon did that did not bound their bytes.
func appendUnbounded(t *testing.T, store ledger.Store, name string, actions ...ledger.Action) {
	t.Helper()
	for i, v := range actions {
		snapshot, err := store.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		b := ledger.NewBatch(ledger.NewState(snapshot))
		r := ledger.Request{Writer: ledger.Writer{Principal: "unverified:old", Name: fmt.Sprintf("request/old-%d", i)},
			Sequence: 1, Digest: record.Digest(v), Action: v}
		if d := b.Decide(r, ledger.Lane{}, time.Now()); d.Err != nil {
			t.Fatal(d.Err)
		}
		if _, err := store.Append([]ledger.Proposal{b.Proposal()}); err != nil {
			t.Fatal(err)
		}
	}
}

// A ledger that has 12 large reservations, from before they were bounded, can be read
// by every client, and a new one cannot come to that.
func TestLargeReservations(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "it makes 12 large reservations")
	s := servertest.Start(t)
	epsilon, delta, order := 8.0, 1e-6, 8.0
	budget := &pb.Budget{Guard: pb.Budget_RDP, Epsilon: &epsilon, Delta: &delta, Order: &order}
	s.Create(servertest.Filter("large", budget))
	ctx := servertest.Context(t)
	reserve := func(writer string, i int) error {
		_, err := s.Client.Reserve(ctx, &pb.ReserveRequest{
			Lane:    &pb.Lane{Ledger: "large", Writer: writer, Sequence: 1},
			Reserve: &pb.Reserve{Events: matrices(i, 1), LifetimeSeconds: 3600},
		})
		return err
	}
	taken := 0
	for i := range 12 {
		if err := reserve(servertest.Writer(), i); err != nil {
			wantError(t, err, codes.OutOfRange, "mechanisms in open reservations",
				"allowed: at most 2097152 in one ledger")
			break
		}
		taken++
	}
	if taken < 2 || taken > 6 {
		t.Fatalf("%d reservations of 450 kB were taken; want as many as 2 MiB hold", taken)
	}
	var actions []ledger.Action
	for i := range 12 - taken {
		v, err := wire.To[ledger.Reserve]("reserve", mechanism.AddOrRemoveOne,
			&pb.Reserve{Events: matrices(taken+i, 1), LifetimeSeconds: 31622400})
		if err != nil {
			t.Fatal(err)
		}
		actions = append(actions, v)
	}
	s.RestartAfter(func(path string) {
		store, err := persist.Open(persist.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		appendUnbounded(t, store, "large", actions...)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	})
	whole := map[uint64]bool{}
	for next, calls := uint64(0), 0; calls == 0 || next > 0; calls++ {
		a, err := s.Client.GetLedger(ctx, &pb.GetLedgerRequest{Name: "large", ReservationsFrom: next})
		if err != nil || calls > 30 {
			t.Fatalf("GetLedger: call %d from %d: %v", calls, next, err)
		}
		open := a.GetLedger().GetReservations()
		if calls == 0 && len(open) != 12 {
			t.Errorf("%d reservations; want 12, in short where there is no room", len(open))
		}
		next = 0
		for _, r := range open {
			switch {
			case !r.GetRestOmitted() && len(r.GetRest()) == 14 && r.GetRestCount() == 0:
				whole[r.GetPosition()] = true
			case !r.GetRestOmitted() || len(r.GetRest()) > 0 || r.GetRestCount() != 14 || r.GetPrincipal() == "" ||
				r.GetExpireTime() == nil:
				t.Fatalf("reservation in short: %v", r)
			case next == 0:
				next = r.GetPosition()
			}
		}
	}
	if len(whole) != 12 {
		t.Errorf("%d reservations were read in full: %v; want 12", len(whole), whole)
	}
	watch, err := s.Client.WatchLedger(ctx, &pb.WatchLedgerRequest{Name: "large"})
	if err == nil {
		_, err = watch.Recv()
	}
	if err != nil {
		t.Errorf("WatchLedger: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := s.Client.GetStatement(short,
		&pb.GetStatementRequest{Name: "large", Deltas: []float64{1e-5}}); err != nil {
		t.Errorf("GetStatement: %v", err)
	}
	wantError(t, reserve(servertest.Writer(), 99), codes.OutOfRange, "mechanisms in open reservations")
}

// A statement lists the mechanisms that there is room for, and says how many more there
// are.
func TestLargeStatement(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "it writes 168 large mechanisms")
	s := servertest.Start(t)
	s.NewLedger("large")
	for i := range 12 {
		s.Report("large", servertest.Writer(), 1, &pb.Charge{Events: matrices(i, 1)})
	}
	a, err := s.Client.GetStatement(servertest.Context(t),
		&pb.GetStatementRequest{Name: "large", Deltas: []float64{1e-5}})
	if err != nil {
		t.Fatal(err)
	}
	if n, m := len(a.GetStatement().GetMechanisms()),
		a.GetStatement().GetMechanismsOmitted(); n == 0 || n+int(m) != 168 {
		t.Errorf("%d mechanisms and %d omitted; want 168 together", n, m)
	}
}

// A large genesis counts as a part of its page.
func TestLargeGenesis(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "it writes a large plan")
	s := servertest.Start(t)
	s.Create(servertest.Plan("plan", matrices(0, 9)...))
	charge := matrices(0, 1)
	for i := range 60 {
		s.Report("plan", servertest.Writer(), 1, &pb.Charge{Events: charge[i%len(charge):][:1]})
	}
	a, err := s.Client.ListEntries(servertest.Context(t), &pb.ListEntriesRequest{Ledger: "plan", Raw: true})
	if err != nil || len(a.GetGenesis()) < 800_000 || a.GetNextPageToken() == "" {
		t.Fatalf("ListEntries: a genesis of %d bytes, next page %q, %v", len(a.GetGenesis()), a.GetNextPageToken(), err)
	}
	if n := proto.Size(a); n > 13<<18 {
		t.Errorf("%d bytes; want at most 3 MiB for all with a genesis of %d bytes", n, len(a.GetGenesis()))
	}
}

// What a refusal says fits into the headers that clients have room for, 8 KiB, however
// large the mechanisms are that were refused.
func TestLargeRefusal(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.Create(servertest.Plan("plan", servertest.Pure(0.5, 1)))
	part := &pb.Event{Count: 3, Mechanism: servertest.Pure(0.1, 1).GetMechanism()}
	nested := func(events ...*pb.Event) *pb.Event {
		return &pb.Event{Count: 1, Mechanism: &pb.Mechanism{
			Kind: &pb.Mechanism_Composed{Composed: &pb.Composed{Events: events}}}}
	}
	deep := nested(nested(part, part, part, part), nested(part, part, part, part), nested(part, part, part, part))
	events := matrices(1, 1)
	for i := range 100 {
		another := proto.Clone(deep).(*pb.Event)
		another.Mechanism.GetComposed().Events[0].Count = uint32(i + 2)
		events = append(events, another)
	}
	_, err := s.Client.Report(servertest.Context(t),
		&pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "plan", Writer: servertest.Writer(), Sequence: 1},
			Charge: &pb.Charge{Events: events},
		})
	wantError(t, err, codes.ResourceExhausted, "budget exceeded")
	refused := status.Convert(err)
	if n := len(refused.Message()) + proto.Size(refused.Proto())*4/3; n > 8<<10 || len(refused.Details()) != 1 {
		t.Errorf("%d bytes of headers, details %d; want at most 8 KiB, and 1", n, len(refused.Details()))
	}
	if strings.ContainsRune(refused.Message(), '�') {
		t.Errorf("cut within a character: %q", refused.Message())
	}
}
