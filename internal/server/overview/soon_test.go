// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Whoever asks for progress hears how far the reading of a long ledger is, as often as they ask, and at the end what
// everybody else is told. However often they ask, one reading is under way.
func TestProgressOfALongReading(t *testing.T) {
	t.Parallel()
	const entries, read = 2500, 1000
	store := servertest.NewGated()
	defer store.Open()
	s := servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{Analyses: 2}})
	s.Create(servertest.Filter("long", servertest.Basic(1e4)))
	stream := s.Stream("long", servertest.Writer())
	for i := range uint64(entries) {
		stream.Charge(i+1, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.1, 1)}})
	}
	stream.Acknowledged(entries)
	store.Shut(read+1, entries)
	ctx := servertest.Context(t)
	history := &pb.QueryHistoryRequest{Ledger: "long", Progress: true}
	spending := &pb.QuerySpendingRequest{Ledger: "long", By: pb.QuerySpendingRequest_PRINCIPAL, Progress: true}
	forecast := &pb.QueryForecastRequest{Ledger: "long", Progress: true}
	want := &pb.Reading{EntriesRead: read, Entries: entries}
	ask := func() (h *pb.QueryHistoryResponse, g *pb.QuerySpendingResponse) {
		t.Helper()
		h, err := s.Client.QueryHistory(ctx, history)
		if err == nil {
			g, err = s.Client.QuerySpending(ctx, spending)
		}
		if err != nil || len(h.GetPoints()) > 0 || len(g.GetGroups()) > 0 || g.GetTotal() != nil {
			t.Fatalf("%v, %v, %v; want how far the reading is, and nothing else", h, g, err)
		}
		return h, g
	}
	for h, g := ask(); h.GetReading().GetEntriesRead() < read || g.GetReading().GetEntriesRead() < read ||
		store.Waiting.Load() < 2; h, g = ask() { // the test's own time ends it
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		if h, g := ask(); !proto.Equal(h.GetReading(), want) || !proto.Equal(g.GetReading(), want) {
			t.Errorf("%v, %v; want %v", h, g, want)
		}
		f, err := s.Client.QueryForecast(ctx, forecast) // which waits for the history's reading
		if err != nil || !proto.Equal(f, &pb.QueryForecastResponse{Reading: want}) {
			t.Errorf("forecast: %v, %v; want %v, and nothing else", f, err, want)
		}
	}
	if n := store.Waiting.Load(); n != 2 {
		t.Errorf("%d readings are under way; want 2", n)
	}
	// Who does not ask for progress waits as before.
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	_, err := s.Client.QueryHistory(short, &pb.QueryHistoryRequest{Ledger: "long"})
	cancel()
	if c := status.Code(err); c != codes.DeadlineExceeded {
		t.Errorf("without progress: %v; want DEADLINE_EXCEEDED", err)
	}
	store.Open()
	for {
		h, err := s.Client.QueryHistory(ctx, history)
		if err != nil {
			t.Fatal(err)
		}
		if h.GetReading() != nil {
			continue // the test's own time ends it
		}
		plain, err := s.Client.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: "long"})
		if err != nil || !proto.Equal(h, plain) {
			t.Errorf("%v\n%v, %v", h, plain, err)
		}
		break
	}
	if f, err := s.Client.QueryForecast(ctx, forecast); err != nil || f.GetReading() != nil || f.GetText() == "" {
		t.Errorf("forecast of a ledger that was read: %v, %v", f, err)
	}
	for {
		g, err := s.Client.QuerySpending(ctx, spending)
		if err != nil {
			t.Fatal(err)
		}
		if g.GetReading() != nil {
			continue
		}
		if n := g.GetTotal().GetEntries(); n != entries {
			t.Errorf("%d entries are counted; want %d", n, entries)
		}
		break
	}
}

// A server that stops does not wait for a reading that nobody waits for, and progress is for whole histories.
func TestProgressEndsWithTheServer(t *testing.T) {
	t.Parallel()
	store := servertest.NewGated()
	defer store.Open()
	s := servertest.StartWith(t, servertest.Config{Store: store})
	s.NewLedger("long")
	for i := range uint64(3) {
		s.Report("long", servertest.Writer(), 1, servertest.Gaussian(float64(5+i), 1))
	}
	ctx := servertest.Context(t)
	_, err := s.Client.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: "long", Progress: true,
		Positions: []uint64{1}})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("progress with positions: %v", err)
	}
	store.Shut(1, 3)
	h, err := s.Client.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: "long", Progress: true})
	if err != nil || h.GetReading().GetEntries() != 3 {
		t.Fatalf("%v, %v", h, err)
	}
	s.Stop()
	store.Open()
}
