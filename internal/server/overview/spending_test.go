// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// tally is what one group has spent, by the text of a mechanism: added up from the listed entries, the slow way.
// Child ledgers' reservations are among the reserved.
type tally struct{ charged, reserved, inChild map[string]uint64 }

// dumb groups a ledger's entries by a name of each entry, which it gives up on nothing: it keeps every entry.
type dumb struct {
	entries []*pb.Entry
	name    func(e, reservation *pb.Entry) string
	groups  map[string]*tally
	open    map[uint64][]*pb.Event // what is left, by reservation
}

func (d *dumb) of(name string) *tally {
	if d.groups[name] == nil {
		d.groups[name] = &tally{map[string]uint64{}, map[string]uint64{}, map[string]uint64{}}
	}
	return d.groups[name]
}

func (d *dumb) entry(position uint64) *pb.Entry { return d.entries[position-1] }

func add(to map[string]uint64, events []*pb.Event, sign int) {
	for _, e := range events {
		to[e.GetMechanism().String()] += uint64(sign * int(int32(e.GetCount())))
	}
}

// hold counts what a reservation holds more, or less.
func (d *dumb) hold(made *pb.Entry, events []*pb.Event, sign int) {
	of := d.of(d.name(made, nil))
	add(of.reserved, events, sign)
	if made.GetReserve().GetChild() != "" {
		add(of.inChild, events, sign)
	}
}

// end charges or gives back what is left of a reservation.
func (d *dumb) end(position uint64, by *pb.Entry, charge bool) {
	rest, made := d.open[position], d.entry(position)
	delete(d.open, position)
	d.hold(made, rest, -1)
	if charge {
		add(d.of(d.name(by, made)).charged, rest, 1)
	}
}

func (d *dumb) run() {
	d.groups, d.open = map[string]*tally{}, map[uint64][]*pb.Event{}
	ended := map[uint64]string{}        // for whom an expiry charged
	expired := map[uint64][]*pb.Event{} // and what
	for _, e := range d.entries {
		switch {
		case e.GetCharge() != nil:
			add(d.of(d.name(e, nil)).charged, e.GetCharge().GetEvents(), 1)
		case e.GetReserve() != nil:
			d.hold(e, e.GetReserve().GetEvents(), 1)
			d.open[e.GetPosition()] = e.GetReserve().GetEvents()
		case e.GetCommit() != nil:
			of := e.GetCommit().GetReservation()
			made := d.entry(of)
			d.hold(made, e.GetCommit().GetEvents(), -1)
			add(d.of(d.name(e, made)).charged, e.GetCommit().GetEvents(), 1)
			d.open[of] = append(slices.Clone(d.open[of]), negative(e.GetCommit().GetEvents())...)
		case e.GetRelease() != nil:
			d.end(e.GetRelease().GetReservation(), e, false)
		case e.GetFree() != nil:
			d.end(e.GetFree().GetReservation(), e, false)
		case e.GetExpire() != nil:
			of := e.GetExpire().GetReservation()
			ended[e.GetPosition()], expired[e.GetPosition()] = d.name(e, d.entry(of)), d.open[of]
			d.end(of, e, true)
		case e.GetReconcile() != nil:
			add(d.of(d.name(e, nil)).charged, e.GetReconcile().GetEvents(), 1)
		case e.GetClose() != nil, e.GetRestored() != nil:
			for of := range d.open {
				d.end(of, e, true)
			}
		case e.GetRefund() != nil:
			of := d.entry(e.GetRefund().GetPosition())
			switch {
			case of.GetExpire() != nil:
				add(d.of(ended[of.GetPosition()]).charged, expired[of.GetPosition()], -1)
			case of.GetCommit() != nil:
				add(d.of(d.name(of, d.entry(of.GetCommit().GetReservation()))).charged, of.GetCommit().GetEvents(), -1)
			default:
				add(d.of(d.name(of, nil)).charged, of.GetCharge().GetEvents(), -1)
			}
		}
	}
}

// negative are events that take away: their counts are negative numbers modulo 2³².
func negative(events []*pb.Event) (out []*pb.Event) {
	for _, e := range events {
		out = append(out, &pb.Event{Mechanism: e.GetMechanism(), Count: -e.GetCount()})
	}
	return out
}

func labelOf(e *pb.Entry, key string) (string, bool) {
	for _, labels := range []map[string]string{e.GetCharge().GetLabels(), e.GetReserve().GetLabels(),
		e.GetCommit().GetLabels()} {
		if v, ok := labels[key]; ok {
			return v, true
		}
	}
	return "", false
}

var byName = map[pb.QuerySpendingRequest_By]func(e, reservation *pb.Entry) string{
	pb.QuerySpendingRequest_MONTH: func(e, _ *pb.Entry) string { return e.GetTime().AsTime().UTC().Format("2006-01") },
	pb.QuerySpendingRequest_LABEL: func(e, reservation *pb.Entry) string {
		if v, ok := labelOf(e, "run"); ok {
			return v
		}
		if v, ok := labelOf(reservation, "run"); ok {
			return v
		}
		return "!without label run"
	},
	pb.QuerySpendingRequest_PRINCIPAL: func(e, made *pb.Entry) string {
		for _, reserve := range []*pb.Entry{e, made} {
			if child := reserve.GetReserve().GetChild(); child != "" {
				return "!child ledger " + child
			}
		}
		if made != nil && e.GetCommit() == nil {
			return made.GetPrincipal()
		}
		return e.GetPrincipal()
	},
}

// Every group has what the entries say, added up the slow way; the total is what the ledger says; the shares of a
// budget add up to the ledger's; and each ε is that of the group's mechanisms alone.
func TestSpendingIsWhatTheEntriesSay(t *testing.T) {
	t.Parallel()
	s := startStories(t)
	for policy := range policies {
		for seed := range uint64(3) {
			x := newStory(t, s, 100+seed, policy)
			for range 2 { // the second time what is kept goes on
				for range 50 {
					x.step()
				}
				x.checkSpending()
			}
			_, _ = x.owner.CloseLedger(servertest.Context(t), &pb.CloseLedgerRequest{
				Lane: &pb.Lane{Ledger: x.name, Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
			})
			x.checkSpending()
		}
	}
}

func (x *story) checkSpending() {
	x.t.Helper()
	ctx, t := servertest.Context(x.t), x.t
	list, err := x.owner.ListEntries(ctx, &pb.ListEntriesRequest{Ledger: x.name, PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	x.seen = nil
	x.ask()
	now := x.seen[0]
	for by, name := range byName {
		d := &dumb{entries: list.GetEntries(), name: name}
		d.run()
		r := &pb.QuerySpendingRequest{Ledger: x.name, By: by, Delta: proto.Float64(delta), Limit: 500}
		if by == pb.QuerySpendingRequest_LABEL {
			r.LabelKey = "run"
		}
		a, err := x.s.Client.QuerySpending(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, g := range a.GetGroups() {
			key := g.GetName()
			if g.GetUnnamed() {
				key = "!" + key
			}
			seen[key] = true
			want := d.of(key)
			if g.GetCharged() != sum(want.charged) || g.GetReserved() != sum(want.reserved) {
				t.Fatalf("%s by %v: %v; the entries say %v", x.name, by, g, want)
			}
			x.checkAlone(g, want)
		}
		for name, want := range d.groups {
			if !seen[name] && sum(want.charged)+sum(want.reserved) > 0 {
				t.Errorf("%s by %v: no group %q", x.name, by, name)
			}
		}
		checkTotal(t, a, now)
		// A few groups, and the others together, add up to the same.
		r.Limit = 1
		few, err := x.s.Client.QuerySpending(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		checkTotal(t, few, now)
		if n := len(a.GetGroups()) - 1; int(few.GetOtherGroups()) != max(n, 0) {
			t.Errorf("%d other groups; want %d", few.GetOtherGroups(), n)
		}
	}
	a, err := x.s.Client.QuerySpending(ctx, &pb.QuerySpendingRequest{Ledger: x.name,
		By: pb.QuerySpendingRequest_MECHANISM, Delta: proto.Float64(delta)})
	if err != nil {
		t.Fatal(err)
	}
	checkTotal(t, a, now)
}

func sum(of map[string]uint64) (n uint64) {
	for _, count := range of {
		n += count
	}
	return n
}

// checkAlone asks about a workload of what the group was charged. What child ledgers hold counts, too.
func (x *story) checkAlone(g *pb.SpendingGroup, want *tally) {
	x.t.Helper()
	w := &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}
	for _, mechanisms := range []*pb.Event{gaussian(8, 1), gaussian(20, 1), servertest.Pure(0.1, 1)} {
		m := mechanisms.GetMechanism().String()
		n := want.charged[m] + want.inChild[m]
		if n > 0 {
			w.Events = append(w.Events, &pb.Event{Mechanism: mechanisms.GetMechanism(), Count: uint32(n)})
		}
	}
	epsilon := 0.0
	if len(w.GetEvents()) > 0 {
		a, err := x.s.Client.QueryPrivacy(servertest.Context(x.t), &pb.QueryPrivacyRequest{
			Subject: &pb.QueryPrivacyRequest_Workload{Workload: w}, Given: &pb.QueryPrivacyRequest_Delta{Delta: delta}})
		if err != nil {
			x.t.Fatal(err)
		}
		epsilon = a.GetEpsilon()
	}
	if !sameNumber(g.GetEpsilon(), epsilon) {
		x.t.Errorf("%s: %v; alone it is %g", x.name, g, epsilon)
	}
}

func checkTotal(t *testing.T, a *pb.QuerySpendingResponse, now *pb.HistoryPoint) {
	t.Helper()
	if !sameNumber(a.GetTotal().GetEpsilon(), now.GetEpsilonSpent()) || a.GetPosition() != now.GetPosition() {
		t.Errorf("total %v at %d; the query said %v", a.GetTotal(), a.GetPosition(), now)
	}
	if a.GetSharesAddUp() != (len(now.GetShares()) > 0) {
		t.Errorf("shares add up: %v, with shares %v", a.GetSharesAddUp(), now.GetShares())
	}
	groups := a.GetGroups()
	if a.GetOthers() != nil {
		groups = append(slices.Clone(groups), a.GetOthers())
	}
	var charged, reserved uint64
	shares := make([]float64, len(now.GetShares()))
	for _, g := range groups {
		charged, reserved = charged+g.GetCharged(), reserved+g.GetReserved()
		for i, s := range g.GetShares() {
			shares[i] += s
		}
	}
	if charged != a.GetTotal().GetCharged() || reserved != a.GetTotal().GetReserved() {
		t.Errorf("groups have %d and %d; in all %v", charged, reserved, a.GetTotal())
	}
	for i, want := range now.GetShares() {
		if got := a.GetTotal().GetShares()[i]; !sameNumber(got, want) || math.Abs(shares[i]-want) > 1e-12 {
			t.Errorf("budget %d: the groups' shares add up to %g, in all %g; the ledger says %g", i, shares[i], got,
				want)
		}
	}
}

// Texts that others chose come back as they were written, each once, and nobody's label is taken for our words.
func TestHostileLabels(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("a")
	values := []string{"without label run", "<script>alert(1)</script>", "</title>", "\u202eevil", "=cmd|' /C calc'!A0",
		"\x1b[31mred", "", "a\x00b", "\xef\xbb\xbfbom", "total", "1 others"}
	for i, v := range values {
		charge := servertest.Gaussian(20, uint32(i+1))
		charge.Labels = map[string]string{"run": v}
		s.Report("a", servertest.Writer(), 1, charge)
	}
	s.Report("a", servertest.Writer(), 1, servertest.Gaussian(20, 100))
	a, err := s.Client.QuerySpending(servertest.Context(t), &pb.QuerySpendingRequest{Ledger: "a",
		By: pb.QuerySpendingRequest_LABEL, LabelKey: "run"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range a.GetGroups() {
		if i := slices.Index(values, g.GetName()); g.GetUnnamed() != (g.GetCharged() == 100) ||
			!g.GetUnnamed() && (i < 0 || g.GetCharged() != uint64(i+1)) {
			t.Errorf("%q: %v", g.GetName(), g)
		}
		got = append(got, fmt.Sprint(g.GetUnnamed(), g.GetName()))
	}
	slices.SortFunc(got, cmp.Compare[string])
	if len(slices.Compact(got)) != len(values)+1 {
		t.Errorf("%d groups; want %d", len(got), len(values)+1)
	}
}

// What is wrong with a question: the field, the value and what is allowed.
func TestBadQuestions(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("a")
	ctx := servertest.Context(t)
	spending := func(r *pb.QuerySpendingRequest) func() error {
		return func() error { _, err := s.Client.QuerySpending(ctx, r); return err }
	}
	history := func(r *pb.QueryHistoryRequest) func() error {
		return func() error { _, err := s.Client.QueryHistory(ctx, r); return err }
	}
	overview := func(r *pb.QueryOverviewRequest) func() error {
		return func() error { _, err := s.Client.QueryOverview(ctx, r); return err }
	}
	nan := math.NaN()
	for field, ask := range map[string]func() error{
		"by":         spending(&pb.QuerySpendingRequest{Ledger: "a"}),
		"label_key":  spending(&pb.QuerySpendingRequest{Ledger: "a", By: pb.QuerySpendingRequest_LABEL}),
		"limit":      spending(&pb.QuerySpendingRequest{Ledger: "a", By: pb.QuerySpendingRequest_MONTH, Limit: 501}),
		"delta":      spending(&pb.QuerySpendingRequest{Ledger: "a", By: pb.QuerySpendingRequest_MONTH, Delta: &nan}),
		"points":     history(&pb.QueryHistoryRequest{Ledger: "a", Points: 1}),
		"positions":  history(&pb.QueryHistoryRequest{Ledger: "a", Positions: []uint64{1}}),
		"max_gap":    history(&pb.QueryHistoryRequest{Ledger: "a", MaxGap: proto.Float64(-1)}),
		"ledger":     history(&pb.QueryHistoryRequest{Ledger: "dataset:a"}),
		"min_share":  overview(&pb.QueryOverviewRequest{MinShare: nan}),
		"state":      overview(&pb.QueryOverviewRequest{State: "opened"}),
		"flags[0]":   overview(&pb.QueryOverviewRequest{Flags: []string{"x"}}),
		"page_size":  overview(&pb.QueryOverviewRequest{PageSize: 201}),
		"page_token": overview(&pb.QueryOverviewRequest{PageToken: "AAAA"}),
		"prefix":     overview(&pb.QueryOverviewRequest{Prefix: "A"}),
	} {
		err := ask()
		if s := status.Convert(err); s.Code() != codes.InvalidArgument || len(s.Message()) < len(field) ||
			s.Message()[:len(field)] != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
