// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// days makes ledgers with a budget of ε = 1 each.
func days(t *testing.T, s *servertest.Server, n int) (names []string) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("days/2026-11-%02d", i+1)
		if _, err := s.Client.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{
			Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Policy: pb.LedgerSpec_FILTER,
			Budgets: []*pb.Budget{{Epsilon: proto.Float64(1), Guard: pb.Budget_BASIC}}}}); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func reportSet(key string, n uint32, set *pb.LedgerSet) *pb.ReportRequest {
	return &pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Ledgers: set, Writer: "request/" + key,
		Sequence: 1},
		Charge: &pb.Charge{Events: tenths(n)}}
}

func rangeOf(prefix, first, last string) *pb.LedgerSet {
	return &pb.LedgerSet{Range: &pb.LedgerRange{Prefix: prefix, First: first, Last: last}}
}

// TestSetTooLarge: what cannot be stored in so many ledgers is refused before it is decided in any of them, and so it
// is when it is only checked.
func TestSetTooLarge(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := make([]string, 300)
	for i := range names {
		names[i] = fmt.Sprintf("x/%03d", i)
		if _, err := s.Client.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{
			Name: names[i], Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}}); err != nil {
			t.Fatal(err)
		}
	}
	r := reportSet("x", 1, &pb.LedgerSet{Ledgers: names})
	for i := range 1000 {
		r.Charge.Events = append(r.Charge.Events[:i], servertest.Pure(1+float64(i)/1000, 1))
	}
	for _, check := range []bool{true, false} {
		r.Lane.CheckOnly = check
		_, err := s.Client.Report(servertest.Context(t), r)
		if text := status.Convert(err).Message(); status.Code(err) != codes.InvalidArgument ||
			!strings.Contains(text, "300 ledgers") || !strings.Contains(text, "fewer") {
			t.Errorf("check_only %v: %v; want that it is too large", check, err)
		}
	}
	r.Lane.Ledgers.Ledgers = names[:30]
	if _, err := s.Client.Report(servertest.Context(t), r); err != nil {
		t.Error(err)
	}
}

// A journal says what was charged to several ledgers. Nobody charges it, and the refusal says whose it is.
func TestJournalsAreTheDaemonsOwn(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	days(t, s, 2)
	ctx := servertest.Context(t)
	made, err := s.Client.Report(ctx, reportSet("x", 1, rangeOf("days/", "2026-11-01", "2026-11-02")))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Client.Report(ctx, &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: made.GetReceipt().GetLedger(), Writer: "request/y", Sequence: 1},
		Charge: &pb.Charge{Events: tenths(1)},
	})
	if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "one of the daemon's own ledgers") {
		t.Errorf("%v", err)
	}
}

func TestReportSet(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 5)
	ctx := servertest.Context(t)
	window := reportSet("x", 4, rangeOf("days/", "2026-11-02", "2026-11-04"))
	first, err := s.Client.Report(ctx, window)
	if err != nil {
		t.Fatal(err)
	}
	var charged []string
	for _, m := range first.GetReceipt().GetMembers() {
		charged = append(charged, m.GetLedger())
	}
	if !slices.Equal(charged, names[1:4]) || first.GetReplayed() {
		t.Errorf("%v", first)
	}
	days(t, s, 4) // the same ones
	if again, err := s.Client.Report(ctx, window); err != nil || !again.GetReplayed() ||
		!proto.Equal(again.GetReceipt(), first.GetReceipt()) {
		t.Errorf("again: %v, %v", again, err)
	}
	next := reportSet("y", 7, &pb.LedgerSet{Ledgers: []string{names[4], names[1], names[0], names[3]}})
	next.Lane.LastReceipt = first.GetReceipt()
	_, err = s.Client.Report(ctx, next)
	if status.Code(err) != codes.ResourceExhausted || len(status.Convert(err).Details()) != 1 {
		t.Fatalf("%v", err)
	}
	refusal, ok := status.Convert(err).Details()[0].(*pb.SetRefusal)
	if !ok || len(refusal.GetMembers()) != 2 || refusal.GetMembers()[0].GetLedger() != names[1] ||
		refusal.GetLedgers() != 4 || refusal.GetFits()[0].GetCount() != 6 ||
		refusal.GetMembers()[1].GetBudgetExceeded().GetShortfalls()[0].GetShort() < 0.1 {
		t.Errorf("%v", refusal)
	}
	next.Lane.CheckOnly = true
	if check, err := s.Client.Report(ctx, next); err != nil || check.GetReceipt() != nil || !check.GetCheckOnly() ||
		len(check.GetLedgers()) != 4 || len(check.GetRefusal().GetMembers()) != 2 {
		t.Errorf("check: %v, %v", check, err)
	}
	entries, err := s.Client.ListEntries(ctx, &pb.ListEntriesRequest{Ledger: names[1]})
	if err != nil || len(entries.GetEntries()) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if part := entries.GetEntries()[0].GetSet(); part.GetMembers() != 3 ||
		part.GetJournal() != first.GetReceipt().GetLedger() || part.GetPosition() != first.GetReceipt().GetPosition() {
		t.Errorf("%v", entries)
	}
	journal, err := s.Client.ListEntries(ctx, &pb.ListEntriesRequest{Ledger: first.GetReceipt().GetLedger()})
	if err != nil || len(journal.GetEntries()[0].GetTogether().GetMembers()) != 3 {
		t.Errorf("%v, %v", journal, err)
	}
	list, err := s.Client.ListLedgers(ctx, &pb.ListLedgersRequest{})
	if err != nil || len(list.GetLedgers()) != 5 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestReserveSet(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 3)
	ctx := servertest.Context(t)
	held, err := s.Client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
		Ledgers: &pb.LedgerSet{Ledgers: names}, Sequence: 1, Writer: "request/r"},
		Reserve: &pb.Reserve{Events: tenths(5), LifetimeSeconds: 600}})
	if err != nil || held.GetExpireTime() == nil {
		t.Fatal(err)
	}
	of := held.GetReceipt()
	commit := &pb.CommitRequest{Lane: &pb.Lane{Ledger: of.GetLedger(), Writer: "request/c", Sequence: 1},
		Commit: &pb.Commit{Reservation: of.GetPosition(), Events: tenths(2)}}
	for _, replayed := range []bool{false, true} {
		done, err := s.Client.Commit(ctx, commit)
		if err != nil || len(done.GetReceipt().GetMembers()) != 3 || done.GetReplayed() != replayed {
			t.Errorf("%v, %v", done, err)
		}
	}
	if done, err := s.Client.Release(ctx, &pb.ReleaseRequest{Lane: &pb.Lane{Ledger: of.GetLedger(),
		Writer: "request/l", Sequence: 1},
		Release: &pb.Release{Reservation: of.GetPosition(), Reason: "done"}}); err != nil || done.GetReplayed() {
		t.Errorf("%v, %v", done, err)
	}
	for _, name := range names {
		l, err := s.Client.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
		if v := l.GetLedger().GetBudgets()[0].GetValue(); err != nil || v.GetSpent() != 0.2 || v.GetReserved() != 0 {
			t.Errorf("%v, %v", v, err)
		}
	}
}

// What is only checked of several ledgers writes nothing: not a reservation, nor what becomes of one.
func TestCheckedReservationsOfSeveral(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 3)
	ctx := servertest.Context(t)
	stand := func() *pb.ListLedgersResponse {
		list, err := s.Client.ListLedgers(ctx, &pb.ListLedgersRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	checked := func(what string, lane *pb.Lane, call func() (*pb.WriteResponse, error)) {
		t.Helper()
		before := stand()
		lane.CheckOnly = true
		answer, err := call()
		lane.CheckOnly = false
		if err != nil || !answer.GetCheckOnly() || answer.GetReceipt() != nil || answer.GetRefusal() != nil ||
			len(answer.GetLedgers()) != len(names) {
			t.Errorf("%s: %v, %v", what, answer, err)
		}
		if after := stand(); !proto.Equal(before, after) {
			t.Errorf("%s wrote: %v, and before %v", what, after, before)
		}
	}
	reserve := &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
		Ledgers: &pb.LedgerSet{Ledgers: names}, Sequence: 1, Writer: "request/r"},
		Reserve: &pb.Reserve{Events: tenths(5), LifetimeSeconds: 600}}
	checked("reserve", reserve.Lane, func() (*pb.WriteResponse, error) { return s.Client.Reserve(ctx, reserve) })
	held, err := s.Client.Reserve(ctx, reserve)
	if err != nil {
		t.Fatal(err)
	}
	of := held.GetReceipt()
	commit := &pb.CommitRequest{Lane: &pb.Lane{Ledger: of.GetLedger(), Writer: "request/c", Sequence: 1},
		Commit: &pb.Commit{Reservation: of.GetPosition(), Events: tenths(2)}}
	checked("commit", commit.Lane, func() (*pb.WriteResponse, error) { return s.Client.Commit(ctx, commit) })
	release := &pb.ReleaseRequest{Lane: &pb.Lane{Ledger: of.GetLedger(), Writer: "request/l", Sequence: 1},
		Release: &pb.Release{Reservation: of.GetPosition(), Reason: "done"}}
	checked("release", release.Lane, func() (*pb.WriteResponse, error) { return s.Client.Release(ctx, release) })
	if _, err := s.Client.Commit(ctx, commit); err != nil { // nothing was released
		t.Error(err)
	}
}

// Bad requests name the field, and nobody writes into a journal or makes one.
func TestBadSets(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 2)
	ctx := servertest.Context(t)
	if _, err := s.Client.Report(ctx, reportSet("first", 1, &pb.LedgerSet{Ledgers: names})); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set  *pb.LedgerSet
		code codes.Code
	}{
		"none":             {nil, codes.InvalidArgument},
		"twice the same":   {&pb.LedgerSet{Ledgers: []string{names[0], names[1], names[0]}}, codes.InvalidArgument},
		"a journal":        {&pb.LedgerSet{Ledgers: []string{names[0], "system:sets/0"}}, codes.InvalidArgument},
		"the policies":     {&pb.LedgerSet{Ledgers: []string{"system:access"}}, codes.InvalidArgument},
		"a dataset":        {&pb.LedgerSet{Ledgers: []string{names[0], "dataset:a"}}, codes.InvalidArgument},
		"one is not there": {&pb.LedgerSet{Ledgers: []string{names[0], "days/none"}}, codes.NotFound},
		"too many":         {&pb.LedgerSet{Ledgers: make([]string, 1001)}, codes.InvalidArgument},
		"both": {&pb.LedgerSet{Ledgers: names, Range: &pb.LedgerRange{Prefix: "d"}},
			codes.InvalidArgument},
		"no prefix":         {rangeOf("", "", ""), codes.InvalidArgument},
		"a system's prefix": {rangeOf("system:sets/", "", ""), codes.InvalidArgument},
		"an empty range":    {rangeOf("days/", "2027", ""), codes.NotFound},
		"turned around":     {rangeOf("days/", "2027", "2026"), codes.InvalidArgument},
	} {
		if _, err := s.Client.Report(ctx, reportSet("bad", 1, c.set)); status.Code(err) != c.code {
			t.Errorf("%s: %v; want %v", name, err, c.code)
		}
	}
	_, err := s.Client.Report(ctx, reportSet("bad", 1, &pb.LedgerSet{Ledgers: []string{"a/none", names[0]}}))
	if status.Convert(err).Message() != "ledger a/none: not found" {
		t.Errorf("the first is not there: %v; want it named once", err)
	}
	for i := range 16 {
		journal := fmt.Sprintf("system:sets/%x", i)
		if _, err := s.Client.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: journal, Writer: "request/first", Sequence: 1},
			Charge: &pb.Charge{Events: tenths(1)},
		}); err == nil {
			t.Errorf("%s takes a charge", journal)
		}
		if _, err := s.Client.CloseLedger(ctx, &pb.CloseLedgerRequest{
			Lane: &pb.Lane{Ledger: journal, Writer: "request/close", Sequence: 1}, Close: &pb.Close{},
		}); err == nil {
			t.Errorf("%s is closed", journal)
		}
		if _, err := s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{Name: journal,
			Adjacency: pb.Workload_ZERO_OUT}}); err == nil {
			t.Errorf("%s is created", journal)
		}
	}
	if _, err := s.Client.Report(ctx, &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: names[0], Writer: "set", Sequence: 1},
		Charge: &pb.Charge{Events: tenths(1)},
	}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a user's lane is set: %v", err)
	}
}

// Records of datasets and the daemon's own ledgers are in no range, whatever its prefix.
func TestRangeOfUsersLedgers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 2)
	ctx := servertest.Context(t)
	if _, err := s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{Name: "survey",
		Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"x", "y"} { // the first one makes a journal
		for prefix, want := range map[string]string{"s": "survey", "d": names[0]} {
			set := rangeOf(prefix, "", "")
			got, err := s.Client.Report(ctx, reportSet(key+prefix, 1, set))
			if err != nil || got.GetReceipt().GetMembers()[0].GetLedger() != want {
				t.Errorf("%s: %v, %v; want %s", prefix, got, err, want)
			}
			query, err := s.Client.QueryPrivacySet(ctx, &pb.QueryPrivacySetRequest{Set: set,
				Given: &pb.QueryPrivacySetRequest_Delta{Delta: 1e-6}})
			if err != nil || query.GetLedgers()[0].GetLedger() != want {
				t.Errorf("%s: %v, %v; want %s", prefix, query, err, want)
			}
		}
	}
}

// The query of a set says what is left of each ledger, and a member's statement that it was charged together with
// others; that of a ledger that was charged alone does not.
func TestWhatIsLeftOfEachLedger(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 3)
	ctx := servertest.Context(t)
	s.NewLedger("free")
	plan := servertest.Plan("plan", servertest.Pure(0.1, 8))
	plan.Adjacency = pb.Workload_ADD_OR_REMOVE_ONE
	if _, err := s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: plan}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.Report(ctx, reportSet("x", 4, &pb.LedgerSet{Ledgers: names[:2]})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.Report(ctx, reportSet("y", 3, &pb.LedgerSet{Ledgers: []string{"plan"}})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.Reserve(ctx, &pb.ReserveRequest{
		Lane:    &pb.Lane{Ledger: names[1], Writer: servertest.Writer(), Sequence: 1},
		Reserve: &pb.Reserve{Events: tenths(5), LifetimeSeconds: 60},
	}); err != nil {
		t.Fatal(err)
	}
	// By hand: 6 of 10 tenths, 1 of 10, all, 5 of 8 applications, and nothing for a ledger without budgets.
	want := map[string]float64{names[0]: 0.6, names[1]: 0.1, names[2]: 1, "plan": 0.625}
	answer, err := s.Client.QueryPrivacySet(ctx, &pb.QueryPrivacySetRequest{
		Set:   &pb.LedgerSet{Ledgers: append([]string{"plan"}, names...)},
		Given: &pb.QueryPrivacySetRequest_Delta{Delta: 1e-6}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range answer.GetLedgers() {
		if got := l.GetLeft(); got > want[l.GetLedger()] || got < want[l.GetLedger()]-1e-12 {
			t.Errorf("%s: %v is left; want %v, rounded down", l.GetLedger(), got, want[l.GetLedger()])
		}
	}
	none, err := s.Client.QueryPrivacySet(ctx, &pb.QueryPrivacySetRequest{Set: &pb.LedgerSet{
		Ledgers: []string{"free"}}, Given: &pb.QueryPrivacySetRequest_Delta{Delta: 1e-6}})
	if err != nil || none.GetLedgers()[0].Left != nil {
		t.Errorf("a ledger that nothing bounds: %v, %v", none, err)
	}
	for name, together := range map[string]bool{names[0]: true, names[1]: true, names[2]: false, "free": false} {
		stated, err := s.Client.GetStatement(ctx, &pb.GetStatementRequest{Name: name})
		text := strings.Join(stated.GetStatement().GetAssumptions(), " ")
		says := strings.Contains(text,
			"Entry 1: from here on this ledger has charges that were made to several ledgers")
		if err != nil || says != together {
			t.Errorf("%s: %v, %v; charged together: %v", name, text, err, together)
		}
	}
}

// A commit of what a set has reserved is refused as a whole once it is over in one of its ledgers, which is
// named; the others keep what they hold.
func TestSetIsOverInOneLedger(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 3)
	ctx := servertest.Context(t)
	held, err := s.Client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
		Ledgers: &pb.LedgerSet{Ledgers: names}, Sequence: 1, Writer: "request/r"},
		Reserve: &pb.Reserve{Events: tenths(5), LifetimeSeconds: 600}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.Release(ctx, &pb.ReleaseRequest{
		Lane:    &pb.Lane{Ledger: names[1], Writer: "request/l", Sequence: 1},
		Release: &pb.Release{Reservation: held.GetReceipt().GetMembers()[1].GetPosition()},
	}); err != nil {
		t.Fatal(err)
	}
	of := held.GetReceipt()
	_, err = s.Client.Commit(ctx, &pb.CommitRequest{Lane: &pb.Lane{Ledger: of.GetLedger(), Writer: "request/c",
		Sequence: 1},
		Commit: &pb.Commit{Reservation: of.GetPosition(), Events: tenths(2)}})
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), names[1]) ||
		strings.Contains(err.Error(), names[0]) {
		t.Errorf("%v; want that %s is named", err, names[1])
	}
	for i, name := range names {
		l, err := s.Client.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
		v := l.GetLedger().GetBudgets()[0].GetValue()
		if want := []float64{0.5, 0, 0.5}[i]; err != nil || v.GetSpent() != 0 || v.GetReserved() != want {
			t.Errorf("%s: %v, %v; want %v reserved", name, v, err, want)
		}
	}
}
