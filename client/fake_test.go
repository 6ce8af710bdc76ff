// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// fault is what goes wrong with one message.
type fault int

const (
	none       fault = iota
	failBefore       // fails; nothing is written
	failAfter        // written, but the answer is lost
	busy             // ABORTED
	quiet            // streams: written, not acknowledged until the next one is
	stall            // streams: written, and the connection goes silent
	unready          // streams: rejected with UNAVAILABLE
	forbidden        // PERMISSION_DENIED; streams: before the charge is taken
)

// fake is a daemon that keeps the lane's rules and fails on command.
type fake struct {
	api.Unimplemented
	mu      sync.Mutex
	ledgers map[string]*fakeLedger
	// fault, if set, is asked before each message of op "Report", "Open", "Charge".
	fault func(op string) fault
	// refuse, if set, is asked before a new charge is written.
	refuse     func(*pb.Charge) error
	principals map[string]bool
	calls      map[string]int
	hold       chan struct{} // if set, streams wait for it before each charge
	slow       time.Duration // streams wait so long before each charge
	dropped    int           // charges behind a rejected one
	deaf       bool          // streams do not end when the client has no more to say
	server     *grpc.Server
}

type fakeLedger struct {
	entries []*pb.Entry
	last    map[string]uint64
	streams map[string]int // the newest stream of each writer
	closed  bool
}

func newFake(ledgers ...string) *fake {
	f := &fake{ledgers: map[string]*fakeLedger{}, principals: map[string]bool{}, calls: map[string]int{}}
	for _, name := range ledgers {
		f.ledgers[name] = &fakeLedger{last: map[string]uint64{}, streams: map[string]int{}}
	}
	return f
}

// start serves f and returns a client of it.
func (f *fake) start(t testing.TB, cfg Config) *Client {
	t.Helper()
	return f.serve(t, f, cfg)
}

// serve is start with a daemon that has more than f.
func (f *fake) serve(t testing.TB, daemon api.Server, cfg Config) *Client {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	f.server = server
	api.Register(server, daemon)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	cfg.DialOptions = append(cfg.DialOptions,
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return listener.Dial() }))
	if cfg.BackoffMin == 0 {
		cfg.BackoffMin, cfg.BackoffMax = time.Millisecond, 4*time.Millisecond
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (f *fake) next(ctx context.Context, op string) fault {
	f.calls[op]++
	md, _ := metadata.FromIncomingContext(ctx)
	for _, p := range md.Get("accountant-principal") {
		f.principals[p] = true
	}
	if f.fault == nil {
		return none
	}
	return f.fault(op)
}

var (
	errDown      = status.Error(codes.Unavailable, "down")
	errForbidden = status.Error(codes.PermissionDenied, "not yours")
)

// write applies the rules of a lane. The caller has the lock.
func (f *fake) write(ledger, writer string, sequence uint64, charge *pb.Charge, check bool) (*pb.Receipt, bool, error) {
	l := f.ledgers[ledger]
	if l == nil {
		return nil, false, status.Errorf(codes.NotFound, "ledger: %q", ledger)
	}
	last := l.last[writer]
	receipt := func(e *pb.Entry) *pb.Receipt {
		return &pb.Receipt{Ledger: ledger, Writer: writer, Sequence: sequence, Position: e.Position}
	}
	switch {
	case sequence <= last:
		i := slices.IndexFunc(l.entries, func(e *pb.Entry) bool { return e.Writer == writer && e.Sequence == sequence })
		if !bytes.Equal(digest(l.entries[i].GetCharge()), digest(charge)) {
			return nil, false, status.Error(codes.AlreadyExists, "used for something else")
		}
		return receipt(l.entries[i]), true, nil
	case sequence > last+1:
		return nil, false, status.Errorf(codes.FailedPrecondition, "sequence: %d; allowed: %d", sequence, last+1)
	case l.closed:
		return nil, false, status.Error(codes.FailedPrecondition, "ledger is closed")
	case len(charge.GetEvents()) == 0:
		return nil, false, status.Error(codes.InvalidArgument, "events: none; allowed: 1 to 1000")
	}
	if f.refuse != nil {
		if err := f.refuse(charge); err != nil {
			return nil, false, err
		}
	}
	if check {
		return nil, false, nil
	}
	e := &pb.Entry{Position: uint64(len(l.entries)) + 1, Writer: writer, Sequence: sequence,
		Action: &pb.Entry_Charge{Charge: proto.CloneOf(charge)}}
	l.entries = append(l.entries, e)
	l.last[writer] = sequence
	return receipt(e), false, nil
}

func digest(c *pb.Charge) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		panic(err)
	}
	return b
}

func (f *fake) Report(ctx context.Context, r *pb.ReportRequest) (*pb.WriteResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	happens := f.next(ctx, "Report")
	switch happens {
	case failBefore:
		return nil, errDown
	case forbidden:
		return nil, errForbidden
	case busy:
		return nil, status.Error(codes.Aborted, "lane is busy")
	}
	receipt, replayed, err := f.write(r.Lane.Ledger, r.Lane.Writer, r.Lane.Sequence, r.Charge, r.Lane.CheckOnly)
	if err != nil {
		return nil, err
	}
	if happens == failAfter {
		return nil, errDown
	}
	return &pb.WriteResponse{Receipt: receipt, Replayed: replayed, CheckOnly: r.Lane.CheckOnly && !replayed}, nil
}

func (f *fake) CloseLedger(ctx context.Context, r *pb.CloseLedgerRequest) (*pb.WriteResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.ledgers[r.Lane.Ledger]
	if l.closed && l.last[r.Lane.Writer] == r.Lane.Sequence {
		return &pb.WriteResponse{Receipt: &pb.Receipt{Sequence: r.Lane.Sequence}, Replayed: true}, nil
	}
	if l.last[r.Lane.Writer]+1 != r.Lane.Sequence {
		return nil, status.Error(codes.FailedPrecondition, "gap")
	}
	l.closed = true
	l.last[r.Lane.Writer]++
	return &pb.WriteResponse{Receipt: &pb.Receipt{Sequence: r.Lane.Sequence}}, nil
}

func (f *fake) GetWriter(_ context.Context, r *pb.GetWriterRequest) (*pb.GetWriterResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &pb.GetWriterResponse{LastSequence: f.ledgers[r.Ledger].last[r.Writer]}, nil
}

func (f *fake) ReportStream(stream grpc.BidiStreamingServer[pb.ReportStreamRequest, pb.ReportStreamResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	f.mu.Lock()
	happens := f.next(stream.Context(), "Open")
	l := f.ledgers[first.GetOpen().GetLedger()]
	if happens == failBefore || happens == failAfter || happens == forbidden || l == nil {
		f.mu.Unlock()
		if l == nil {
			return status.Errorf(codes.NotFound, "ledger: %q", first.GetOpen().GetLedger())
		}
		if happens == forbidden {
			return errForbidden
		}
		return errDown
	}
	writer := first.GetOpen().GetWriter()
	l.streams[writer]++
	me, last := l.streams[writer], l.last[writer]
	f.mu.Unlock()
	opened := &pb.ReportStreamResponse_Opened_{Opened: &pb.ReportStreamResponse_Opened{LastSequence: last}}
	if err := stream.Send(&pb.ReportStreamResponse{Message: opened}); err != nil {
		return err
	}
	rejected := uint64(0)
	for {
		m, err := stream.Recv()
		if err == io.EOF && f.deaf {
			<-stream.Context().Done()
			return stream.Context().Err()
		} else if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if f.hold != nil {
			select {
			case <-f.hold:
			case <-stream.Context().Done():
				return stream.Context().Err()
			}
		}
		if f.slow > 0 {
			select {
			case <-time.After(f.slow):
			case <-stream.Context().Done():
				return stream.Context().Err()
			}
		}
		answer, err := f.charge(stream.Context(), first.GetOpen().GetLedger(), writer, me, m.GetCharge(), &rejected)
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// charge decides one message of a stream; nil, nil is no answer.
func (f *fake) charge(ctx context.Context, ledger, writer string, me int, c *pb.ReportStreamRequest_SequencedCharge,
	rejected *uint64) (*pb.ReportStreamResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ledgers[ledger].streams[writer] != me {
		return nil, status.Error(codes.Aborted, "the lane was opened again")
	}
	if *rejected != 0 && c.Sequence != *rejected {
		f.dropped++
		return nil, nil
	}
	*rejected = 0
	happens := f.next(ctx, "Charge")
	switch happens {
	case failBefore:
		return nil, errDown
	case forbidden:
		return nil, errForbidden
	}
	var receipt *pb.Receipt
	err := status.Error(codes.Unavailable, "no room")
	if happens != unready {
		receipt, _, err = f.write(ledger, writer, c.Sequence, c.Charge, false)
	}
	switch {
	case err != nil:
		*rejected = c.Sequence
		return &pb.ReportStreamResponse{
			Message: &pb.ReportStreamResponse_Rejected_{Rejected: &pb.ReportStreamResponse_Rejected{
				Sequence: c.Sequence, Code: int32(status.Code(err)), Detail: status.Convert(err).Message(),
			}}}, nil
	case happens == failAfter:
		return nil, errDown
	case happens == quiet:
		return nil, nil
	case happens == stall:
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		return nil, ctx.Err()
	}
	return &pb.ReportStreamResponse{
		Message: &pb.ReportStreamResponse_Acknowledged_{Acknowledged: &pb.ReportStreamResponse_Acknowledged{
			Through: c.Sequence, Receipt: receipt,
		}}}, nil
}

func (f *fake) ListLedgers(_ context.Context, r *pb.ListLedgersRequest) (*pb.ListLedgersResponse, error) {
	start, _ := strconv.Atoi(r.PageToken)
	out := &pb.ListLedgersResponse{}
	if start%2 == 1 { // the other pages pass over ledgers that the caller may not see
		out.Ledgers = []*pb.Ledger{{Name: fmt.Sprintf("%s%d", r.Prefix, start/2)}}
	}
	if start < 6 {
		out.NextPageToken = strconv.Itoa(start + 1)
	}
	return out, nil
}

func (f *fake) ListEntries(_ context.Context, r *pb.ListEntriesRequest) (*pb.ListEntriesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries := f.ledgers[r.Ledger].entries
	at := int(max(r.StartPosition, 1)) - 1
	if r.PageToken != "" {
		at, _ = strconv.Atoi(r.PageToken)
	}
	end := min(at+int(r.PageSize), len(entries))
	out := &pb.ListEntriesResponse{Entries: entries[at:end]}
	if end < len(entries) {
		out.NextPageToken = strconv.Itoa(end)
	}
	if at == 0 && r.Raw {
		out.Genesis = []byte("genesis")
	}
	return out, nil
}

// notes returns the label "n" of a ledger's charges, in order.
func (f *fake) notes(ledger string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, e := range f.ledgers[ledger].entries {
		out = append(out, e.GetCharge().GetLabels()["n"])
	}
	return out
}

func (f *fake) set(fault func(op string) fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// script makes faults happen one after another, to messages of one op.
func script(op string, list ...fault) func(string) fault {
	return func(o string) fault {
		if o != op || len(list) == 0 {
			return none
		}
		f := list[0]
		list = list[1:]
		return f
	}
}

// oneStep is a charge that can be told apart by its label.
func oneStep(n int) ([]*pb.Event, map[string]string) {
	return []*pb.Event{Event(PoissonSampled(0.1, Gaussian(1)), 1)}, map[string]string{"n": strconv.Itoa(n)}
}

func count(from, to int) []string {
	var out []string
	for n := from; n <= to; n++ {
		out = append(out, strconv.Itoa(n))
	}
	return out
}
