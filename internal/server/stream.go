// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/wire"
)

// ReportStream implements the API. Two goroutines share a stream: one takes
// charges into the lane, the handler's own sends what was decided. The stream
// ends when the lane has ended and everything it took is answered:
//
//   - the client half-closed: OK
//   - a newer stream of the lane was opened: ABORTED
//   - the server is stopping: UNAVAILABLE
//   - the access policy does not allow it any more: PERMISSION_DENIED
//   - the caller's token has ended: UNAUTHENTICATED
//   - a message was of no known kind: INVALID_ARGUMENT
//   - the client's last receipt is of an entry that is not there: DATA_LOSS
//   - the store failed: that error; what is durable is told by the next Opened
func (s *service) ReportStream(stream pb.Charges_ReportStreamServer) error {
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	r, err := s.begin(stream)
	if err != nil {
		return err
	}
	defer r.release()
	return r.end(r.answer())
}

// begin opens a stream, and starts the goroutine that takes charges. It is a function of its own because what it needs
// on the stack is not to be kept while the stream is open. Unless there is an error, release must be called.
func (s *service) begin(stream pb.Charges_ReportStreamServer) (*reports, error) {
	ending, cancel := s.ending(stream.Context())
	r, last, err := s.open(ending, stream)
	if err != nil {
		cancel()
		return nil, err
	}
	err = stream.Send(&pb.ReportStreamResponse{Message: &pb.ReportStreamResponse_Opened_{
		Opened: &pb.ReportStreamResponse_Opened{LastSequence: last}}})
	if err != nil {
		r.lane.Close()
		cancel()
		return nil, err
	}
	ended := make(chan error, 3)
	closing := func(err error) { ended <- err; r.lane.Close() }
	unstop := context.AfterFunc(ending, func() { closing(context.Cause(ending)) })
	unlose := passage(stream.Context()).OnLoss(closing)
	r.ended, r.release = ended, func() { unlose(); unstop(); r.lane.Close(); cancel() }
	go func() { closing(r.take(ending)) }()
	return r, nil
}

// end returns how a stream ends whose answers have ended with err.
func (r *reports) end(err error) error {
	if errors.Is(err, io.EOF) {
		err = <-r.ended
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ending returns a context that ends when nothing more is to be taken from a stream: the server is
// stopping, or the caller's token has ended. Its cause says which. Most streams need none of their own.
func (s *service) ending(ctx context.Context) (context.Context, context.CancelFunc) {
	c := callerOf(ctx)
	if c == nil || c.until.IsZero() {
		return s.draining, func() {}
	}
	ending, end := context.WithCancelCause(s.draining)
	timer := time.AfterFunc(time.Until(c.until), func() { end(errTokenEnded) })
	return ending, func() { timer.Stop(); end(nil) }
}

// first waits for the first message. Its goroutine ends with the call.
func (s *service) first(ending context.Context,
	stream pb.Charges_ReportStreamServer) (*pb.ReportStreamRequest_Open, error) {
	type received struct {
		message *pb.ReportStreamRequest
		err     error
	}
	got := make(chan received, 1)
	go func() {
		m, err := stream.Recv()
		got <- received{m, err}
	}()
	select {
	case <-ending.Done():
		return nil, context.Cause(ending)
	case r := <-got:
		if ending.Err() != nil {
			return nil, context.Cause(ending)
		}
		if errors.Is(r.err, io.EOF) {
			return nil, &wire.InvalidError{Field: "open", Value: "missing", Allowed: "open as the first message"}
		}
		if r.err != nil {
			return nil, r.err
		}
		if err := checkRequest(r.message); err != nil {
			return nil, err
		}
		if r.message.GetOpen() == nil {
			return nil, &wire.InvalidError{Field: "message", Value: kindOf(r.message),
				Allowed: "open as the first message"}
		}
		return r.message.GetOpen(), nil
	}
}

// kindOf names the kind of a message of a stream.
func kindOf(m *pb.ReportStreamRequest) string {
	r := m.ProtoReflect()
	if fd := r.WhichOneof(r.Descriptor().Oneofs().ByName("message")); fd != nil {
		return string(fd.Name())
	}
	return "missing"
}

// reports is one open report stream.
type reports struct {
	stream    pb.Charges_ReportStreamServer
	lane      *keeper.Lane
	writer    ledger.Writer
	adjacency mechanism.Adjacency
	metrics   *Metrics
	refusals  *refusals
	expiry    *expiry
	ledger    string
	ended     <-chan error // why the lane was closed here; the first counts
	release   func()
}

// open waits for the first message, checks the lane's name and takes it over.
func (s *service) open(ending context.Context, stream pb.Charges_ReportStreamServer) (*reports, uint64,
	error) {
	open, err := s.first(ending, stream)
	if err != nil {
		return nil, 0, err
	}
	ctx := stream.Context()
	w, err := s.lane(ctx, "open", open.GetLedger(), open.GetWriter())
	if err != nil {
		return nil, 0, err
	}
	if err := wire.CheckStreamWriter(w); err != nil {
		return nil, 0, err
	}
	if err := s.compareReceipt("open.last_receipt", open.GetLedger(), open.GetLastReceipt()); err != nil {
		return nil, 0, err
	}
	adjacency, err := s.keeper.Adjacency(ctx, open.GetLedger())
	if err != nil {
		return nil, 0, err
	}
	// A stream that is to end must not wait behind the lane's older stream.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ending, func() { cancel(context.Cause(ending)) })()
	lane, last, err := s.keeper.Open(ctx, open.GetLedger(), w)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, 0, err
	}
	return &reports{stream: stream, lane: lane, writer: w, adjacency: adjacency, metrics: s.metrics,
		refusals: s.refusals, expiry: s.expiry, ledger: open.GetLedger()}, last, nil
}

// countEach is how many charges of a stream are counted at once for fair use. Counting takes some hundred
// nanoseconds, which is much for each charge.
const countEach = 32

// knownOfStream and knownCharges are how many charges are known by their bytes: of one job, whose client may send
// labels in any order, and of all that report by single calls.
const knownOfStream, knownCharges = 16, 1024

// Messages that are longer than large are decoded in turn, as there may be one in each of ten thousand streams.
// decodedBytes is about how many bytes of memory one takes then for each byte.
const (
	large        = 4 << 10
	decodedBytes = 8
)

// take moves messages into the lane until there are no more (io.EOF), one cannot
// be placed in the lane's order, the lane or the call has ended, or the stream is to end:
// what comes after that is not taken.
func (r *reports) take(ending context.Context) error {
	account, uncounted := callerOf(r.stream.Context()).account, 0
	defer func() { account.Count(uncounted) }()
	defer r.lane.Withdraw()
	charges := record.NewCharges(r.adjacency, knownOfStream)
	var received encoded
	for {
		if cap(received) > large { // a thousand streams would keep as many
			received = nil
		}
		if err := r.stream.RecvMsg(&received); err != nil {
			return err
		}
		if ending.Err() != nil {
			return context.Cause(ending)
		}
		if uncounted++; uncounted == countEach {
			account.Charges(r.stream.Context(), uncounted) // which ends with the handler
			uncounted = 0
		}
		if len(received) > large {
			if err := r.lane.Admit(r.stream.Context(), decodedBytes*len(received)); err != nil {
				return err
			}
		}
		if sequence, body, ok := wire.Sequenced(received); ok {
			if action, digest, ok := charges.Charge(body); ok {
				if err := r.send(sequence, action, digest); err != nil {
					return err
				}
				continue
			}
		}
		m := new(pb.ReportStreamRequest)
		if err := proto.Unmarshal(received, m); err != nil {
			return status.Errorf(codes.Internal, "request: %v", err) // as gRPC itself answers it
		}
		sequence, action := r.content(m)
		if action == nil {
			if err := checkRequest(m); err != nil { // such as a newer kind of message
				return err
			}
			return &wire.InvalidError{Field: "message", Value: kindOf(m),
				Allowed: "charge, reserve, commit or release, after the first message"}
		}
		v, err := r.valid(m, action)
		if err != nil {
			err = r.lane.Reject(r.stream.Context(), sequence, err)
		} else {
			err = r.send(sequence, v, record.Digest(v))
		}
		if err != nil {
			return err
		}
	}
}

// send puts a valid action into the lane, or the refusal of its number.
func (r *reports) send(sequence uint64, action ledger.Action, digest ledger.Digest) error {
	ctx := r.stream.Context()
	request, err := request(ctx, r.writer, sequence, action, digest)
	if err != nil {
		return r.lane.Reject(ctx, sequence, err)
	}
	return r.lane.Send(ctx, request)
}

// content is a message's number in the lane and what makes its action; nil for other
// messages.
func (r *reports) content(m *pb.ReportStreamRequest) (uint64, func() (ledger.Action, error)) {
	var sequence uint64
	var action proto.Message
	switch k := m.GetMessage().(type) {
	case *pb.ReportStreamRequest_Charge:
		sequence, action = k.Charge.GetSequence(), k.Charge.GetCharge()
	case *pb.ReportStreamRequest_Reserve:
		sequence, action = k.Reserve.GetSequence(), k.Reserve.GetReserve()
	case *pb.ReportStreamRequest_Commit:
		sequence, action = k.Commit.GetSequence(), k.Commit.GetCommit()
	case *pb.ReportStreamRequest_Release:
		sequence, action = k.Release.GetSequence(), k.Release.GetRelease()
	default:
		return 0, nil
	}
	return sequence, func() (ledger.Action, error) {
		v, err := wire.ToAction(kindOf(m), r.adjacency, action)
		return ledger.HeldBy(v, passage(r.stream.Context()).Holder()), err
	}
}

// valid checks a message. A valid one (at most 1,000 events and 16 labels) is far
// below the size limit, so only what is refused anyway is measured.
func (r *reports) valid(m *pb.ReportStreamRequest, action func() (ledger.Action, error)) (ledger.Action, error) {
	err := wire.RejectUnknown(m)
	var v ledger.Action
	if err == nil {
		v, err = action()
	}
	if err != nil {
		if large := wire.CheckSize(m); large != nil {
			err = large
		}
		return nil, err
	}
	return v, nil
}

// answer sends what was decided until the lane has ended and all is answered:
// then the error is Receive's. It ends early when a charge's outcome is not a
// decision; nothing after it may be acknowledged or refused.
func (r *reports) answer() error {
	for {
		results, err := r.lane.Receive(r.stream.Context())
		if err != nil {
			return err
		}
		answers, failure := r.answers(results)
		for _, a := range answers {
			if err := r.stream.Send(a); err != nil {
				return err
			}
		}
		if failure != nil {
			return failure
		}
	}
}

// answers makes one acknowledgement of each run of ascending sequence numbers,
// which a reservation ends, since its own receipt names it, and a rejection of each
// refusal. The error is the first that is no refusal.
func (r *reports) answers(results []keeper.LaneResult) (answers []*pb.ReportStreamResponse, failure error) {
	var run *keeper.LaneResult // the last of the run that is not yet acknowledged
	acknowledge := func() {
		if run != nil {
			answers = append(answers, &pb.ReportStreamResponse{Message: &pb.ReportStreamResponse_Acknowledged_{
				Acknowledged: &pb.ReportStreamResponse_Acknowledged{Through: run.Sequence,
					Receipt: wire.FromReceipt(run.Receipt)}}})
			run = nil
		}
	}
	for i := range results {
		result := &results[i]
		r.metrics.write(true, result.Replayed, result.Err)
		if result.Err == nil {
			if run != nil && result.Sequence <= run.Sequence {
				acknowledge()
			}
			run = result
			if result.Reserved {
				acknowledge()
				r.expiry.wake()
			}
			continue
		}
		acknowledge()
		if !isRefusal(result.Err) {
			return answers, fmt.Errorf("sequence %d: %w", result.Sequence, result.Err)
		}
		r.refusals.Add(r.ledger, r.writer, result.Sequence, result.Err)
		s := statusOf(result.Err)
		answers = append(answers, &pb.ReportStreamResponse{Message: &pb.ReportStreamResponse_Rejected_{
			Rejected: &pb.ReportStreamResponse_Rejected{Sequence: result.Sequence, Code: int32(s.Code()),
				Detail: s.Message(), BudgetExceeded: exceededBy(result.Err)}}})
	}
	acknowledge()
	return answers, nil
}
