// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

const delta = 1e-6

// story is a ledger to which things happen, with what the daemon answered about it after each of them.
type story struct {
	t     *testing.T
	s     *servertest.Server
	owner api.Client
	rand  *rand.Rand
	name  string

	seen     []*pb.HistoryPoint // what queries said, at each position at which they were asked
	held     []uint64           // reservations that may be open
	charges  []uint64           // entries that may be refunded
	children []string
	raised   float64
}

var policies = map[string]func(name string) *pb.LedgerSpec{
	"descriptive": servertest.Spec,
	"plan": func(name string) *pb.LedgerSpec {
		return servertest.Plan(name, servertest.Pure(0.1, 300), gaussian(8, 300), gaussian(20, 300))
	},
	"filter": func(name string) *pb.LedgerSpec {
		order := 8.0
		return servertest.Filter(name, servertest.Basic(60),
			&pb.Budget{Guard: pb.Budget_BASIC, Epsilon: proto.Float64(70), Delta: proto.Float64(1e-5)},
			&pb.Budget{Guard: pb.Budget_RDP, Epsilon: proto.Float64(50), Delta: proto.Float64(1e-6), Order: &order})
	},
	"gaussian filter": func(name string) *pb.LedgerSpec {
		return servertest.Filter(name, &pb.Budget{Guard: pb.Budget_ZCDP, Rho: proto.Float64(20)},
			&pb.Budget{Guard: pb.Budget_GDP, Mu: proto.Float64(9)})
	},
}

func gaussian(sigma float64, count uint32) *pb.Event {
	return servertest.Gaussian(sigma, count).Events[0]
}

func newStory(t *testing.T, s *servertest.Server, seed uint64, policy string) *story {
	return tell(t, s, seed, policies[policy](fmt.Sprintf("story/%s-%d", policy[:4], seed)))
}

// tell begins the story of a ledger with a spec.
func tell(t *testing.T, s *servertest.Server, seed uint64, spec *pb.LedgerSpec) *story {
	t.Helper()
	x := &story{t: t, s: s, owner: s.Owner(t), rand: rand.New(rand.NewPCG(seed, 1)), raised: 60,
		name: spec.GetName()}
	if _, err := x.owner.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: spec}); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *story) event() *pb.Event {
	count := uint32(1 + x.rand.IntN(3))
	switch x.rand.IntN(3) {
	case 0:
		return gaussian(8, count)
	case 1:
		return gaussian(20, count)
	}
	return servertest.Pure(0.1, count)
}

// step makes something happen, which may be refused.
func (x *story) step() {
	ctx, w := servertest.Context(x.t), servertest.Writer()
	labels := map[string]string{}
	if x.rand.IntN(3) > 0 {
		labels["run"] = fmt.Sprint(x.rand.IntN(4))
	}
	pick := func(list []uint64) uint64 {
		if len(list) == 0 {
			return 1
		}
		return list[x.rand.IntN(len(list))]
	}
	switch x.rand.IntN(14) {
	default:
		a, err := x.s.Client.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: x.name, Writer: w, Sequence: 1},
			Charge: &pb.Charge{Events: []*pb.Event{x.event(), x.event()}, Labels: labels},
		})
		if err == nil {
			x.charges = append(x.charges, a.GetReceipt().GetPosition())
		}
	case 6, 7:
		a, err := x.owner.Reserve(ctx, &pb.ReserveRequest{
			Lane:    &pb.Lane{Ledger: x.name, Writer: w, Sequence: 1},
			Reserve: &pb.Reserve{Events: []*pb.Event{x.event(), x.event()}, LifetimeSeconds: 3600, Labels: labels},
		})
		if err == nil {
			x.held = append(x.held, a.GetReceipt().GetPosition())
		}
	case 8:
		a, err := x.owner.Commit(ctx, &pb.CommitRequest{
			Lane:   &pb.Lane{Ledger: x.name, Writer: w, Sequence: 1},
			Commit: &pb.Commit{Reservation: pick(x.held), Events: []*pb.Event{x.event()}, Labels: labels},
		})
		if err == nil {
			x.charges = append(x.charges, a.GetReceipt().GetPosition())
		}
	case 9:
		_, _ = x.owner.Release(ctx, &pb.ReleaseRequest{
			Lane:    &pb.Lane{Ledger: x.name, Writer: w, Sequence: 1},
			Release: &pb.Release{Reservation: pick(x.held)},
		})
	case 10:
		a, err := x.owner.Expire(ctx, &pb.ExpireRequest{
			Lane:   &pb.Lane{Ledger: x.name, Writer: w, Sequence: 1},
			Expire: &pb.Expire{Reservation: pick(x.held)},
		})
		if err == nil {
			x.charges = append(x.charges, a.GetReceipt().GetPosition())
		}
	case 11:
		if x.rand.IntN(3) == 0 {
			_, _ = x.owner.Refund(ctx, &pb.RefundRequest{
				Lane:   &pb.Lane{Ledger: x.name, Writer: w, Sequence: 1},
				Refund: &pb.Refund{Position: pick(x.charges), NothingReleased: true, Reason: "nothing"},
			})
		} else if x.rand.IntN(2) == 0 {
			_, _ = x.owner.Free(ctx, &pb.FreeRequest{
				Lane: &pb.Lane{Ledger: x.name, Writer: w, Sequence: 1},
				Free: &pb.Free{Reservation: pick(x.held), NothingReleased: true, Reason: "died"},
			})
		}
	case 12:
		x.raise(ctx, w)
	case 13:
		x.child(ctx)
	}
}

func (x *story) raise(ctx context.Context, w string) {
	l := x.s.Ledger(x.name)
	r := &pb.Raise{Reason: "more", IndependentOfOutputs: x.rand.IntN(2) == 0}
	for _, b := range l.GetBudgets() {
		of := proto.Clone(b.GetBudget()).(*pb.Budget)
		for _, v := range []*float64{of.Epsilon, of.Rho, of.Mu} {
			if v != nil {
				*v += 1
			}
		}
		r.Budgets = append(r.Budgets, of)
	}
	if plan := l.GetSpec().GetPlan(); plan != nil {
		r.Plan = &pb.Workload{Adjacency: plan.GetAdjacency()}
		for _, p := range l.GetPlan() {
			r.Plan.Events = append(r.Plan.Events,
				&pb.Event{Mechanism: p.GetMechanism(), Count: uint32(p.GetPlanned() + 1)})
		}
	}
	_, _ = x.owner.Raise(ctx, &pb.RaiseRequest{Lane: &pb.Lane{Ledger: x.name, Writer: w, Sequence: 1}, Raise: r})
}

// child creates a ledger for which this one sets aside, or charges one, or closes it.
func (x *story) child(ctx context.Context) {
	if n := len(x.children); n > 0 && x.rand.IntN(3) > 0 {
		child := x.children[x.rand.IntN(n)]
		if x.rand.IntN(2) == 0 {
			_, _ = x.s.Client.Report(ctx, &pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: child, Writer: servertest.Writer(), Sequence: 1},
				Charge: &pb.Charge{Events: []*pb.Event{servertest.Pure(0.1, 1)}},
			})
			return
		}
		_, _ = x.owner.CloseLedger(ctx, &pb.CloseLedgerRequest{
			Lane: &pb.Lane{Ledger: child, Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
		})
		return
	}
	name := fmt.Sprintf("%s/child-%d", x.name, len(x.children))
	spec := servertest.Plan(name, servertest.Pure(0.1, 3))
	spec.Parent = x.name
	if _, err := x.owner.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec}); err == nil {
		x.children = append(x.children, name)
	}
}

// ask keeps what the daemon answers now.
func (x *story) ask() {
	x.t.Helper()
	ctx := servertest.Context(x.t)
	a, err := x.s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: x.name}, Given: &pb.QueryPrivacyRequest_Delta{Delta: delta}})
	if err != nil {
		x.t.Fatal(err)
	}
	p := &pb.HistoryPoint{Position: a.GetPosition(), Epsilon: a.GetEpsilon(), EpsilonSpent: a.GetRunning(),
		Guarantee: a.GetGuarantee()}
	if n := len(x.seen); n > 0 && x.seen[n-1].GetPosition() == p.GetPosition() {
		return
	}
	l := x.s.Ledger(x.name)
	for _, b := range l.GetBudgets() {
		share := func(part func(*pb.Amount) float64) float64 {
			s := part(b.GetValue()) / b.GetValue().GetLimit()
			if d := b.GetDelta(); d != nil {
				s = math.Max(s, part(d)/d.GetLimit())
			}
			return s
		}
		p.Shares = append(p.Shares, share(func(a *pb.Amount) float64 { return a.GetSpent() + a.GetReserved() }))
		p.ReservedShares = append(p.ReservedShares, share((*pb.Amount).GetReserved))
	}
	var planned, used, reserved float64
	for _, line := range l.GetPlan() {
		planned += float64(line.GetPlanned())
		used += float64(line.GetSpent() + line.GetReserved())
		reserved += float64(line.GetReserved())
	}
	if planned > 0 {
		p.Shares, p.ReservedShares = []float64{used / planned}, []float64{reserved / planned}
	}
	x.seen = append(x.seen, p)
}

func startStories(t *testing.T) *servertest.Server {
	return servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: filepath.Join(t.TempDir(), "s")}})
}

// sameNumber reports whether an upper bound is that of a query. Both are proven; which order of Rényi divergence
// answers depends on what was asked before, and that moves their last digits.
func sameNumber(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 1e-7*math.Abs(want)
}

func samePoint(got, want *pb.HistoryPoint) bool {
	return got.GetPosition() == want.GetPosition() && got.GetGuarantee() == want.GetGuarantee() &&
		sameNumber(got.GetEpsilon(), want.GetEpsilon()) && sameNumber(got.GetEpsilonSpent(), want.GetEpsilonSpent()) &&
		slices.EqualFunc(got.GetShares(), want.GetShares(), sameNumber) &&
		slices.EqualFunc(got.GetReservedShares(), want.GetReservedShares(), sameNumber)
}

// The history of a ledger says of each position what the daemon answered about the ledger when that was its
// newest entry, whatever happened to it since then.
func TestHistorySaysWhatQueriesSaid(t *testing.T) {
	t.Parallel()
	s := startStories(t)
	for policy := range policies {
		for seed := range uint64(3) {
			x := newStory(t, s, seed, policy)
			x.ask()
			for range 60 {
				x.step()
				x.ask()
			}
			x.compare()
			// What is kept of the history goes on.
			for range 20 {
				x.step()
				x.ask()
			}
			_, _ = x.owner.CloseLedger(servertest.Context(t), &pb.CloseLedgerRequest{
				Lane: &pb.Lane{Ledger: x.name, Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
			})
			x.ask()
			x.compare()
		}
	}
}

func (x *story) compare() {
	x.t.Helper()
	ctx := servertest.Context(x.t)
	ask := func(r *pb.QueryHistoryRequest) *pb.QueryHistoryResponse {
		x.t.Helper()
		r.Ledger, r.Delta = x.name, proto.Float64(delta)
		a, err := x.s.Client.QueryHistory(ctx, r)
		if err != nil {
			x.t.Fatal(err)
		}
		return a
	}
	byPosition := map[uint64]*pb.HistoryPoint{}
	var positions []uint64
	for _, p := range x.seen {
		positions = append(positions, p.GetPosition())
		byPosition[p.GetPosition()] = p
	}
	slices.Reverse(positions)
	exact := ask(&pb.QueryHistoryRequest{Positions: append(positions, positions[0])})
	if len(exact.GetPoints()) != len(x.seen) {
		x.t.Fatalf("%s: %d points; want %d", x.name, len(exact.GetPoints()), len(x.seen))
	}
	var times []*timestamppb.Timestamp
	for i, p := range exact.GetPoints() {
		if !samePoint(p, x.seen[i]) {
			x.t.Fatalf("%s: %v; the query said %v", x.name, p, x.seen[i])
		}
		times = append(times, p.GetTime())
	}
	for _, points := range []uint32{0, 2, 7, 400} {
		spread := ask(&pb.QueryHistoryRequest{Points: points}).GetPoints()
		newest := x.seen[len(x.seen)-1].GetPosition()
		if spread[0].GetPosition() != 0 || spread[len(spread)-1].GetPosition() != newest {
			x.t.Errorf("%s: from %v to %v; want 0 to %d", x.name, spread[0], spread[len(spread)-1], newest)
		}
		if most := max(int(points), 2); points > 0 && len(spread) > most {
			x.t.Errorf("%s: %d points; want at most %d", x.name, len(spread), most)
		}
		for _, p := range spread {
			if want := byPosition[p.GetPosition()]; want != nil && !samePoint(p, want) {
				x.t.Fatalf("%s: %v; the query said %v", x.name, p, want)
			}
		}
	}
	// At a time it is the newest entry of then or before.
	times = append(times, timestamppb.New(time.Now().Add(time.Hour)), timestamppb.New(time.Unix(0, 0)))
	at := ask(&pb.QueryHistoryRequest{Times: times}).GetPoints()
	for i, p := range at {
		want := uint64(0)
		for _, q := range exact.GetPoints() {
			if !q.GetTime().AsTime().After(times[i].AsTime()) {
				want = q.GetPosition()
			}
		}
		if p.GetPosition() < want || !p.GetAskedTime().AsTime().Equal(times[i].AsTime()) {
			x.t.Errorf("%s: at %v: %v; want position %d or more", x.name, times[i].AsTime(), p, want)
		}
		if i < len(exact.GetPoints()) && p.GetPosition() > 0 && p.GetTime().AsTime().After(times[i].AsTime()) {
			x.t.Errorf("%s: at %v: %v", x.name, times[i].AsTime(), p)
		}
	}
}

// Where little is new the newest point is made without reading it, and says what a query says; what was passed over is
// read afterwards.
func TestNewestPointOfALongLedger(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{QuestionTime: time.Hour}})
	s.Create(servertest.Filter("a", servertest.Basic(1000)))
	stream, sent := s.Stream("a", servertest.Writer()), uint64(0)
	more := func(n int) {
		for range n {
			sent++
			stream.Charge(sent, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.1, 1+uint32(sent%2))}})
		}
		stream.Acknowledged(sent)
	}
	more(2000)
	for range 12 { // each reads the ledger anew, which is slow with the race detector
		ctx := t.Context()
		a, err := s.Client.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: "a", Points: 50,
			Delta: proto.Float64(delta)})
		if err != nil {
			t.Fatal(err)
		}
		exact, err := s.Client.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: "a", Delta: proto.Float64(delta),
			Positions: positionsOf(a)})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range a.GetPoints() {
			want := exact.GetPoints()[i]
			if !samePoint(p, want) || !p.GetTime().AsTime().Equal(want.GetTime().AsTime()) {
				t.Fatalf("%v; read anew it is %v", p, want)
			}
		}
		if newest := a.GetPoints()[len(a.GetPoints())-1].GetPosition(); newest != sent || a.GetPosition() != sent {
			t.Fatalf("the newest point is at %d; want %d", newest, sent)
		}
		more(1 + int(sent%17))
	}
}

func positionsOf(a *pb.QueryHistoryResponse) (list []uint64) {
	for _, p := range a.GetPoints() {
		list = append(list, p.GetPosition())
	}
	return list
}
