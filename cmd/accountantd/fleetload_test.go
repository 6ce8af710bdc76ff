// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

const (
	fleetLedgers = 16
	fleetShared  = 4 // the first ones are used by all writers
)

// below reports whether the ledgers with a number take their budgets from a dataset. One of them is shared.
func below(number int) bool { return number%4 == 3 }

// fleetLoad is writers who charge ledgers through any of the daemons, and what they were told. Each charge costs
// eighths of ε. A ledger whose budget has run out is followed by another one, and so is a dataset.
type fleetLoad struct {
	t       *testing.T
	clients []api.Client
	budget  uint64 // eighths, of each ledger's own; five times as many of a shared one
	writers []*fleetWriter
	working sync.WaitGroup
	enough  atomic.Bool
	alone   atomic.Uint64 // not zero while nobody may be answered; a number of its own each time
	alones  uint64
	making  sync.Mutex // held while a ledger or a dataset is made

	mu         sync.Mutex
	current    [fleetLedgers]*fleetLedger
	ledgers    map[string]*fleetLedger
	datasets   []*fleetDataset     // the last one is used
	told       map[string]*fleetOp // by writer and sequence, from the first attempt on
	acked      []time.Time
	took       []time.Duration // operations, from their first attempt until they were decided
	made       int             // ledgers that were asked for
	again      int
	questions  int
	unanswered int
}

// fleetDataset is a dataset with a budget, from which ledgers take theirs.
type fleetDataset struct {
	id     string
	budget uint64
}

// fleetLedger is what is known of a ledger from answers.
type fleetLedger struct {
	name    string
	number  int
	dataset *fleetDataset // nil: none
	budget  uint64
	spent   atomic.Uint64 // eighths in acknowledged charges and commits
	begun   atomic.Uint64 // eighths in charges and reservations that were begun: no more can be spent

	mu       sync.Mutex
	shown    map[uint64]head // in answers and receipts, by position
	position uint64          // the highest in a receipt
	newest   *pb.Receipt     // the highest that was of one ledger, so that it can be handed in
}

// fleetOp is one write and what its caller was told.
type fleetOp struct {
	kind     string
	ledgers  []*fleetLedger
	size     uint64 // eighths
	writer   string
	sequence uint64
	brief    bool // a reservation whose time will be over, or what is done about one
	begun    time.Time
	alone    uint64 // the load's, when it was begun

	attempts int        // under the load's mu, as are the next two
	answered bool       // its caller was told:
	code     codes.Code // OK or a refusal
}

func (op *fleetOp) key() string { return key(op.writer, op.sequence) }

func newFleetLoad(t *testing.T, targets []string, size uint64) *fleetLoad {
	t.Helper()
	l := &fleetLoad{t: t, budget: 40 * size, ledgers: map[string]*fleetLedger{}, told: map[string]*fleetOp{}}
	for _, target := range targets {
		l.clients = append(l.clients, dial(t, target))
	}
	l.register()
	for i := range fleetLedgers {
		l.next(i, nil)
	}
	if t.Failed() {
		t.FailNow()
	}
	return l
}

// register registers a dataset, into whose budget some ledgers fit, but not a whole number of them.
func (l *fleetLoad) register() {
	d := &fleetDataset{id: fmt.Sprintf("people-%d", len(l.datasets)), budget: 20*l.budget + l.budget/2}
	err := l.try("register "+d.id, func(ctx context.Context, c api.Client) error {
		_, err := c.CreateDataset(ctx, &pb.CreateDatasetRequest{IndependentOfOutputs: true, Reason: "a test",
			Spec: &pb.DatasetSpec{Id: d.id, Version: "1", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, PrivacyUnit: "user",
				MaxRecordsPerUnit: 1, BoundEnforcedBy: "a key", Budgets: eighths(int(d.budget)),
				Independence: "other people"}})
		return err
	})
	if err != nil {
		l.t.Errorf("dataset %s: %v", d.id, err)
		return
	}
	l.mu.Lock()
	l.datasets = append(l.datasets, d)
	l.mu.Unlock()
}

// next makes the ledger that follows one whose budget has run out, unless another writer is about to.
func (l *fleetLoad) next(number int, after *fleetLedger) {
	if !l.making.TryLock() {
		return
	}
	defer l.making.Unlock()
	for !l.t.Failed() {
		l.mu.Lock()
		l.made++
		g := &fleetLedger{name: fmt.Sprintf("fleet/%02d/%d", number, l.made), number: number, budget: l.budget,
			shown: map[uint64]head{}}
		made := l.current[number] != after
		if below(number) {
			g.dataset = l.datasets[len(l.datasets)-1]
		}
		l.mu.Unlock()
		if made {
			return
		}
		if number < fleetShared {
			g.budget *= 5
		}
		err := l.try("create "+g.name, func(ctx context.Context, c api.Client) error {
			_, err := c.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: g.spec()})
			return err
		})
		switch status.Code(err) {
		case codes.OK:
			l.mu.Lock()
			l.current[number], l.ledgers[g.name] = g, g
			l.mu.Unlock()
			return
		case codes.ResourceExhausted:
			l.register()
		default:
			l.t.Errorf("ledger %s: %v", g.name, err)
		}
	}
}

func (g *fleetLedger) spec() *pb.LedgerSpec {
	spec := &pb.LedgerSpec{Name: g.name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Policy: pb.LedgerSpec_FILTER,
		PrivacyUnit: "user", Budgets: eighths(int(g.budget))}
	if g.dataset != nil {
		spec.DatasetId, spec.DatasetVersion = g.dataset.id, "1"
	}
	return spec
}

// try calls a daemon after the other until one of them answers, and returns the error that it answers.
func (l *fleetLoad) try(what string, call func(context.Context, api.Client) error) error {
	for deadline := time.Now().Add(5 * time.Minute); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := call(ctx, l.clients[rand.IntN(len(l.clients))])
		cancel()
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled:
			if time.Now().Before(deadline) {
				time.Sleep(time.Duration(1+rand.IntN(20)) * time.Millisecond)
				continue
			}
			l.t.Errorf("%s: not decided within five minutes: %v", what, err)
		case codes.OK, codes.ResourceExhausted, codes.FailedPrecondition:
		default:
			l.t.Errorf("%s %s: %v", time.Now().Format(moment), what, err)
		}
		return err
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
		w := &fleetWriter{fleetLoad: l, number: i, random: rand.New(rand.NewPCG(seed, uint64(1000+i))),
			lanes: map[string]*lane{}}
		l.writers = append(l.writers, w)
		l.working.Go(func() {
			for !l.enough.Load() && !l.t.Failed() {
				w.act()
			}
		})
	}
}

func (l *fleetLoad) finish() {
	l.enough.Store(true)
	l.working.Wait()
}

// begin notes a write before its first attempt.
func (l *fleetLoad) begin(op *fleetOp) *fleetOp {
	op.begun, op.alone = time.Now(), l.alone.Load()
	if op.kind == "charge" || op.kind == "reserve" {
		for _, g := range op.ledgers {
			g.begun.Add(op.size)
		}
	}
	l.mu.Lock()
	l.told[op.key()] = op
	l.mu.Unlock()
	return op
}

// attempt notes that a write is sent once more.
func (l *fleetLoad) attempt(op *fleetOp) {
	l.mu.Lock()
	op.attempts++
	l.mu.Unlock()
}

// acknowledge notes that a write was acknowledged, and what was told about each of its ledgers, if it was. alone is
// the load's from before it was written.
func (l *fleetLoad) acknowledge(op *fleetOp, a answer, alone uint64) {
	if alone != 0 && alone == l.alone.Load() {
		l.t.Errorf("%s %s %s was acknowledged without the standby", time.Now().Format(moment), op.kind, op.key())
	}
	for i, m := range a.members {
		op.ledgers[i].show(l.t, m.GetPosition(), m.GetHeadHash(), op.kind+" "+op.key())
		op.ledgers[i].raise(m.GetPosition(), a.receipt)
	}
	if op.kind == "charge" || op.kind == "commit" {
		for _, g := range op.ledgers {
			g.spent.Add(op.size)
		}
	}
	l.decide(op, codes.OK)
}

// decide notes what the caller of a write was told.
func (l *fleetLoad) decide(op *fleetOp, code codes.Code) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	op.answered, op.code = true, code
	l.again += op.attempts - 1
	l.took = append(l.took, now.Sub(op.begun))
	if code == codes.OK {
		l.acked = append(l.acked, now)
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
	t.Helper()
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

// raise notes a position that was acknowledged, and its receipt if there is one of this ledger alone.
func (g *fleetLedger) raise(position uint64, r *pb.Receipt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.position = max(g.position, position)
	if r.GetPosition() > g.newest.GetPosition() {
		g.newest = r
	}
}

// last returns the newest receipt, which the next writer hands in.
func (g *fleetLedger) last() *pb.Receipt {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.newest
}
