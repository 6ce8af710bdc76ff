// SPDX-License-Identifier: Apache-2.0

package lineartest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// Game is what is played.
type Game struct {
	Client api.Client // its connection is made again when it breaks
	Ledger string     // a new one
	Seed   uint64
	// Clients call at once, Calls times each, and up to ten times as often while
	// Disturb has not returned.
	Clients, Calls int
	// Disturb, if set, is called meanwhile.
	Disturb func(ctx context.Context) error
}

// patience bounds a game.
const patience = 3 * time.Minute

// Play plays g and fails t if what was answered is not linearizable, or if the
// budget refused nothing. It returns how many reservations expired.
func (g Game) Play(t testing.TB) (expired int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := g.create(ctx); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	players := make([]*player, g.Clients)
	for id := range players {
		players[id] = &player{game: g, id: id, start: start, rng: rand.New(rand.NewPCG(g.Seed, uint64(id))),
			writer: uuid.NewString(), sequence: 1}
	}
	if err := compete(ctx, g, players); err != nil {
		t.Fatal(err)
	}
	history, err := g.expiries(ctx, start)
	if err != nil {
		t.Fatal(err)
	}
	expired = len(history)
	refused := 0
	for _, p := range players {
		if err := p.call(ctx, call{action: "get"}); err != nil {
			t.Fatal(err)
		}
		for _, o := range p.history {
			if o.Output.(answer).code == codes.ResourceExhausted {
				refused++
			}
		}
		history = append(history, p.history...)
	}
	if refused == 0 {
		t.Errorf("%s: the budget refused nothing", g.Ledger)
	}
	check(t, g.Ledger, history)
	return expired
}

// check looks for the order; and, since a check that finds anything linearizable
// would be worth nothing, for none where one answer is wrong by a coin.
func check(t testing.TB, name string, history []porcupine.Operation) {
	t.Helper()
	if result := porcupine.CheckOperationsTimeout(model, history, patience); result != porcupine.Ok {
		for _, o := range history {
			t.Logf("%s", model.DescribeOperation(o.Input, o.Output))
		}
		t.Fatalf("%s: %s: not linearizable", name, result)
	}
	last := len(history) - 1 // a get
	wrong := history[last].Output.(answer)
	wrong.spent++
	history[last].Output = wrong
	if result := porcupine.CheckOperationsTimeout(model, history, patience); result != porcupine.Illegal {
		t.Errorf("%s: with a wrong balance the check says %s", name, result)
	}
}

// create makes the ledger: a budget that exactly capacity coins use up.
func (g Game) create(ctx context.Context) error {
	epsilon := 1.0
	_, err := g.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{
		Name: g.Ledger, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE,
		Policy: pb.LedgerSpec_FILTER, Budgets: []*pb.Budget{{Epsilon: &epsilon, Guard: pb.Budget_BASIC}},
	}}, grpc.WaitForReady(true))
	return err
}

func coins(count uint32) []*pb.Event {
	epsilon := 1. / capacity
	return []*pb.Event{{Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: &epsilon}}},
		Count: count}}
}

// expiries waits until no brief reservation is open and returns the daemon's
// entries, each as a call that may have come at any time.
func (g Game) expiries(ctx context.Context, start time.Time) (history []porcupine.Operation, err error) {
	watch, err := g.Client.WatchLedger(ctx, &pb.WatchLedgerRequest{Name: g.Ledger}, grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}
	for brief := true; brief; {
		state, err := watch.Recv()
		if err != nil {
			return nil, err
		}
		brief = false
		for _, r := range state.GetLedger().GetReservations() {
			brief = brief || time.Until(r.GetExpireTime().AsTime()) < lasting/2
		}
	}
	request := &pb.ListEntriesRequest{Ledger: g.Ledger, PageSize: 1000}
	for {
		page, err := g.Client.ListEntries(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetEntries() {
			if x := e.GetExpire(); x != nil {
				history = append(history, porcupine.Operation{ClientId: g.Clients + len(history),
					Input: call{action: "expire", reservation: x.GetReservation(), writer: e.GetWriter(),
						sequence: e.GetSequence()},
					Output: answer{position: e.GetPosition()}, Return: time.Since(start).Nanoseconds()})
			}
		}
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return history, nil
		}
	}
}

// player is one client: a writer with one call in flight.
type player struct {
	game     Game
	id       int
	start    time.Time
	rng      *rand.Rand
	writer   string
	sequence uint64   // the next one
	last     call     // the last that was accepted
	mine     []uint64 // reservations
	history  []porcupine.Operation
}

func (p *player) play(ctx context.Context, disturbed <-chan struct{}) error {
	return p.game.repeat(disturbed, func() error { return p.call(ctx, p.draw()) })
}

// compete has all players play at once, with the disturbance beside them.
func compete[P interface {
	play(ctx context.Context, disturbed <-chan struct{}) error
}](ctx context.Context, g Game, players []P) error {
	all, calls := errgroup.WithContext(ctx)
	disturbed := make(chan struct{})
	for _, p := range players {
		all.Go(func() error { return p.play(calls, disturbed) })
	}
	all.Go(func() error {
		defer close(disturbed)
		if g.Disturb == nil {
			return nil
		}
		return g.Disturb(calls)
	})
	return all.Wait()
}

// repeat makes a player's calls: g.Calls, and more until the disturbance is over.
func (g Game) repeat(disturbed <-chan struct{}, one func() error) error {
	for n := range 10 * g.Calls {
		if n >= g.Calls {
			select {
			case <-disturbed:
				return nil
			default:
			}
		}
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

// draw draws the next call.
func (p *player) draw() call {
	c := call{action: "charge", count: 1 + p.rng.Uint32N(2), writer: p.writer, sequence: p.sequence}
	switch p.rng.IntN(10) {
	case 0, 1, 2:
		c.action, c.count, c.brief = "reserve", 1+p.rng.Uint32N(5), p.rng.IntN(3) == 0
	case 3, 4:
		c.action = "commit"
	case 5, 6:
		c.action, c.count = "release", 0
	case 7:
		c.action = "check"
	case 8:
		return call{action: "get"}
	case 9:
		if p.last.sequence > 0 { // a retry, though the answer came
			return p.last
		}
	}
	if c.action == "commit" || c.action == "release" {
		c.reservation = 1
		if len(p.mine) > 0 {
			c.reservation = p.mine[p.rng.IntN(len(p.mine))]
		}
	}
	return c
}

// call calls until the answer is definite, and writes it down.
func (p *player) call(ctx context.Context, c call) error {
	begun := time.Since(p.start).Nanoseconds()
	a, err := c.send(ctx, p.game)
	tries := 1
	for ; err == nil && !definite(a.code); tries++ {
		if err = ctx.Err(); err == nil {
			a, err = c.send(ctx, p.game)
			a.retried = true
		}
	}
	if err != nil {
		return fmt.Errorf("%+v: %w; the last answer: %+v, after %d tries", c, err, a, tries)
	}
	p.history = append(p.history, porcupine.Operation{ClientId: p.id,
		Input: c, Call: begun, Output: a, Return: time.Since(p.start).Nanoseconds()})
	if a.code != codes.OK || c.action == "get" || c.action == "check" || c.sequence != p.sequence {
		return nil
	}
	if c.action == "reserve" {
		p.mine = append(p.mine, a.position)
	}
	p.last = c
	p.sequence++
	return nil
}

// definite reports whether a call with this answer needs no retry.
func definite(c codes.Code) bool {
	switch c {
	case codes.Unavailable, codes.Aborted, codes.Canceled, codes.DeadlineExceeded, codes.Unknown:
		return false
	}
	return true
}

// lasting is the lifetime of a reservation that outlives the game.
const lasting = time.Hour

// do makes the call once.
func (c call) send(ctx context.Context, g Game) (answer, error) {
	wait := grpc.WaitForReady(true)
	var r interface {
		GetReceipt() *pb.Receipt
		GetReplayed() bool
	}
	var err error
	switch c.action {
	case "get":
		got, err := g.Client.GetLedger(ctx, &pb.GetLedgerRequest{Name: g.Ledger}, wait)
		a := answer{code: status.Code(err), position: got.GetLedger().GetPosition(),
			spent: got.GetLedger().GetTotalCount()}
		for _, r := range got.GetLedger().GetReservations() {
			for _, e := range r.GetRest() {
				a.reserved += uint64(e.GetCount())
			}
		}
		return a, nil
	case "charge", "check":
		r, err = g.Client.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: g.Ledger, Writer: c.writer, Sequence: c.sequence, CheckOnly: c.action == "check"},
			Charge: &pb.Charge{Events: coins(c.count)},
		}, wait)
	case "reserve":
		lifetime := lasting
		if c.brief {
			lifetime = time.Second
		}
		r, err = g.Client.Reserve(ctx, &pb.ReserveRequest{
			Lane:    &pb.Lane{Ledger: g.Ledger, Writer: c.writer, Sequence: c.sequence},
			Reserve: &pb.Reserve{Events: coins(c.count), LifetimeSeconds: uint32(lifetime / time.Second)},
		}, wait)
	case "commit":
		r, err = g.Client.Commit(ctx, &pb.CommitRequest{
			Lane:   &pb.Lane{Ledger: g.Ledger, Writer: c.writer, Sequence: c.sequence},
			Commit: &pb.Commit{Events: coins(c.count), Reservation: c.reservation},
		}, wait)
	case "release":
		r, err = g.Client.Release(ctx, &pb.ReleaseRequest{
			Lane:    &pb.Lane{Ledger: g.Ledger, Writer: c.writer, Sequence: c.sequence},
			Release: &pb.Release{Reservation: c.reservation},
		}, wait)
	default:
		return answer{}, fmt.Errorf("no action %q", c.action)
	}
	return answer{code: status.Code(err), position: r.GetReceipt().GetPosition(), replayed: r.GetReplayed()}, nil
}
