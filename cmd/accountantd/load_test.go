// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

const window = 64 // in flight of each trainer

// load is clients that stream to a daemon for as long as the test wants, so that what
// the test does to the daemon happens under load, however fast the machine is.
type load struct {
	trainers []*trainer
	api      api.Client
	step     func(writer string, sequence uint64) *pb.Charge // of a client
	ctx      context.Context                                 //nolint:containedctx // ends with the load
	cancel   context.CancelFunc
	enough   atomic.Bool
	group    sync.WaitGroup
}

// startLoad streams equal charges from n clients to ledgers in turn.
func startLoad(t *testing.T, target string, n int, ledgers ...string) *load {
	t.Helper()
	return startLoadOf(t, target, n, func(string, uint64) *pb.Charge { return charge() }, ledgers...)
}

// startLoadOf is startLoad of other charges.
func startLoadOf(t *testing.T, target string, n int, step func(writer string, sequence uint64) *pb.Charge,
	ledgers ...string) *load {
	t.Helper()
	l := &load{api: dial(t, target), step: step}
	l.ctx, l.cancel = context.WithCancel(t.Context())
	t.Cleanup(l.giveUp)
	for i := range n {
		r := &trainer{load: l, client: dial(t, target), ledger: ledgers[i%len(ledgers)], writer: uuid.NewString(),
			receipts: map[uint64]*pb.Receipt{}}
		l.trainers = append(l.trainers, r)
		l.group.Go(func() {
			if err := r.run(l.ctx); err != nil && l.ctx.Err() == nil {
				t.Error(err)
				l.cancel()
			}
		})
	}
	return l
}

// more waits until every client has n more steps acknowledged.
func (l *load) more(t *testing.T, n uint64) {
	t.Helper()
	patience := time.Now().Add(10 * time.Minute)
	var until []uint64
	for _, r := range l.trainers {
		until = append(until, r.acked.Load()+n)
	}
	for i, r := range l.trainers {
		for r.acked.Load() < until[i] && l.ctx.Err() == nil {
			if time.Now().After(patience) {
				t.Fatalf("%d steps acknowledged; waited for %d", r.acked.Load(), until[i])
			}
			waitForMore(l.ctx, l.api, r.ledger)
		}
	}
}

// acknowledged is the number of steps that the daemon has acknowledged to all clients.
func (l *load) acknowledged() (steps uint64) {
	for _, r := range l.trainers {
		steps += r.acked.Load()
	}
	return steps
}

// finish waits until every step that was begun is acknowledged.
func (l *load) finish() {
	l.enough.Store(true)
	l.group.Wait()
}

// giveUp leaves steps without an answer.
func (l *load) giveUp() {
	l.cancel()
	l.group.Wait()
}

// waitForMore passes some time: a call to the daemon.
func waitForMore(ctx context.Context, client api.Client, name string) {
	_, _ = client.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
}

// trainer is one client: it streams its steps, and resumes, until it is enough and all
// that it sent are acknowledged.
type trainer struct {
	load     *load
	client   api.Client
	ledger   string
	writer   string
	sent     uint64
	acked    atomic.Uint64
	receipts map[uint64]*pb.Receipt
	resumed  int
}

func (r *trainer) run(ctx context.Context) error {
	for {
		err := r.stream(ctx)
		if r.done() {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("acknowledged %d of %d: %w", r.acked.Load(), r.sent, err)
		}
		switch status.Code(err) {
		case codes.OK, codes.Unavailable: // the daemon went away: again
			r.resumed++
		default:
			return err
		}
	}
}

func (r *trainer) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := r.client.ReportStream(ctx)
	if err != nil {
		return err
	}
	err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
		Open: &pb.ReportStreamRequest_Open{Ledger: r.ledger, Writer: r.writer}}})
	if err != nil {
		return nil // Recv has the cause; the loop opens another
	}
	answer, err := stream.Recv()
	if err != nil {
		return err
	}
	last := answer.GetOpened().GetLastSequence()
	if last < r.acked.Load() {
		return fmt.Errorf("acknowledged %d, but the daemon knows of %d only", r.acked.Load(), last)
	}
	r.acked.Store(last)
	for r.sent = last; ; {
		for ; r.sent < r.acked.Load()+window && !r.load.enough.Load(); r.sent++ {
			err := stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
				Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: r.sent + 1,
					Charge: r.load.step(r.writer, r.sent+1)}}})
			if err != nil {
				break
			}
		}
		if r.done() {
			return nil
		}
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		a := answer.GetAcknowledged()
		if a == nil || a.GetThrough() <= r.acked.Load() || a.GetReceipt().GetSequence() != a.GetThrough() {
			return fmt.Errorf("answer %v after %d", answer, r.acked.Load())
		}
		r.receipts[a.GetThrough()] = a.GetReceipt()
		r.acked.Store(a.GetThrough())
	}
}

func (r *trainer) done() bool { return r.load.enough.Load() && r.acked.Load() == r.sent }
