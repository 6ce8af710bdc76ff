// SPDX-License-Identifier: Apache-2.0

package lineartest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// PlaySets plays g over several ledgers, whose names begin with g.Ledger, in a store without journals: calls
// about overlapping sets of them, and about single ones. It fails t if there is no order of all the calls in
// which dumb ledgers, each of which is changed by all calls about it, give every answer that was given. A
// query of a set is compared ledger by ledger, because it promises no more than an answer of each that is as
// new as the call.
func (g Game) PlaySets(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range blocks {
		block := g
		block.Ledger = g.block(i)
		if err := block.create(ctx); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	players := make([]*setPlayer, g.Clients)
	for id := range players {
		players[id] = &setPlayer{game: g, id: id, start: start, rng: rand.New(rand.NewPCG(g.Seed, uint64(id)))}
	}
	if err := compete(ctx, g, players); err != nil {
		t.Fatal(err)
	}
	last := players[0]
	for i := range blocks {
		if err := last.call(ctx, setCall{action: "get", of: 1 << i}); err != nil {
			t.Fatal(err)
		}
	}
	var history []porcupine.Operation
	refused, charged := 0, 0
	for i := range players { // the last operation is of the first player: a get
		for _, o := range players[len(players)-1-i].history {
			history = append(history, o)
			switch a := o.Output.(setAnswer); {
			case a.refused != 0:
				refused++
			case a.receipt.journal != "":
				charged++
			}
		}
	}
	if refused == 0 || charged == 0 {
		t.Errorf("%s: %d sets were refused and %d written; want some of both", g.Ledger, refused, charged)
	}
	checkSets(t, g.Ledger, history)
}

func checkSets(t testing.TB, name string, history []porcupine.Operation) {
	t.Helper()
	if result := porcupine.CheckOperationsTimeout(setModel, history, patience); result != porcupine.Ok {
		for _, o := range history {
			t.Logf("%d to %d, %s", o.Call, o.Return, setModel.DescribeOperation(o.Input, o.Output))
		}
		t.Fatalf("%s: %s: not linearizable", name, result)
	}
	last := len(history) - 1 // a get
	wrong := history[last].Output.(setAnswer)
	wrong.state.spent++
	history[last].Output = wrong
	if result := porcupine.CheckOperationsTimeout(setModel, history, patience); result != porcupine.Illegal {
		t.Errorf("%s: with a wrong balance the check says %s", name, result)
	}
}

func (g Game) block(i int) string { return fmt.Sprintf("%s/%d", g.Ledger, i) }

func (g Game) set(of members) *pb.LedgerSet {
	set := &pb.LedgerSet{}
	for i := range blocks {
		if of.has(i) {
			set.Ledgers = append(set.Ledgers, g.block(i))
		}
	}
	return set
}

// setPlayer is one client, with one call in flight.
type setPlayer struct {
	game    Game
	id      int
	start   time.Time
	rng     *rand.Rand
	calls   int
	last    setCall // the last that was written
	mine    []held
	history []porcupine.Operation
}

func (p *setPlayer) play(ctx context.Context, disturbed <-chan struct{}) error {
	return p.game.repeat(disturbed, func() error { return p.call(ctx, p.draw()) })
}

// draw draws the next call.
func (p *setPlayer) draw() setCall {
	p.calls++
	c := setCall{action: "charge", of: members(1 + p.rng.IntN(1<<blocks-1)), count: 1 + p.rng.Uint32N(2),
		key: fmt.Sprintf("request/%s-%d-%d", p.game.Ledger, p.id, p.calls)}
	one := members(1 << p.rng.IntN(blocks))
	switch p.rng.IntN(11) {
	case 0, 1:
		c.action, c.count = "reserve", 1+p.rng.Uint32N(5)
	case 2, 3:
		c.action = "commit"
	case 4, 5:
		c.action, c.count = "release", 0
	case 6:
		c.action = "check"
	case 7:
		return setCall{action: []string{"get", "query"}[p.rng.IntN(2)], of: one}
	case 8: // a retry, though the answer came
		if p.last.key != "" {
			return p.last
		}
	case 9, 10:
		c.of, c.alone = one, true
	}
	if c.action != "commit" && c.action != "release" {
		return c
	}
	if len(p.mine) == 0 {
		c.action, c.count = "charge", 1
		return c
	}
	c.held = p.mine[p.rng.IntN(len(p.mine))]
	c.of = c.held.of
	if p.rng.IntN(4) == 0 { // of one member's reservation alone, so that the set's is refused
		for c.alone = true; ; one = members(1 << p.rng.IntN(blocks)) {
			if c.of&one != 0 {
				c.of = one
				break
			}
		}
	}
	return c
}

// call calls until the answer is definite, and writes it down.
func (p *setPlayer) call(ctx context.Context, c setCall) error {
	begun := time.Since(p.start).Nanoseconds()
	a := p.send(ctx, c)
	for !definite(a.code) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%+v: %w; the last answer: %+v", c, err, a)
		}
		a = p.send(ctx, c)
		a.retried = true
	}
	p.history = append(p.history, porcupine.Operation{ClientId: p.id,
		Input: c, Call: begun, Output: a, Return: time.Since(p.start).Nanoseconds()})
	if a.code != codes.OK || a.receipt == (held{}) {
		return nil
	}
	if c.action == "reserve" && c.key != p.last.key {
		p.mine = append(p.mine, a.receipt)
	}
	p.last = c
	return nil
}

// send makes the call once.
func (p *setPlayer) send(ctx context.Context, c setCall) setAnswer {
	client, wait := p.game.Client, grpc.WaitForReady(true)
	var r interface {
		GetReceipt() *pb.Receipt
		GetReplayed() bool
	}
	var err error
	of := &pb.Receipt{Ledger: c.held.journal, Position: c.held.position}
	switch {
	case c.action == "get" || c.action == "query":
		return p.read(ctx, c)
	case c.alone:
		return p.alone(ctx, c)
	case c.action == "reserve":
		r, err = client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
			Ledgers: p.game.set(c.of), Writer: c.key, Sequence: 1},
			Reserve: &pb.Reserve{Events: coins(c.count), LifetimeSeconds: uint32(lasting / time.Second)}}, wait)
	case c.action == "commit":
		r, err = client.Commit(ctx, &pb.CommitRequest{Lane: &pb.Lane{Ledger: of.GetLedger(), Writer: c.key,
			Sequence: 1},
			Commit: &pb.Commit{Reservation: of.GetPosition(), Events: coins(c.count)}}, wait)
	case c.action == "release":
		r, err = client.Release(ctx, &pb.ReleaseRequest{Lane: &pb.Lane{Ledger: of.GetLedger(), Writer: c.key,
			Sequence: 1},
			Release: &pb.Release{Reservation: of.GetPosition()}}, wait)
	default:
		var done *pb.WriteResponse
		done, err = client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
			Ledgers: p.game.set(c.of), Writer: c.key, Sequence: 1, CheckOnly: c.action == "check"},
			Charge: &pb.Charge{Events: coins(c.count)}}, wait)
		if done.GetRefusal() != nil {
			return setAnswer{code: codes.ResourceExhausted, refused: p.named(done.GetRefusal())}
		}
		r = done
	}
	a := setAnswer{code: status.Code(err), replayed: r.GetReplayed()}
	if err != nil {
		for _, detail := range status.Convert(err).Details() {
			if refusal, ok := detail.(*pb.SetRefusal); ok {
				a.refused = p.named(refusal)
			}
		}
		return a
	}
	a.receipt = held{journal: r.GetReceipt().GetLedger(), position: r.GetReceipt().GetPosition()}
	for _, m := range r.GetReceipt().GetMembers() {
		i := p.index(m.GetLedger())
		a.receipt.of |= 1 << i
		a.receipt.at[i] = m.GetPosition()
	}
	return a
}

// alone makes a call about one ledger, once.
func (p *setPlayer) alone(ctx context.Context, c setCall) setAnswer {
	for i := range blocks {
		if !c.of.has(i) {
			continue
		}
		block := p.game
		block.Ledger = p.game.block(i)
		a, _ := call{action: c.action, count: c.count, reservation: c.held.at[i], writer: c.key,
			sequence: 1}.send(ctx, block)
		result := setAnswer{code: a.code, replayed: a.replayed}
		if a.position > 0 {
			result.receipt.of = c.of
			result.receipt.at[i] = a.position
		}
		return result
	}
	return setAnswer{code: codes.InvalidArgument}
}

// read reads one ledger: a query does it as a part of the question about all of them.
func (p *setPlayer) read(ctx context.Context, c setCall) setAnswer {
	if c.action == "get" {
		block := p.game
		block.Ledger = p.game.set(c.of).GetLedgers()[0]
		a, _ := call{action: "get"}.send(ctx, block)
		return setAnswer{code: a.code, state: a}
	}
	got, err := p.game.Client.QueryPrivacySet(ctx, &pb.QueryPrivacySetRequest{Set: p.game.set(1<<blocks - 1),
		Given: &pb.QueryPrivacySetRequest_Delta{Delta: 1e-9}}, grpc.WaitForReady(true))
	a := setAnswer{code: status.Code(err)}
	for _, l := range got.GetLedgers() {
		if c.of.has(p.index(l.GetLedger())) {
			a.state.position = l.GetPrivacy().GetPosition()
		}
	}
	return a
}

func (p *setPlayer) named(r *pb.SetRefusal) (of members) {
	for _, m := range r.GetMembers() {
		of |= 1 << p.index(m.GetLedger())
	}
	return of
}

func (p *setPlayer) index(name string) int { return int(name[len(name)-1] - '0') }
