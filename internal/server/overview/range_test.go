// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A part of a history has the points of the whole that lie in it, from its first position to its last one: all of
// them where that is not more than was asked for, and otherwise about as many. The dumb version asks for every
// position, and looks through all times.
func TestRanges(t *testing.T) {
	t.Parallel()
	s := startStories(t)
	for policy := range policies {
		x := newStory(t, s, 77, policy)
		for range 60 {
			x.step()
		}
		x.checkRanges(40)
		for range 40 { // what is kept of open ranges goes on
			x.step()
		}
		x.checkRanges(40)
	}
}

func (x *story) checkRanges(n int) {
	x.t.Helper()
	ctx, head := servertest.Context(x.t), x.s.Ledger(x.name).GetPosition()
	request := &pb.QueryHistoryRequest{Ledger: x.name, Delta: proto.Float64(delta)}
	for i := range head + 1 {
		request.Positions = append(request.Positions, i)
	}
	all, err := x.s.Client.QueryHistory(ctx, request)
	if err != nil {
		x.t.Fatal(err)
	}
	dumb := func(at time.Time) (last uint64) { // as of a time
		for _, p := range all.GetPoints() {
			if p.GetPosition() > 0 && !p.GetTime().AsTime().After(at) {
				last = p.GetPosition()
			}
		}
		return last
	}
	random := rand.New(rand.NewPCG(head, 2))
	for range n {
		points := []int{2, 3, 10, 200}[random.IntN(4)]
		r := &pb.QueryHistoryRequest{Ledger: x.name, Delta: proto.Float64(delta), Points: uint32(points)}
		from, to := uint64(0), head
		if random.IntN(2) == 0 {
			from = random.Uint64N(head + 1)
			at := all.GetPoints()[from].GetTime().AsTime()
			if random.IntN(2) == 0 {
				r.StartPosition = from
			} else {
				r.StartTime, from = timestamppb.New(at), dumb(at)
			}
		}
		if random.IntN(3) > 0 {
			to = random.Uint64N(head + 1)
			at := all.GetPoints()[to].GetTime().AsTime().Add(time.Duration(random.IntN(2)) * time.Nanosecond)
			if random.IntN(2) == 0 && to > 0 {
				r.EndPosition = to
			} else {
				r.EndTime, to = timestamppb.New(at), dumb(at)
			}
		}
		got, err := x.s.Client.QueryHistory(ctx, r)
		if err != nil {
			if status.Code(err) != codes.InvalidArgument || from < to {
				x.t.Fatalf("%s: %v: %v; its positions are %d to %d", x.name, r, err, from, to)
			}
			continue
		}
		if from > to {
			x.t.Fatalf("%s: %v ends before it starts and is answered", x.name, r)
		}
		list := got.GetPoints()
		if list[0].GetPosition() != from || list[len(list)-1].GetPosition() != to || got.GetPosition() != to {
			x.t.Fatalf("%s: %v: from %d to %d; want %d to %d", x.name, r, list[0].GetPosition(),
				list[len(list)-1].GetPosition(), from, to)
		}
		if within := int(to - from + 1); within < points && len(list) != within || len(list) > points+1 ||
			len(list) < min(within, points)/2 {
			x.t.Fatalf("%s: %v: %d points, of %d positions", x.name, r, len(list), within)
		}
		if !slices.IsSortedFunc(list, func(a, b *pb.HistoryPoint) int {
			return int(a.GetPosition()) - int(b.GetPosition())
		}) {
			x.t.Fatalf("%s: %v: not in order", x.name, r)
		}
		for _, p := range list {
			if !samePoint(p, all.GetPoints()[p.GetPosition()]) {
				x.t.Fatalf("%s: %v: %v; want %v", x.name, r, p, all.GetPoints()[p.GetPosition()])
			}
		}
	}
}

// Of a long part the points lie as far from each other as they can, beginning with its first position, and say what is
// said of these positions alone.
func TestLongRanges(t *testing.T) {
	t.Parallel()
	s := startStories(t)
	s.NewLedger("long")
	stream := s.Stream("long", servertest.Writer())
	const entries = 2500
	for i := range uint64(entries) {
		stream.Charge(i+1, servertest.Gaussian(100, 1))
	}
	for through := uint64(0); through < entries; {
		through = stream.Next().GetAcknowledged().GetThrough()
	}
	ctx := servertest.Context(t)
	for _, r := range []*pb.QueryHistoryRequest{{StartPosition: 137}, {StartPosition: 137, EndPosition: 2236},
		{StartPosition: 1999, EndPosition: 2101}, {EndPosition: 1801}} {
		r.Ledger, r.Points = "long", 100
		got, err := s.Client.QueryHistory(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		end := r.GetEndPosition()
		if end == 0 {
			end = entries
		}
		list := got.GetPoints()
		apart := list[1].GetPosition() - list[0].GetPosition()
		same := &pb.QueryHistoryRequest{Ledger: "long"}
		for i, p := range list {
			want := min(r.GetStartPosition()+uint64(i)*apart, end)
			if p.GetPosition() != want {
				t.Errorf("%v: point %d is at %d; want %d", r, i, p.GetPosition(), want)
			}
			same.Positions = append(same.Positions, p.GetPosition())
		}
		if len(list) < 40 || len(list) > 101 || list[len(list)-1].GetPosition() != end {
			t.Errorf("%v: %d points up to %d", r, len(list), list[len(list)-1].GetPosition())
		}
		want, err := s.Client.QueryHistory(ctx, same)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range list {
			if !samePoint(p, want.GetPoints()[i]) {
				t.Errorf("%v: %v; want %v", r, p, want.GetPoints()[i])
			}
		}
	}
}

// A range that cannot be is refused in the words of the request.
func TestBadRanges(t *testing.T) {
	t.Parallel()
	s := startStories(t)
	s.NewLedger("a")
	s.Report("a", servertest.Writer(), 1, servertest.Gaussian(8, 1))
	now := time.Now()
	at := func(after time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(after)) }
	for _, c := range []struct {
		ask  *pb.QueryHistoryRequest
		says string
	}{
		{&pb.QueryHistoryRequest{StartPosition: 7}, "start_position: 7; allowed: at most 1, the ledger's newest entry"},
		{&pb.QueryHistoryRequest{EndPosition: 7}, "end_position: 7; allowed: at most 1, the ledger's newest entry"},
		{&pb.QueryHistoryRequest{StartPosition: 7, EndPosition: 5},
			"end_position: 5; allowed: more than start_position, 7"},
		{&pb.QueryHistoryRequest{StartTime: at(0), EndTime: at(-time.Hour)}, "end_time: "},
		{&pb.QueryHistoryRequest{StartPosition: 1, StartTime: at(0)}, "start_time: "},
		{&pb.QueryHistoryRequest{EndPosition: 1, EndTime: at(0)}, "end_time: "},
		{&pb.QueryHistoryRequest{StartPosition: 1, Positions: []uint64{1}}, "positions: 1 given"},
		{&pb.QueryHistoryRequest{EndTime: at(0), Times: []*timestamppb.Timestamp{at(0)}}, "positions: 1 given"},
		{&pb.QueryHistoryRequest{StartTime: &timestamppb.Timestamp{Nanos: -1}}, "start_time: "},
		{&pb.QueryHistoryRequest{StartPosition: 1, EndTime: at(-time.Hour)},
			"end of the range: entry 0, before its start at entry 1"},
		{&pb.QueryHistoryRequest{StartPosition: 1, EndTime: timestamppb.New(time.Time{})}, // the earliest there is
			"end of the range: entry 0, before its start at entry 1"},
	} {
		c.ask.Ledger = "a"
		_, err := s.Client.QueryHistory(servertest.Context(t), c.ask)
		if status.Code(err) != codes.InvalidArgument || len(status.Convert(err).Message()) < len(c.says) ||
			status.Convert(err).Message()[:len(c.says)] != c.says {
			t.Errorf("%v: %v; want %q", c.ask, err, c.says)
		}
	}
}
