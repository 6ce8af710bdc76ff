// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A range of names that has grown since the first try, also beyond what a set may have, or of which a ledger was
// closed: who asks again with the same key gets the first receipt, with the first ledgers.
func TestRangeGrewBeforeTheRetry(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 3)
	ctx := servertest.Context(t)
	dial := func() *client.Client {
		c, err := client.New(client.Config{Server: s.Addr})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	first, err := dial().Range("days/", "2026-11-01", "").ReportOnce(ctx, "table", pb.SetPart_OVER_ALL, tenths(1), nil)
	if err != nil || len(first.GetReceipt().GetMembers()) != 3 {
		t.Fatalf("%v, %v", first, err)
	}
	again := func(what string) {
		t.Helper()
		got, err := dial().Range("days/", "2026-11-01", "").ReportOnce(ctx, "table", pb.SetPart_OVER_ALL, tenths(1),
			nil)
		if err != nil || !got.GetReplayed() || !proto.Equal(got.GetReceipt(), first.GetReceipt()) {
			t.Errorf("%s: %v, %v; want %v again", what, got, err, first)
		}
		checked, err := dial().Range("days/", "2026-11-01", "").CheckOnce(ctx, "table", pb.SetPart_OVER_ALL,
			tenths(1), nil)
		if err != nil || !checked.GetReplayed() || !proto.Equal(checked.GetReceipt(), first.GetReceipt()) {
			t.Errorf("%s, only checked: %v, %v; want %v again", what, checked, err, first)
		}
	}
	days(t, s, 5)
	again("two more days")
	other := servertest.Filter("days/2026-11-02/other", servertest.Basic(1))
	other.Adjacency = pb.Workload_REPLACE_ONE
	s.Create(other)
	again("a ledger of another adjacency")
	if _, err := s.Client.CloseLedger(ctx, &pb.CloseLedgerRequest{
		Lane: &pb.Lane{Ledger: names[1], Writer: "request/close", Sequence: 1}, Close: &pb.Close{},
	}); err != nil {
		t.Fatal(err)
	}
	again("a closed day")
	for i := range 1000 {
		s.Create(servertest.Filter(fmt.Sprintf("days/2026-12-%04d", i), servertest.Basic(1)))
	}
	again("more than 1,000 days")
	s.Restart()
	again("a restart")
	if _, err := dial().Range("days/", "2026-11-01", "2026-11-03").ReportOnce(ctx, "table", pb.SetPart_OVER_ALL,
		tenths(1), nil); status.Code(err) != codes.AlreadyExists {
		t.Errorf("the same ledgers by another range: %v; want that the key is taken", err)
	}
	for i, name := range append(names, "days/2026-11-04") {
		if got := s.Ledger(name).GetTotalCount(); got != []uint64{1, 1, 1, 0}[i] {
			t.Errorf("%s: %d charges", name, got)
		}
	}
}

// Reservations of sets end in each ledger when their time is over, while their owners commit and release: each
// commit and each release is in all ledgers or in none, and what is spent in the end is what was reserved, less
// what was released.
func TestSetsExpireWhileTheyAreCommitted(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 4)
	ctx := servertest.Context(t)
	var committed, released, late atomic.Int64
	var owners sync.WaitGroup
	for i := range 5 {
		owners.Go(func() {
			held, err := s.Client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
				Ledgers: &pb.LedgerSet{Ledgers: names}, Sequence: 1, Writer: fmt.Sprintf("request/r%d", i)},
				Reserve: &pb.Reserve{LifetimeSeconds: 2, Events: []*pb.Event{
					servertest.Pure(1./1024, 200)}}})
			if err != nil {
				t.Error(err)
				return
			}
			of := held.GetReceipt()
			for j := 0; ; j++ {
				_, err := s.Client.Commit(ctx, &pb.CommitRequest{Lane: &pb.Lane{Ledger: of.GetLedger(),
					Writer: fmt.Sprintf("request/c%d-%d", i, j), Sequence: 1},
					Commit: &pb.Commit{Reservation: of.GetPosition(), Events: []*pb.Event{servertest.Pure(1./1024,
						1)}}})
				usedUp := status.Code(err) == codes.FailedPrecondition && strings.Contains(err.Error(), "only")
				if status.Code(err) == codes.FailedPrecondition && !usedUp {
					late.Add(1)
					break
				}
				if err != nil && !usedUp {
					t.Errorf("%d of %d: %v", j, i, err)
					break
				}
				if !usedUp { // it is where the daemon is slow to end it
					committed.Add(1)
				}
				time.Sleep(20 * time.Millisecond)
			}
			_, err = s.Client.Release(ctx, &pb.ReleaseRequest{Lane: &pb.Lane{Ledger: of.GetLedger(),
				Writer: fmt.Sprintf("request/l%d", i), Sequence: 1},
				Release: &pb.Release{Reservation: of.GetPosition()}})
			if err == nil {
				released.Add(1)
			}
		})
	}
	owners.Wait()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		open := 0
		for _, name := range names {
			open += len(s.Ledger(name).GetReservations())
		}
		if open == 0 || time.Now().After(deadline) {
			break
		}
	}
	for _, name := range names {
		wantAmount(t, s.Ledger(name), 1000./1024, 0, 24./1024)
		entries, err := s.Client.ListEntries(ctx, &pb.ListEntriesRequest{Ledger: name, PageSize: 1000})
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int64{}
		for _, e := range entries.GetEntries() {
			switch {
			case e.GetCommit() != nil:
				kinds["commit"]++
			case e.GetExpire() != nil:
				kinds["expire"]++
			}
		}
		if kinds["commit"] != committed.Load() || kinds["expire"] != 5 {
			t.Errorf("%s: %v; want %d commits and 5 ends", name, kinds, committed.Load())
		}
	}
	if committed.Load() == 0 || late.Load() != 5 || released.Load() != 0 {
		t.Errorf("%d commits, %d of 5 were told that they are late, %d releases; want some, 5 and none",
			committed.Load(), late.Load(), released.Load())
	}
}

// The time of a reservation is over in some of its ledgers, while in another one the entry that ends it cannot be
// written: commits and releases of the set are refused and change nothing, and name the ledgers where it has ended.
func TestSetsExpireInSomeLedgers(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	failing.Store(true)
	var stuck string
	store := memory.New(memory.Config{Plan: func(batch []ledger.Proposal) memory.Failure {
		for _, p := range batch {
			if p.Ledger == stuck && failing.Load() && len(p.Entries) > 0 && p.Entries[0].Action.Kind() == "expire" {
				return memory.Unavailable
			}
		}
		return memory.None
	}})
	stuck = "days/2026-11-02"
	s := servertest.StartWith(t, servertest.Config{Store: store})
	names := days(t, s, 3)
	ctx := servertest.Context(t)
	held, err := s.Client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
		Ledgers: &pb.LedgerSet{Ledgers: names}, Sequence: 1, Writer: "request/r"},
		Reserve: &pb.Reserve{Events: tenths(5), LifetimeSeconds: 1}})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(name string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); len(s.Ledger(name).GetReservations()) > 0; {
			if time.Now().After(deadline) {
				t.Fatalf("the reservation in %s does not end", name)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	wait(names[0])
	wait(names[2])
	of := held.GetReceipt()
	_, onCommit := s.Client.Commit(ctx, &pb.CommitRequest{Lane: &pb.Lane{Ledger: of.GetLedger(), Writer: "request/c",
		Sequence: 1},
		Commit: &pb.Commit{Reservation: of.GetPosition(), Events: tenths(2)}})
	_, onRelease := s.Client.Release(ctx, &pb.ReleaseRequest{Lane: &pb.Lane{Ledger: of.GetLedger(),
		Writer: "request/l", Sequence: 1},
		Release: &pb.Release{Reservation: of.GetPosition()}})
	for _, err := range []error{onCommit, onRelease} {
		wantError(t, err, codes.FailedPrecondition, names[0], names[2], "2 of the 3 ledgers refuse it")
		if strings.Contains(err.Error(), stuck) {
			t.Errorf("%v names %s, which has not refused it", err, stuck)
		}
	}
	wantAmount(t, s.Ledger(names[0]), 0.5, 0, 0.5)
	wantAmount(t, s.Ledger(stuck), 0, 0.5, 0.5)
	if n := s.Position(stuck); n != 1 {
		t.Errorf("%s has %d entries; want the reservation alone", stuck, n)
	}
	failing.Store(false)
	wait(stuck)
	for _, name := range names {
		wantAmount(t, s.Ledger(name), 0.5, 0, 0.5)
	}
}

// A ledger of which the stored bytes were changed has every set refused in which it is, without a trace in the
// others; sets of the others and single charges to them go on.
func TestSetWithADamagedLedger(t *testing.T) {
	t.Parallel()
	// A scrub, once it has found damage, has the store refuse everything.
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{ScrubInterval: -1}})
	s.Damages()
	const odd = 1.0009765625 + 1./(1<<40) // a budget whose bytes nothing else has
	for _, name := range []string{"d/1", "d/2", "d/3"} {
		epsilon := 1.0
		if name == "d/2" {
			epsilon = odd
		}
		s.Create(servertest.Filter(name, servertest.Basic(epsilon)))
	}
	ctx := servertest.Context(t)
	first := reportSet("first", 1, &pb.LedgerSet{Ledgers: []string{"d/1", "d/2", "d/3"}})
	if _, err := s.Client.Report(ctx, first); err != nil {
		t.Fatal(err)
	}
	for i := range 100 { // opening a store reads its newest ledgers and entries
		s.Create(servertest.Filter(fmt.Sprint("newer/", i), servertest.Basic(1)))
		s.Report("d/3", "request/more"+fmt.Sprint(i), 1, &pb.Charge{Events: []*pb.Event{servertest.Pure(1./1024, 1)}})
	}
	s.RestartAfter(func(path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		value := binary.LittleEndian.AppendUint64(nil, math.Float64bits(odd))
		changed := bytes.ReplaceAll(content, value, append([]byte{value[0] ^ 1}, value[1:]...))
		if bytes.Equal(content, changed) {
			t.Fatal("the budget is not in the file")
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	for i, set := range []*pb.LedgerSet{{Ledgers: []string{"d/1", "d/2"}}, {Ledgers: []string{"d/2", "d/3"}},
		rangeOf("d/", "", "")} {
		_, err := s.Client.Report(ctx, reportSet(fmt.Sprint("damaged", i), 1, set))
		if status.Code(err) != codes.DataLoss || set.GetRange() == nil && !strings.Contains(err.Error(), "d/2") {
			t.Errorf("%v: %v; want that d/2 is damaged", set, err)
		}
	}
	if _, err := s.Client.Report(ctx, reportSet("good", 1, &pb.LedgerSet{Ledgers: []string{"d/1",
		"d/3"}})); err != nil {
		t.Error(err)
	}
	s.Report("d/3", "request/single", 1, charged(1))
	wantAmountNear(t, s.Ledger("d/1"), 0.2)
	wantAmountNear(t, s.Ledger("d/3"), 0.3+100./1024)
}

// A set may have ledgers with budgets, with a plan and with neither, and a ledger beside the one that it is a child
// of. Each one's own rule decides, and one that refuses is named.
func TestSetOfMixedLedgers(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{Rules: access.Rules{RequireDataset: true}})
	s.mustRegister(survey(servertest.Basic(8)))
	ctx := servertest.Context(t)
	child := of("Survey", "1", servertest.Filter("parent/child", servertest.Basic(0.3)))
	child.Parent = "parent"
	for _, spec := range []*pb.LedgerSpec{of("Survey", "1", servertest.Filter("parent", servertest.Basic(1))), child,
		of("Survey", "1", servertest.Plan("plan", servertest.Pure(0.1, 4)))} {
		if err := s.create(spec); err != nil {
			t.Fatal(err)
		}
	}
	all := &pb.LedgerSet{Ledgers: []string{"plan", "parent", "parent/child"}}
	if _, err := s.Client.Report(ctx, reportSet("x", 1, all)); err != nil {
		t.Fatal(err)
	}
	for key, c := range map[string]struct {
		n     uint32
		set   *pb.LedgerSet
		names []string
	}{
		"child":  {3, all, []string{"parent/child"}}, // 0.2 is left
		"both":   {7, &pb.LedgerSet{Ledgers: []string{"parent", "parent/child"}}, []string{"parent", "parent/child"}},
		"plan":   {4, &pb.LedgerSet{Ledgers: []string{"parent", "plan"}}, []string{"plan"}},
		"parent": {7, &pb.LedgerSet{Ledgers: []string{"parent"}}, []string{"parent"}}, // 0.6 is left beside the child's
	} {
		_, err := s.Client.Report(ctx, reportSet(key, c.n, c.set))
		var named []string
		for _, d := range status.Convert(err).Details() {
			for _, m := range d.(*pb.SetRefusal).GetMembers() {
				named = append(named, m.GetLedger())
			}
		}
		if !slices.Equal(named, c.names) || status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s: %v, by %v; want a refusal by %v", key, err, named, c.names)
		}
	}
	other := proto.Clone(child).(*pb.LedgerSpec)
	other.Name = "parent/other"
	if err := s.create(other); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.Report(ctx, reportSet("siblings", 1, &pb.LedgerSet{Ledgers: []string{"parent",
		"parent/child", "parent/other"}})); err != nil {
		t.Error(err)
	}
	wantAmountNear(t, s.Ledger("parent/child"), 0.2)
	wantAmountNear(t, s.Ledger("parent/other"), 0.1)
	wantAmountNear(t, s.Ledger("parent"), 0.2)
	if got := s.Ledger("plan").GetTotalCount(); got != 1 {
		t.Errorf("plan: %d charges", got)
	}
}

// wantAmountNear compares what is spent with a sum of tenths, which binary numbers do not have exactly: it is
// rounded up.
func wantAmountNear(t *testing.T, l *pb.Ledger, spent float64) {
	t.Helper()
	if got := l.GetBudgets()[0].GetValue().GetSpent(); got < spent || got > spent+1e-12 {
		t.Errorf("%s: %v is spent; want %v", l.GetSpec().GetName(), got, spent)
	}
}

// Ledgers that count for other neighbouring datasets, or for another unit, are refused by their names, whichever
// policies they have, and nothing is charged.
func TestSetOfUnlikeLedgers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	s.Create(servertest.Filter("a", servertest.Basic(1)))
	s.Create(servertest.Spec("free"))
	replace := servertest.Plan("replace", servertest.Pure(0.1, 9))
	replace.Adjacency = pb.Workload_REPLACE_ONE
	replace.Plan.Adjacency = replace.Adjacency
	s.Create(replace)
	users := servertest.Spec("users")
	users.PrivacyUnit = "user"
	s.Create(users)
	if _, err := s.Client.Report(ctx, reportSet("like", 1, &pb.LedgerSet{Ledgers: []string{"free",
		"a"}})); err != nil {
		t.Error(err)
	}
	_, err := s.Client.Report(ctx, reportSet("unlike", 1, &pb.LedgerSet{Ledgers: []string{"a", "free", "replace",
		"users"}}))
	wantError(t, err, codes.FailedPrecondition, "replace", "users", "REPLACE_ONE", `"user"`)
	var refusal *pb.SetRefusal
	for _, d := range status.Convert(err).Details() {
		refusal, _ = d.(*pb.SetRefusal)
	}
	if len(refusal.GetMembers()) != 2 || refusal.GetMembers()[0].GetLedger() != "replace" {
		t.Errorf("%v; want that replace and users are named", refusal)
	}
	for name, want := range map[string]uint64{"a": 1, "free": 1, "replace": 0, "users": 0} {
		if got := s.Ledger(name).GetTotalCount(); got != want {
			t.Errorf("%s: %d charges; want %d", name, got, want)
		}
	}
}

// A set of one ledger was not charged together with others, and its statement does not say so, until a charge was.
func TestSetOfOneIsNotTogether(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 2)
	ctx := servertest.Context(t)
	says := func() string {
		t.Helper()
		stated, err := s.Client.GetStatement(ctx, &pb.GetStatementRequest{Name: names[0]})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range stated.GetStatement().GetAssumptions() {
			if strings.Contains(a, "several ledgers at once") {
				return a
			}
		}
		return ""
	}
	for i := range 3 {
		if _, err := s.Client.Report(ctx, reportSet(fmt.Sprint("one", i), 1,
			&pb.LedgerSet{Ledgers: names[:1]})); err != nil {
			t.Fatal(err)
		}
	}
	if text := says(); text != "" {
		t.Errorf("a ledger that was charged alone: %s", text)
	}
	if _, err := s.Client.Report(ctx, reportSet("two", 1, &pb.LedgerSet{Ledgers: names})); err != nil {
		t.Fatal(err)
	}
	if text := says(); !strings.Contains(text, "Entry 4: ") {
		t.Errorf("entry 4 was charged with another ledger: %q", text)
	}
}
