// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

var one = servertest.Gaussian(1, 1)

// finish half-closes and returns what is acknowledged until the end.
func finish(t *testing.T, s *servertest.Stream) (through uint64, end error) {
	t.Helper()
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	return drain(t, s)
}

func drain(t *testing.T, s *servertest.Stream) (through uint64, end error) {
	t.Helper()
	for {
		answer, err := s.Recv()
		if err != nil {
			return through, err
		}
		a := answer.GetAcknowledged()
		if a == nil || a.GetThrough() <= through {
			t.Fatalf("after %d: %v", through, answer)
		}
		if a.GetReceipt().GetSequence() != a.GetThrough() {
			t.Fatalf("through %d with receipt %v", a.GetThrough(), a.GetReceipt())
		}
		through = a.GetThrough()
	}
}

// After half-closing everything is decided and acknowledged, then comes OK.
func TestStreamHalfClose(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("half")
	stream := s.Stream("half", servertest.Writer())
	const n = 500
	for i := uint64(1); i <= n; i++ {
		stream.Charge(i, one)
	}
	through, err := finish(t, stream)
	if through != n || !errors.Is(err, io.EOF) {
		t.Errorf("acknowledged %d, end %v; want %d, EOF", through, err, n)
	}
	if got := s.Position("half"); got != n {
		t.Errorf("position %d; want %d", got, n)
	}
}

// A refused charge stops what was sent behind it, and only that.
func TestStreamGoBackN(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("back")
	bad := servertest.Gaussian(-1, 1)
	stream := s.Stream("back", servertest.Writer())
	for _, m := range []struct {
		sequence uint64
		charge   *pb.Charge
	}{{1, one}, {2, one}, {3, bad}, {4, one}, {5, bad}, {6, one}} {
		stream.Charge(m.sequence, m.charge)
	}
	if r := stream.Rejected(); r.GetSequence() != 3 || codes.Code(r.GetCode()) != codes.InvalidArgument {
		t.Fatalf("rejected %v; want 3", r)
	}
	if got := s.Position("back"); got != 2 {
		t.Fatalf("position %d; want 2: what came after 3 is dropped", got)
	}
	// 3 comes again, now good: neither 4, 5 nor 6 had been taken.
	for i := uint64(3); i <= 6; i++ {
		stream.Charge(i, one)
	}
	if receipt := stream.Acknowledged(6); receipt.GetPosition() != 6 {
		t.Errorf("receipt %v; want position 6", receipt)
	}
	// A number that leaves a gap is refused, too, and the right number goes on.
	stream.Charge(9, one)
	if r := stream.Rejected(); r.GetSequence() != 9 || codes.Code(r.GetCode()) != codes.FailedPrecondition {
		t.Fatalf("rejected %v; want 9", r)
	}
	stream.Charge(7, one)
	stream.Acknowledged(7)
	// Number 0 is in no lane: refused, and nothing waits for it.
	stream.Charge(0, one)
	if r := stream.Rejected(); r.GetSequence() != 0 || codes.Code(r.GetCode()) != codes.InvalidArgument {
		t.Fatalf("rejected %v; want 0", r)
	}
	stream.Charge(8, one)
	stream.Acknowledged(8)
}

// A duplicate gets its first receipt; other content under its number is refused.
func TestStreamDuplicates(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("twice")
	w := servertest.Writer()
	stream := s.Stream("twice", w)
	stream.Charge(1, one)
	first := stream.Acknowledged(1)
	stream.Charge(2, one)
	stream.Acknowledged(2)
	stream.Charge(1, one)
	again := stream.Acknowledged(1)
	if first.String() != again.String() {
		t.Errorf("duplicate got %v; want the first receipt %v", again, first)
	}
	stream.Charge(2, servertest.Gaussian(1, 2))
	if r := stream.Rejected(); r.GetSequence() != 2 || codes.Code(r.GetCode()) != codes.AlreadyExists {
		t.Errorf("rejected %v; want 2 with ALREADY_EXISTS", r)
	}
	stream.Charge(2, one)
	stream.Acknowledged(2)
	if _, err := finish(t, stream); !errors.Is(err, io.EOF) {
		t.Errorf("end %v; want EOF", err)
	}
	// Over a unary call, and after the ledger was closed.
	if _, err := s.Client.CloseLedger(servertest.Context(t),
		&pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: "twice", Writer: servertest.Writer(), Sequence: 1},
			Close: &pb.Close{}}); err != nil {
		t.Fatal(err)
	}
	answer, err := s.Client.Report(servertest.Context(t),
		&pb.ReportRequest{Lane: &pb.Lane{Ledger: "twice", Writer: w, Sequence: 1}, Charge: one})
	if err != nil || !answer.GetReplayed() || answer.GetReceipt().String() != first.String() {
		t.Errorf("after closing: %v, %v; want the first receipt %v, replayed", answer, err, first)
	}
	if got := s.Position("twice"); got != 3 {
		t.Errorf("position %d; want 3", got)
	}
}

// Opening a lane's stream ends the older one, after what it had queued.
func TestStreamSuperseded(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("newer")
	w := servertest.Writer()
	older := s.Stream("newer", w)
	const n = 100
	for i := uint64(1); i <= n; i++ {
		older.Charge(i, one)
	}
	newer := servertest.OpenStream(t, api.NewClient(s.Dial()), "newer", w)
	through, err := drain(t, older)
	wantError(t, err, codes.Aborted, "a newer stream")
	if through != newer.Last {
		t.Errorf("the older stream acknowledged %d; the newer one starts after %d", through, newer.Last)
	}
	for i := newer.Last + 1; i <= n+1; i++ {
		newer.Charge(i, one)
	}
	if receipt := newer.Acknowledged(n + 1); receipt.GetPosition() != n+1 {
		t.Errorf("receipt %v; want position %d: each charge once", receipt, n+1)
	}
}

// A stream whose client goes away leaves what was queued decided, and the lane free.
func TestStreamCancelled(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("gone")
	w := servertest.Writer()
	conn := s.Dial()
	stream := servertest.OpenStream(t, api.NewClient(conn), "gone", w)
	for i := uint64(1); i <= 50; i++ {
		stream.Charge(i, one)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	again := s.Stream("gone", w)
	for i := again.Last + 1; i <= 50; i++ {
		again.Charge(i, one)
	}
	if again.Last < 50 {
		again.Acknowledged(50)
	}
	if got := s.Position("gone"); got != 50 {
		t.Errorf("position %d; want 50", got)
	}
}

// Stopping decides and acknowledges what was queued and ends streams with
// UNAVAILABLE; a new server goes on where they ended.
func TestStreamShutdown(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("stop")
	w := servertest.Writer()
	stream := s.Stream("stop", w)
	idle := s.Stream("stop", servertest.Writer())
	const n = 200
	for i := uint64(1); i <= n; i++ {
		stream.Charge(i, one)
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.Restart() }()
	through, err := drain(t, stream)
	wantError(t, err, codes.Unavailable, "shutting down")
	_, err = idle.Recv()
	wantError(t, err, codes.Unavailable, "shutting down")
	<-stopped
	again := s.Stream("stop", w)
	if again.Last < through {
		t.Fatalf("acknowledged %d, but %d are durable", through, again.Last)
	}
	if again.Last != through {
		t.Errorf("%d are durable, but only %d were acknowledged in an orderly stop", again.Last, through)
	}
	for i := again.Last + 1; i <= n; i++ {
		again.Charge(i, one)
	}
	if again.Last < n {
		again.Acknowledged(n)
	}
	if got := s.Position("stop"); got != n {
		t.Errorf("position %d; want %d", got, n)
	}
}

// Many writers with equal content, streams and unary calls, on two ledgers:
// each charge once, positions without a gap.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	const writers, each = 16, 100
	var group sync.WaitGroup
	for i := range 2 {
		s.NewLedger(fmt.Sprint("many/", i))
	}
	for i := range writers {
		ledger, w := fmt.Sprint("many/", i%2), servertest.Writer()
		group.Go(func() {
			if i%4 == 3 {
				for j := uint64(1); j <= each; j++ {
					answer, err := s.Client.Report(servertest.Context(t),
						&pb.ReportRequest{Lane: &pb.Lane{Ledger: ledger, Writer: w, Sequence: j}, Charge: one})
					if err != nil || answer.GetReplayed() || answer.GetReceipt().GetSequence() != j {
						t.Errorf("report %d: %v, %v", j, answer, err)
						return
					}
				}
				return
			}
			if err := reportAll(t, s.Client, ledger, w, each); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range 2 {
		name := fmt.Sprint("many/", i)
		answer, err := s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		l := answer.GetLedger()
		if l.GetPosition() != writers/2*each || l.GetTotalCount() != writers/2*each || l.GetDistinctMechanisms() != 1 {
			t.Errorf("%v; want %d entries of one mechanism", l, writers/2*each)
		}
		checkLog(t, s.Client, name, writers/2, each)
	}
}

// reportAll streams n charges and waits for the end. It may run outside the
// test's own goroutine.
func reportAll(t *testing.T, client api.Client, ledger, w string, n uint64) error {
	stream, err := client.ReportStream(servertest.Context(t))
	if err != nil {
		return err
	}
	send := func(m *pb.ReportStreamRequest) {
		if err == nil {
			err = stream.Send(m)
		}
	}
	send(&pb.ReportStreamRequest{
		Message: &pb.ReportStreamRequest_Open_{Open: &pb.ReportStreamRequest_Open{Ledger: ledger, Writer: w}}})
	for i := uint64(1); i <= n; i++ {
		send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
			Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: i, Charge: one}}})
	}
	if err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	var through uint64
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if answer.GetRejected() != nil {
			return fmt.Errorf("rejected: %v", answer)
		}
		through = max(through, answer.GetAcknowledged().GetThrough())
	}
	if through != n {
		return fmt.Errorf("acknowledged %d of %d", through, n)
	}
	return nil
}
