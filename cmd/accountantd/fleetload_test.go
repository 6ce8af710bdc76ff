package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

const (
	fleetLedgers = 16
	fleetShared  = 4 // the first ones are used by all writers
	coin         = 0.1
)

// fleetLoad is writers who charge ledgers through any of the daemons, and what they were told.
// A ledger whose budget has run out is followed by another one.
type fleetLoad struct {
	t       *testing.T
	clients []pb.AccountantServiceClient
	budget  uint64 // coins of each ledger's own; five times as many of a shared one
	writers sync.WaitGroup
	enough  atomic.Bool
	alone   atomic.Uint64 // not zero while nobody may be answered; a number of its own each time
	alones  uint64

	mu         sync.Mutex
	current    [fleetLedgers]*fleetLedger
	ledgers    map[string]*fleetLedger
	told       map[string]*fleetOp // by writer and sequence
	acked      []time.Time
	took       []time.Duration // operations, from their first attempt until they were decided
	again      int
	questions  int
	unanswered int
}

// fleetLedger is what is known of a ledger from answers.
type fleetLedger struct {
	name     string
	number   int
	budget   uint64
	position atomic.Uint64 // the highest in a receipt
	spent    atomic.Uint64 // coins in acknowledged charges and commits
	begun    atomic.Uint64 // coins in those that were begun

	mu    sync.Mutex
	shown map[uint64]head // in answers and receipts, by position
}

// fleetOp is one write and what its caller was told.
type fleetOp struct {
	kind     string
	ledgers  []*fleetLedger
	coins    uint64
	key      string
	refused  bool
	attempts int
}

func newFleetLoad(t *testing.T, targets []string, size uint64) *fleetLoad {
	l := &fleetLoad{t: t, budget: 40 * size, ledgers: map[string]*fleetLedger{}, told: map[string]*fleetOp{}}
	for _, target := range targets {
		l.clients = append(l.clients, dial(t, target))
	}
	for i := range fleetLedgers {
		l.next(i, nil)
	}
	return l
}

// next makes the ledger that follows one whose budget has run out, unless another writer has made it.
func (l *fleetLoad) next(number int, after *fleetLedger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current[number] != after {
		return
	}
	g := &fleetLedger{name: fmt.Sprintf("fleet/%02d/%d", number, len(l.ledgers)), number: number, budget: l.budget,
		shown: map[uint64]head{}}
	if number < fleetShared {
		g.budget *= 5
	}
	epsilon := coin * float64(g.budget)
	l.try("create", func(ctx context.Context, c pb.AccountantServiceClient) error {
		_, err := c.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{Name: g.name,
			Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Policy: pb.LedgerSpec_FILTER,
			Budgets: []*pb.Budget{{Epsilon: &epsilon, Guard: pb.Budget_BASIC}}}})
		return err
	})
	l.current[number], l.ledgers[g.name] = g, g
}

// try calls a daemon after the other until one of them answers. It returns the answer's code, and how often
// it has called.
func (l *fleetLoad) try(what string, call func(context.Context, pb.AccountantServiceClient) error) (codes.Code, int) {
	for attempts, deadline := 1, time.Now().Add(5*time.Minute); ; attempts++ {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := call(ctx, l.clients[rand.IntN(len(l.clients))])
		cancel()
		code := status.Code(err)
		switch code {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled:
			if time.Now().Before(deadline) {
				time.Sleep(time.Duration(1+rand.IntN(20)) * time.Millisecond)
				continue
			}
			l.t.Errorf("%s: not decided within five minutes: %v", what, err)
			return code, attempts
		case codes.OK, codes.ResourceExhausted:
		default:
			l.t.Errorf("%s %s: %v", time.Now().Format(moment), what, err)
		}
		return code, attempts
	}
}

func (l *fleetLoad) nobodyAnswers(begins bool) {
	if !begins {
		l.alone.Store(0)
		return
	}
	l.alones++
	l.alone.Store(l.alones)
}

func (l *fleetLoad) start(writers int, seed uint64) {
	for i := range writers {
		l.writers.Go(func() {
			w := &fleetWriter{fleetLoad: l, number: i, random: rand.New(rand.NewPCG(seed, uint64(1000+i))),
				lanes: map[string]*lane{}}
			for !l.enough.Load() && !l.t.Failed() {
				w.act()
			}
		})
	}
}

func (l *fleetLoad) finish() {
	l.enough.Store(true)
	l.writers.Wait()
}

// fleetWriter is one of the writers.
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
	coins := 1 + w.random.Uint32N(3)
	switch n := w.random.IntN(20); {
	case n < 8:
		w.charge(w.pick(1)[0], newKey(), 1, coins)
	case n < 11:
		g := w.pick(1)[0]
		if w.lanes[g.name] == nil {
			w.lanes[g.name] = &lane{writer: uuid.NewString()}
		}
		if lane := w.lanes[g.name]; w.charge(g, lane.writer, lane.last+1, 1) {
			lane.last++
		}
	case n < 13:
		w.reserve(w.pick(1)[0])
	case n < 16:
		w.chargeSet(w.pick(2+w.random.IntN(2)), coins)
	case n < 17:
		w.reserveSet(w.pick(2))
	default:
		w.ask(w.pick(1)[0])
	}
}

func tenths(n uint32) []*pb.Event { return []*pb.Event{servertest.Pure(coin, n)} }

// write does one write until it is decided, and notes what was told. spends says whether its coins are spent.
func (w *fleetWriter) write(op *fleetOp, spends bool, call func(context.Context, pb.AccountantServiceClient) (
	[]*pb.SetMember, bool, error)) bool {
	if spends {
		for _, g := range op.ledgers {
			g.begun.Add(op.coins)
		}
	}
	var members []*pb.SetMember
	start := time.Now()
	what := fmt.Sprintf("%s %s of %d", op.kind, op.key, op.coins)
	code, attempts := w.try(what, func(ctx context.Context, c pb.AccountantServiceClient) (err error) {
		alone, replayed := w.alone.Load(), false
		members, replayed, err = call(ctx, c)
		if err == nil && !replayed && alone != 0 && alone == w.alone.Load() { // what was durable before may be told
			w.t.Errorf("%s %s was acknowledged without the standby", time.Now().Format(moment), what)
		}
		return err
	})
	now := time.Now()
	op.attempts, op.refused = attempts, code == codes.ResourceExhausted
	for i, m := range members {
		op.ledgers[i].show(w.t, m.GetPosition(), m.GetHeadHash(), what)
		raiseTo(&op.ledgers[i].position, m.GetPosition())
		if spends {
			op.ledgers[i].spent.Add(op.coins)
		}
	}
	w.mu.Lock()
	if code == codes.OK || op.refused {
		w.told[op.key] = op
	}
	w.again += attempts - 1
	w.took = append(w.took, now.Sub(start))
	if code == codes.OK {
		w.acked = append(w.acked, now)
	}
	w.mu.Unlock()
	if op.refused && w.random.IntN(8) == 0 {
		g := op.ledgers[w.random.IntN(len(op.ledgers))]
		if g.spent.Load()+10 > g.budget*9/10 {
			w.next(g.number, g)
		}
	}
	return code == codes.OK
}

func raiseTo(n *atomic.Uint64, to uint64) {
	for {
		if old := n.Load(); old >= to || n.CompareAndSwap(old, to) {
			return
		}
	}
}

// head is what somebody was told first about a position.
type head struct {
	hash string
	by   string
	at   time.Time
}

// show notes a head that somebody was told. Two heads of one position are the same.
func (g *fleetLedger) show(t *testing.T, position uint64, hash []byte, by string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := head{hex.EncodeToString(hash), by, time.Now()}
	before, ok := g.shown[position]
	if !ok {
		g.shown[position] = now
	} else if before.hash != now.hash {
		t.Errorf("%s %s at %d: hash %s was told by %s, and at %s %s by %s", now.at.Format(moment), g.name, position,
			now.hash, now.by, before.at.Format(moment), before.hash, before.by)
	}
}

func member(r *pb.Receipt) []*pb.SetMember {
	if r == nil {
		return nil
	}
	return []*pb.SetMember{{Ledger: r.GetLedger(), Position: r.GetPosition(), HeadHash: r.GetHeadHash()}}
}

// inOrder returns a receipt's members in the order of ledgers.
func inOrder(t *testing.T, r *pb.SetReceipt, ledgers []*fleetLedger) (members []*pb.SetMember) {
	if r == nil {
		return nil
	}
	for _, g := range ledgers {
		i := slices.IndexFunc(r.GetMembers(), func(m *pb.SetMember) bool { return m.GetLedger() == g.name })
		if i < 0 {
			t.Errorf("receipt %v lacks %s", r, g.name)
			return nil
		}
		members = append(members, r.GetMembers()[i])
	}
	return members
}

func (w *fleetWriter) charge(g *fleetLedger, writer string, sequence uint64, coins uint32) bool {
	op := &fleetOp{kind: "charge", ledgers: []*fleetLedger{g}, coins: uint64(coins), key: key(writer, sequence)}
	return w.write(op, true, func(ctx context.Context, c pb.AccountantServiceClient) ([]*pb.SetMember, bool, error) {
		a, err := c.Report(ctx, &pb.ReportRequest{Ledger: g.name, Writer: writer, Sequence: sequence,
			Charge: &pb.Charge{Events: tenths(coins)}})
		return member(a.GetReceipt()), a.GetReplayed(), err
	})
}

// reserve reserves three coins, spends one or two of them, and gives the rest back.
func (w *fleetWriter) reserve(g *fleetLedger) {
	op := func(kind string, coins uint64) (*fleetOp, string) {
		writer := newKey()
		return &fleetOp{kind: kind, ledgers: []*fleetLedger{g}, coins: coins, key: key(writer, 1)}, writer
	}
	var held uint64
	o, writer := op("reserve", 3)
	if !w.write(o, false, func(ctx context.Context, c pb.AccountantServiceClient) ([]*pb.SetMember, bool, error) {
		a, err := c.Reserve(ctx, &pb.ReserveRequest{Ledger: g.name, Writer: writer, Sequence: 1,
			Reserve: &pb.Reserve{Events: tenths(3), LifetimeSeconds: 86400}})
		held = a.GetReceipt().GetPosition()
		return member(a.GetReceipt()), a.GetReplayed(), err
	}) {
		return
	}
	part := 1 + w.random.Uint32N(2)
	o, writer = op("commit", uint64(part))
	w.write(o, true, func(ctx context.Context, c pb.AccountantServiceClient) ([]*pb.SetMember, bool, error) {
		a, err := c.Commit(ctx, &pb.CommitRequest{Ledger: g.name, Writer: writer, Sequence: 1,
			Commit: &pb.Commit{Reservation: held, Events: tenths(part)}})
		return member(a.GetReceipt()), a.GetReplayed(), err
	})
	o, writer = op("release", 0)
	w.write(o, false, func(ctx context.Context, c pb.AccountantServiceClient) ([]*pb.SetMember, bool, error) {
		a, err := c.Release(ctx, &pb.ReleaseRequest{Ledger: g.name, Writer: writer, Sequence: 1,
			Release: &pb.Release{Reservation: held}})
		return member(a.GetReceipt()), a.GetReplayed(), err
	})
}

func setOf(ledgers []*fleetLedger) *pb.LedgerSet {
	set := &pb.LedgerSet{}
	for _, g := range ledgers {
		set.Ledgers = append(set.Ledgers, g.name)
	}
	return set
}

func (w *fleetWriter) chargeSet(ledgers []*fleetLedger, coins uint32) {
	writer := newKey()
	op := &fleetOp{kind: "charge", ledgers: ledgers, coins: uint64(coins), key: key(writer, 1)}
	w.write(op, true, func(ctx context.Context, c pb.AccountantServiceClient) ([]*pb.SetMember, bool, error) {
		a, err := c.ReportSet(ctx, &pb.ReportSetRequest{Set: setOf(ledgers), Writer: writer, Sequence: 1,
			Charge: &pb.Charge{Events: tenths(coins)}})
		return inOrder(w.t, a.GetReceipt(), ledgers), a.GetReplayed(), err
	})
}

func (w *fleetWriter) reserveSet(ledgers []*fleetLedger) {
	op := func(kind string, coins uint64) (*fleetOp, string) {
		writer := newKey()
		return &fleetOp{kind: kind, ledgers: ledgers, coins: coins, key: key(writer, 1)}, writer
	}
	var held *pb.SetReservation
	o, writer := op("reserve", 2)
	if !w.write(o, false, func(ctx context.Context, c pb.AccountantServiceClient) ([]*pb.SetMember, bool, error) {
		a, err := c.ReserveSet(ctx, &pb.ReserveSetRequest{Set: setOf(ledgers), Writer: writer, Sequence: 1,
			Reserve: &pb.Reserve{Events: tenths(2), LifetimeSeconds: 86400}})
		held = &pb.SetReservation{Journal: a.GetReceipt().GetJournal(), Position: a.GetReceipt().GetPosition()}
		return inOrder(w.t, a.GetReceipt(), ledgers), a.GetReplayed(), err
	}) {
		return
	}
	o, writer = op("commit", 1)
	w.write(o, true, func(ctx context.Context, c pb.AccountantServiceClient) ([]*pb.SetMember, bool, error) {
		a, err := c.CommitSet(ctx, &pb.CommitSetRequest{Writer: writer, Sequence: 1,
			Commit: &pb.SetCommit{Reservation: held, Events: tenths(1)}})
		return inOrder(w.t, a.GetReceipt(), ledgers), a.GetReplayed(), err
	})
	o, writer = op("release", 0)
	w.write(o, false, func(ctx context.Context, c pb.AccountantServiceClient) ([]*pb.SetMember, bool, error) {
		a, err := c.ReleaseSet(ctx, &pb.ReleaseSetRequest{Writer: writer, Sequence: 1,
			Release: &pb.SetRelease{Reservation: held}})
		return inOrder(w.t, a.GetReceipt(), ledgers), a.GetReplayed(), err
	})
}

// ask asks one daemon once. Its answer, if there is one, has everything that was acknowledged before, and
// nothing that was not begun.
func (w *fleetWriter) ask(g *fleetLedger) {
	least, position := g.spent.Load(), g.position.Load()
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
			at, spent = a.GetPosition(), uint64(a.GetRunning()/coin+0.01) // it is rounded by much less
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
		w.t.Errorf("%s: an answer has %d coins at %d; acknowledged before it %d coins, position %d; begun %d", g.name,
			spent, at, least, position, most)
	}
}
