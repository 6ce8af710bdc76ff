// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// fleetWriter is one of a load's writers.
type fleetWriter struct {
	*fleetLoad
	number int
	random *rand.Rand
	lanes  map[string]*lane
}

// lane is what a writer has numbered itself in a ledger.
type lane struct {
	writer string
	last   uint64
}

// pick returns n of the ledgers that the writer uses: the shared ones and one of the others.
func (w *fleetWriter) pick(n int) (ledgers []*fleetLedger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine := append(slices.Clone(w.current[:fleetShared]),
		w.current[fleetShared+w.number%(fleetLedgers-fleetShared)])
	for _, i := range w.random.Perm(len(mine))[:n] {
		ledgers = append(ledgers, mine[i])
	}
	return ledgers
}

func (w *fleetWriter) act() {
	switch n := w.random.IntN(24); {
	case n < 6:
		w.charge(w.op("charge", 1+w.random.Uint64N(3), w.pick(1)))
	case n < 9:
		w.chargeNext(w.pick(1)[0])
	case n < 12:
		w.stream(w.pick(1)[0])
	case n < 14:
		w.reserve(w.pick(1)[0])
	case n < 17:
		w.chargeSet(w.pick(2 + w.random.IntN(2)))
	case n < 19:
		w.reserveSet(w.pick(2))
	default:
		w.ask(w.pick(1)[0])
	}
}

// op is a write under a key of its own.
func (w *fleetWriter) op(kind string, size uint64, ledgers []*fleetLedger) *fleetOp {
	return &fleetOp{kind: kind, ledgers: ledgers, size: size, writer: newKey(), sequence: 1}
}

// answer is what a write's caller is told.
type answer struct {
	members  []*pb.ReceiptMember // in the order of the write's ledgers
	receipt  *pb.Receipt         // nil if there are several ledgers
	replayed bool                // it was written before
}

// receiptOf is the answer that a receipt of one ledger gives.
func receiptOf(r *pb.Receipt, replayed bool) answer {
	return answer{receipt: r, replayed: replayed, members: []*pb.ReceiptMember{
		{Ledger: r.GetLedger(), Position: r.GetPosition(), HeadHash: r.GetHeadHash()}}}
}

// single is the answer to a write of one ledger.
func single(a interface {
	GetReceipt() *pb.Receipt
	GetReplayed() bool
}, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return receiptOf(a.GetReceipt(), a.GetReplayed()), nil
}

// several is the answer to a write of a set.
func several(t *testing.T, ledgers []*fleetLedger) func(interface {
	GetReceipt() *pb.Receipt
	GetReplayed() bool
}, error) (answer, error) {
	t.Helper()
	return func(a interface {
		GetReceipt() *pb.Receipt
		GetReplayed() bool
	}, err error) (told answer, _ error) {
		if err != nil {
			return answer{}, err
		}
		for _, g := range ledgers {
			i := slices.IndexFunc(a.GetReceipt().GetMembers(),
				func(m *pb.ReceiptMember) bool { return m.GetLedger() == g.name })
			if i < 0 {
				t.Errorf("receipt %v lacks %s", a.GetReceipt(), g.name)
				return answer{}, nil
			}
			told.members = append(told.members, a.GetReceipt().GetMembers()[i])
		}
		told.replayed = a.GetReplayed()
		return told, nil
	}
}

// write does one write until it is decided, and reports whether it was acknowledged.
func (w *fleetWriter) write(op *fleetOp,
	call func(context.Context, api.Client) (answer, error)) bool {
	w.begin(op)
	err := w.try(op.kind+" "+op.key(), func(ctx context.Context, c api.Client) error {
		w.attempt(op)
		alone := w.alone.Load()
		a, err := call(ctx, c)
		if err != nil {
			return err
		}
		if a.replayed { // what was durable before may be told
			alone = 0
		}
		w.acknowledge(op, a, alone)
		return nil
	})
	switch code := status.Code(err); {
	case code == codes.ResourceExhausted:
		w.refused(op, code)
	case code == codes.FailedPrecondition && op.brief && op.kind != "reserve":
		w.decide(op, code)
	case code == codes.FailedPrecondition:
		w.t.Errorf("%s %s: %v", op.kind, op.key(), err)
	}
	return err == nil
}

// refused notes that a budget has run out. Sometimes the writer then makes another ledger.
func (w *fleetWriter) refused(op *fleetOp, code codes.Code) {
	w.decide(op, code)
	g := op.ledgers[w.random.IntN(len(op.ledgers))]
	if w.random.IntN(8) == 0 && g.begun.Load() > g.budget*9/10 {
		w.next(g.number, g)
	}
}

func (w *fleetWriter) charge(op *fleetOp) bool {
	g := op.ledgers[0]
	return w.write(op, func(ctx context.Context, c api.Client) (answer, error) {
		return single(c.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: g.name, Writer: op.writer, Sequence: op.sequence, LastReceipt: g.last()},
			Charge: &pb.Charge{Events: releases(int(op.size))},
		}))
	})
}

// lane is the writer's own in a ledger.
func (w *fleetWriter) lane(g *fleetLedger) *lane {
	if w.lanes[g.name] == nil {
		w.lanes[g.name] = &lane{writer: uuid.NewString()}
	}
	return w.lanes[g.name]
}

// next is the next charge of a lane.
func (l *lane) next(g *fleetLedger) *fleetOp {
	l.last++
	return &fleetOp{kind: "charge", ledgers: []*fleetLedger{g}, size: 1, writer: l.writer, sequence: l.last}
}

// chargeNext makes the next charge of a lane. After a refusal the lane is not used again, since an earlier attempt
// may still be written.
func (w *fleetWriter) chargeNext(g *fleetLedger) {
	if !w.charge(w.lane(g).next(g)) {
		delete(w.lanes, g.name)
	}
}

// stream sends the next charges of a lane all at once over a stream, and what is not answered again over another
// one, through any daemon, until each is acknowledged or one is refused.
func (w *fleetWriter) stream(g *fleetLedger) {
	lane := w.lane(g)
	var left []*fleetOp // in the lane's order
	for range 5 + w.random.IntN(20) {
		left = append(left, w.begin(lane.next(g)))
	}
	through := func(sequence uint64, a answer) { // a is of the last one
		for ; len(left) > 0 && left[0].sequence <= sequence; left = left[1:] {
			told := answer{}
			if left[0].sequence == sequence {
				told = a
			}
			w.acknowledge(left[0], told, left[0].alone)
		}
	}
	err := w.try("a stream to "+g.name, func(ctx context.Context, c api.Client) error {
		s, err := c.ReportStream(ctx)
		if err != nil {
			return err
		}
		send := func(m *pb.ReportStreamRequest) { _ = s.Send(m) } // if it fails, Recv says why
		send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{Open: &pb.ReportStreamRequest_Open{
			Ledger: g.name, Writer: lane.writer, LastReceipt: g.last()}}})
		opened, err := s.Recv()
		if err != nil {
			return err
		}
		through(opened.GetOpened().GetLastSequence(), answer{})
		for _, op := range left {
			w.attempt(op)
			send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
				Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: op.sequence,
					Charge: &pb.Charge{Events: releases(int(op.size))}}}})
		}
		for len(left) > 0 {
			m, err := s.Recv()
			if err != nil {
				return err
			}
			if a := m.GetAcknowledged(); a != nil {
				through(a.GetThrough(), receiptOf(a.GetReceipt(), false))
				continue
			}
			r := m.GetRejected()
			if codes.Code(r.GetCode()) != codes.ResourceExhausted || r.GetSequence() != left[0].sequence {
				w.t.Errorf("%s: %v while %s is next", g.name, m, left[0].key())
			}
			for _, op := range left { // the server drops what follows
				w.refused(op, codes.ResourceExhausted)
			}
			left = nil
			delete(w.lanes, g.name)
		}
		return nil
	})
	if err != nil {
		w.t.Errorf("a stream to %s: %v", g.name, err)
	}
}

// lifetime is how long a reservation lasts, in seconds. If it is brief, nobody need give anything back.
func (w *fleetWriter) lifetime() (seconds uint32, brief bool) {
	if w.random.IntN(3) == 0 {
		return 1 + w.random.Uint32N(3), true
	}
	return 86400, false
}

// reserve reserves some eighths, spends a part, and gives the rest back unless the daemons are to charge it when
// the time is over.
func (w *fleetWriter) reserve(g *fleetLedger) {
	lifetime, brief := w.lifetime()
	op := func(kind string, size uint64) *fleetOp {
		op := w.op(kind, size, []*fleetLedger{g})
		op.brief = brief
		return op
	}
	var held uint64
	o := op("reserve", 3)
	if !w.write(o, func(ctx context.Context, c api.Client) (answer, error) {
		a, err := c.Reserve(ctx, &pb.ReserveRequest{
			Lane:    &pb.Lane{Ledger: g.name, Writer: o.writer, Sequence: 1},
			Reserve: &pb.Reserve{Events: releases(3), LifetimeSeconds: lifetime},
		})
		held = a.GetReceipt().GetPosition()
		return single(a, err)
	}) {
		return
	}
	o = op("commit", 1+w.random.Uint64N(2))
	w.write(o, func(ctx context.Context, c api.Client) (answer, error) {
		return single(c.Commit(ctx, &pb.CommitRequest{
			Lane:   &pb.Lane{Ledger: g.name, Writer: o.writer, Sequence: 1},
			Commit: &pb.Commit{Reservation: held, Events: releases(int(o.size))},
		}))
	})
	if brief && w.random.IntN(4) > 0 {
		return
	}
	o = op("release", 0)
	w.write(o, func(ctx context.Context, c api.Client) (answer, error) {
		return single(c.Release(ctx, &pb.ReleaseRequest{
			Lane:    &pb.Lane{Ledger: g.name, Writer: o.writer, Sequence: 1},
			Release: &pb.Release{Reservation: held},
		}))
	})
}

func setOf(ledgers []*fleetLedger) *pb.LedgerSet {
	set := &pb.LedgerSet{}
	for _, g := range ledgers {
		set.Ledgers = append(set.Ledgers, g.name)
	}
	return set
}

func (w *fleetWriter) chargeSet(ledgers []*fleetLedger) {
	op := w.op("charge", 1+w.random.Uint64N(3), ledgers)
	w.write(op, func(ctx context.Context, c api.Client) (answer, error) {
		return several(w.t, ledgers)(c.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
			Ledgers: setOf(ledgers), Writer: op.writer, Sequence: 1},
			Charge: &pb.Charge{Events: releases(int(op.size))}}))
	})
}

// reserveSet is reserve for a set.
func (w *fleetWriter) reserveSet(ledgers []*fleetLedger) {
	lifetime, brief := w.lifetime()
	op := func(kind string, size uint64) *fleetOp {
		op := w.op(kind, size, ledgers)
		op.brief = brief
		return op
	}
	var held *pb.Receipt
	o := op("reserve", 2)
	if !w.write(o, func(ctx context.Context, c api.Client) (answer, error) {
		a, err := c.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
			Ledgers: setOf(ledgers), Writer: o.writer, Sequence: 1},
			Reserve: &pb.Reserve{Events: releases(2), LifetimeSeconds: lifetime}})
		held = a.GetReceipt()
		return several(w.t, ledgers)(a, err)
	}) {
		return
	}
	o = op("commit", 1)
	w.write(o, func(ctx context.Context, c api.Client) (answer, error) {
		return several(w.t, ledgers)(c.Commit(ctx, &pb.CommitRequest{Lane: &pb.Lane{Ledger: held.GetLedger(),
			Writer: o.writer, Sequence: 1},
			Commit: &pb.Commit{Reservation: held.GetPosition(), Events: releases(1)}}))
	})
	if brief && w.random.IntN(4) > 0 {
		return
	}
	o = op("release", 0)
	w.write(o, func(ctx context.Context, c api.Client) (answer, error) {
		return several(w.t, ledgers)(c.Release(ctx, &pb.ReleaseRequest{Lane: &pb.Lane{Ledger: held.GetLedger(),
			Writer: o.writer, Sequence: 1},
			Release: &pb.Release{Reservation: held.GetPosition()}}))
	})
}

// ask asks one daemon once. Its answer, if there is one, has everything that was acknowledged before, and
// nothing that was not begun.
func (w *fleetWriter) ask(g *fleetLedger) {
	least := g.spent.Load()
	g.mu.Lock()
	position := g.position
	g.mu.Unlock()
	alone := w.alone.Load()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c := w.clients[w.random.IntN(len(w.clients))]
	var at, spent uint64
	var err error
	if w.random.IntN(2) == 0 {
		var a *pb.GetLedgerResponse
		if a, err = c.GetLedger(ctx, &pb.GetLedgerRequest{Name: g.name}); err == nil {
			at, spent = a.GetLedger().GetPosition(), a.GetLedger().GetTotalCount()
			g.show(w.t, at, a.GetLedger().GetHeadHash(), "a question")
		}
	} else {
		var a *pb.QueryPrivacyResponse
		if a, err = c.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: g.name},
			Given: &pb.QueryPrivacyRequest_Delta{Delta: 0}}); err == nil {
			at, spent = a.GetPosition(), uint64(a.GetRunning()/eighth+0.01) // it is rounded by much less
		}
	}
	w.mu.Lock()
	w.questions++
	if err != nil {
		w.unanswered++
	}
	w.mu.Unlock()
	code := status.Code(err)
	switch {
	case code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Canceled:
		return
	case err != nil:
		w.t.Errorf("a question about %s: %v", g.name, err)
		return
	case alone != 0 && alone == w.alone.Load():
		w.t.Errorf("a question about %s was answered without the standby", g.name)
	}
	if most := g.begun.Load(); at < position || spent < least || spent > most {
		w.t.Errorf("%s: an answer has %d eighths at %d; acknowledged before it %d, position %d; begun %d", g.name,
			spent, at, least, position, most)
	}
}
