// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

const again = "send the same request again"

// When nobody knows whether a write is durable, the client is told to send the
// same request again; then it is charged once, whatever had happened.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]memory.Failure{"kept": memory.FailAndKeep, "lost": memory.FailAndLose} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memory.New(memory.Config{})
			s := servertest.StartWith(t, servertest.Config{Store: store})
			ctx := servertest.Context(t)
			store.FailNext(failure)
			_, err := s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: servertest.Spec("unsure")})
			wantError(t, err, codes.Unavailable, again)
			s.NewLedger("unsure")

			w := servertest.Writer()
			store.FailNext(failure)
			request := &pb.ReportRequest{Lane: &pb.Lane{Ledger: "unsure", Writer: w, Sequence: 1}, Charge: one}
			_, err = s.Client.Report(ctx, request)
			wantError(t, err, codes.Unavailable, again, "same writer and sequence")
			answer, err := s.Client.Report(ctx, request)
			if err != nil || answer.GetReplayed() != (failure == memory.FailAndKeep) ||
				answer.GetReceipt().GetPosition() != 1 {
				t.Errorf("again: %v, %v", answer, err)
			}

			// A stream ends without a rejection: that would be a definite answer.
			stream := s.Stream("unsure", w)
			stream.Charge(2, one)
			stream.Acknowledged(2)
			store.FailNext(failure)
			stream.Charge(3, one)
			_, err = stream.Recv()
			wantError(t, err, codes.Unavailable, again)
			stream = s.Stream("unsure", w)
			if want := map[memory.Failure]uint64{memory.FailAndKeep: 3,
				memory.FailAndLose: 2}[failure]; stream.Last != want {
				t.Errorf("opened after %d; want %d", stream.Last, want)
			}
			stream.Charge(3, one)
			stream.Acknowledged(3)
			if got := s.Position("unsure"); got != 3 {
				t.Errorf("position %d; want 3", got)
			}
		})
	}
}

// While the store takes no writes, charges fail, queries go on, and the same
// charge is taken afterwards.
func TestUnavailableStore(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	s := servertest.StartWith(t, servertest.Config{Store: store})
	s.NewLedger("full")
	w := servertest.Writer()
	stream := s.Stream("full", w)
	store.FailNext(memory.Unavailable)
	stream.Charge(1, one)
	_, err := stream.Recv()
	wantError(t, err, codes.Unavailable, "takes no writes now")
	if got := s.Position("full"); got != 0 {
		t.Errorf("position %d; want 0", got)
	}
	s.Report("full", w, 1, one)
}

// A commit that hangs does not hold calls that have set no deadline for ever.
func TestDefaultDeadline(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	store := memory.New(memory.Config{Plan: func(batch []ledger.Proposal) memory.Failure {
		if batch != nil {
			<-release
		}
		return memory.None
	}})
	s := servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{Deadline: time.Second}})
	s.NewLedger("slow")
	w := servertest.Writer()
	request := &pb.ReportRequest{Lane: &pb.Lane{Ledger: "slow", Writer: w, Sequence: 1}, Charge: one}
	_, err := s.Client.Report(t.Context(), request)
	wantError(t, err, codes.DeadlineExceeded, "send it again")
	_, err = s.Client.Report(t.Context(), request)
	wantError(t, err, codes.Aborted, "busy")
	close(release)
	for err != nil { // ABORTED until the first call's charge is committed
		_, err = s.Client.Report(servertest.Context(t), request)
	}
	if got := s.Position("slow"); got != 1 {
		t.Errorf("position %d; want 1", got)
	}
}

// Stopping waits until what was queued is decided, also where the caller has
// gone: the charge is in the store afterwards.
func TestStopDecidesWhatIsQueued(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	store := memory.New(memory.Config{Plan: func(batch []ledger.Proposal) memory.Failure {
		if batch != nil {
			<-release
		}
		return memory.None
	}})
	s := servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{Deadline: time.Second}})
	s.NewLedger("queued")
	w := servertest.Writer()
	_, err := s.Client.Report(t.Context(), &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "queued", Writer: w, Sequence: 1},
		Charge: one,
	})
	wantError(t, err, codes.DeadlineExceeded)
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.Stop() }()
	for err = nil; status.Code(err) != codes.Unavailable; { // until nothing is served any more
		_, err = s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "queued"})
	}
	select {
	case <-stopped:
		t.Error("stopped before what was queued was decided")
	default:
	}
	close(release)
	<-stopped
	sequence, _, err := store.Writer("queued", ledger.Writer{Principal: "unverified:anonymous", Name: w})
	if err != nil || sequence != 1 {
		t.Errorf("after stopping: sequence %d, %v; want 1", sequence, err)
	}
}

// nearlyFull is a store whose ledgers have almost as many counts as there can be.
type nearlyFull struct{ ledger.Store }

func (s nearlyFull) Load(name string) (ledger.Snapshot, error) {
	snapshot, err := s.Store.Load(name)
	snapshot.Total = math.MaxInt64 - 5
	return snapshot, err
}

// A total that would overflow is OUT_OF_RANGE, and what fits is still taken.
func TestTotalOverflow(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Store: nearlyFull{memory.New(memory.Config{})}})
	s.NewLedger("most")
	w := servertest.Writer()
	_, err := s.Client.Report(servertest.Context(t),
		&pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "most", Writer: w, Sequence: 1},
			Charge: servertest.Gaussian(1, 6),
		})
	wantError(t, err, codes.OutOfRange, "count: 6", "allowed: at most 5 more")
	stream := s.Stream("most", w)
	stream.Charge(1, servertest.Gaussian(1, math.MaxUint32))
	if r := stream.Rejected(); r.GetSequence() != 1 || codes.Code(r.GetCode()) != codes.OutOfRange ||
		!strings.Contains(r.GetDetail(), "count: 4294967295") {
		t.Errorf("rejected %v", r)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("end: %v", err)
	}
	answer, err := s.Client.Report(servertest.Context(t), &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "most", Writer: w, Sequence: 1, CheckOnly: true},
		Charge: servertest.Gaussian(1, 5),
	})
	if err != nil || !answer.GetCheckOnly() {
		t.Errorf("what fits: %v, %v", answer, err)
	}
}

// panicking is a store that panics when entries are read.
type panicking struct{ ledger.Store }

func (panicking) Records(string, uint64, int) ([]ledger.Record, error) { panic("a fault") }

// A panic is INTERNAL for its caller, is counted, and ends nothing else.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Store: panicking{memory.New(memory.Config{})},
		Server: server.Config{HTTP: "127.0.0.1:0"}})
	_, err := s.Client.ListEntries(servertest.Context(t), &pb.ListEntriesRequest{Ledger: "any"})
	wantError(t, err, codes.Internal, "internal error")
	if strings.Contains(err.Error(), "fault") {
		t.Errorf("the client was told %v", err)
	}
	s.NewLedger("after")
	wantMetrics(t, s, "accountant_panics_total 1",
		`grpc_server_handled_total{grpc_code="Internal",grpc_method="ListEntries",grpc_service="accountant.v1.Audit",grpc_type="unary"} 1`)
}
