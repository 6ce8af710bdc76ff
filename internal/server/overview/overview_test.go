// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// rows goes through all pages.
func rows(t *testing.T, c api.Client, r *pb.QueryOverviewRequest) (list []*pb.OverviewRow) {
	t.Helper()
	for range 1000 {
		page, err := c.QueryOverview(servertest.Context(t), r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, page.GetRows()...)
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			return list
		}
	}
	t.Fatal("the list does not end")
	return nil
}

// A row says what queries say of the ledger, again after each change, and filters select by what rows say.
func TestOverviewSaysWhatQueriesSay(t *testing.T) {
	t.Parallel()
	s := startStories(t)
	var stories []*story
	for policy := range policies {
		stories = append(stories, newStory(t, s, 7, policy))
	}
	for range 8 {
		for _, x := range stories {
			for range 4 {
				x.step()
			}
			x.seen = nil
			x.ask()
		}
		all := rows(t, s.Client, &pb.QueryOverviewRequest{PageSize: 3, Delta: proto.Float64(delta)})
		byName := func(a, b *pb.OverviewRow) int { return strings.Compare(a.GetName(), b.GetName()) }
		if !slices.IsSortedFunc(all, byName) {
			t.Fatalf("not by name: %v", all)
		}
		flags := map[string]int{}
		for _, r := range all {
			for _, f := range r.GetFlags() {
				flags[f]++
			}
			if r.GetProblem() != "" || r.GetGuaranteeText() == "" {
				t.Errorf("%v", r)
			}
		}
		for _, x := range stories {
			i := slices.IndexFunc(all, func(r *pb.OverviewRow) bool { return r.GetName() == x.name })
			r, want := all[i], x.seen[0]
			most := 0.0
			for _, share := range want.GetShares() {
				most = max(most, share)
			}
			if !sameNumber(r.GetEpsilon(), want.GetEpsilon()) || r.GetPosition() != want.GetPosition() ||
				!sameNumber(r.GetEpsilonSpent(), want.GetEpsilonSpent()) || r.GetGuarantee() != want.GetGuarantee() ||
				!sameNumber(r.GetShare(), most) || (r.Share == nil) != (want.GetShares() == nil) {
				t.Fatalf("%v; queries say %v", r, want)
			}
		}
		for f, n := range flags {
			if got := rows(t, s.Client, &pb.QueryOverviewRequest{Flags: []string{f}, PageSize: 1}); len(got) != n {
				t.Errorf("flag %s: %d rows; want %d", f, len(got), n)
			}
		}
	}
	all := rows(t, s.Client, &pb.QueryOverviewRequest{})
	for _, share := range []float64{0.001, 0.01, 0.1, 1} {
		n := 0
		for _, r := range all {
			if r.Share != nil && r.GetShare() >= share {
				n++
			}
		}
		if got := rows(t, s.Client, &pb.QueryOverviewRequest{MinShare: share}); len(got) != n {
			t.Errorf("share ≥ %g: %d rows; want %d", share, len(got), n)
		}
	}
	if got := rows(t, s.Client, &pb.QueryOverviewRequest{Contains: "PLAN-7"}); len(got) == 0 || len(got) == len(all) {
		t.Errorf("that contain PLAN-7: %d of %d", len(got), len(all))
	}
}

// A dataset's row says what its statement says, also after its ledgers were charged, which leaves its own record as
// it is.
func TestOverviewOfDatasets(t *testing.T) {
	t.Parallel()
	s := startStories(t)
	ctx, owner := servertest.Context(t), s.Owner(t)
	spec := &pb.DatasetSpec{Id: "survey", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, MaxRecordsPerUnit: 1,
		BoundEnforcedBy: "the form", Budgets: []*pb.Budget{servertest.Basic(10)}, Owners: []string{"Ann"}}
	if _, err := owner.CreateDataset(ctx, &pb.CreateDatasetRequest{Spec: spec}); err != nil {
		t.Fatal(err)
	}
	one := servertest.Filter("survey/one", servertest.Basic(4))
	one.DatasetId = "survey"
	if _, err := owner.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: one}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		list := rows(t, s.Client, &pb.QueryOverviewRequest{Prefix: "dataset:", Contains: "ANN"})
		statement, err := s.Client.GetStatement(ctx, &pb.GetStatementRequest{Name: "dataset:survey",
			Deltas: []float64{1e-6}})
		if err != nil {
			t.Fatal(err)
		}
		p := statement.GetStatement().GetPrivacy()[0]
		if len(list) != 1 || list[0].GetDatasetId() != "survey" || list[0].GetShare() != 0.4 ||
			!sameNumber(list[0].GetEpsilon(), p.GetEpsilon()) ||
			!sameNumber(list[0].GetEpsilonSpent(), p.GetRunning()) ||
			math.Abs(list[0].GetEpsilonSpent()-0.5*float64(i)) > 1e-4 { // at δ = 1e-6 it is a little less
			t.Errorf("%v; the statement says %v", list, p)
		}
		s.Report("survey/one", servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.5, 1)}})
	}
}

// broken is a store of which some things cannot be read.
type broken struct {
	ledger.Store
	load   atomic.Pointer[string] // a ledger
	record atomic.Pointer[string] // of a ledger
}

func is(p *atomic.Pointer[string], name string) bool { of := p.Load(); return of != nil && *of == name }

func (b *broken) Load(name string) (ledger.Snapshot, error) {
	if is(&b.load, name) {
		return ledger.Snapshot{}, fmt.Errorf("%w: ledger %s: row 7", ledger.ErrDamaged, name)
	}
	return b.Store.Load(name)
}

func (b *broken) Records(name string, from uint64, limit int) ([]ledger.Record, error) {
	found, err := b.Store.Records(name, from, limit)
	if is(&b.record, name) && from <= 3 && from+uint64(limit) > 3 {
		return nil, fmt.Errorf("%w: ledger %s: entry 3", ledger.ErrDamaged, name)
	}
	return found, err
}

// A damaged ledger has a row that says so, and the others have theirs. A history beyond damage is refused, and
// answered once the entry can be read; nothing that was kept is wrong then.
func TestDamageIsSaid(t *testing.T) {
	t.Parallel()
	store := &broken{Store: memory.New(memory.Config{})}
	s := servertest.StartWith(t, servertest.Config{Store: store})
	for _, name := range []string{"a", "b", "c"} {
		s.NewLedger(name)
		for range 6 {
			s.Report(name, servertest.Writer(), 1, servertest.Gaussian(5, 1))
		}
	}
	s.Restart() // the keeper forgets what it has read
	name := "b"
	store.load.Store(&name)
	list := rows(t, s.Client, &pb.QueryOverviewRequest{})
	if len(list) != 3 || !strings.Contains(list[1].GetProblem(), "row 7") || list[1].Epsilon != nil ||
		list[0].Epsilon == nil || list[2].Epsilon == nil {
		t.Errorf("%v", list)
	}
	store.load.Store(nil)
	if list = rows(t, s.Client, &pb.QueryOverviewRequest{}); list[1].GetProblem() != "" || list[1].Epsilon == nil {
		t.Errorf("once it can be read: %v", list[1])
	}
	store.record.Store(&name)
	ctx := servertest.Context(t)
	history := func() (*pb.QueryHistoryResponse, error) {
		return s.Client.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: "b", Points: 400})
	}
	spending := func() (*pb.QuerySpendingResponse, error) {
		return s.Client.QuerySpending(ctx, &pb.QuerySpendingRequest{Ledger: "b", By: pb.QuerySpendingRequest_MONTH})
	}
	_, err := history()
	_, err2 := spending()
	for _, err := range []error{err, err2} {
		if status.Code(err) != codes.DataLoss || !strings.Contains(err.Error(), "entry 3") {
			t.Errorf("beyond damage: %v", err)
		}
	}
	store.record.Store(nil)
	h, err := history()
	g, err2 := spending()
	if errors.Join(err, err2) != nil || len(h.GetPoints()) != 7 || g.GetTotal().GetCharged() != 6 {
		t.Errorf("once it can be read: %v, %v, %v, %v", h, err, g, err2)
	}
}

// While a ledger is charged, many ask for its history, and some of them leave. No answer is wrong: ε never falls from
// one position to the next, and never from one answer to the next; and all that was kept is given back.
func TestHistoryOfALedgerThatMoves(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: filepath.Join(t.TempDir(), "s")}})
	s.Create(servertest.Filter("a", servertest.Basic(1000)))
	var over atomic.Bool
	var working sync.WaitGroup
	working.Go(func() {
		stream := s.Stream("a", servertest.Writer())
		for i := uint64(1); i <= 1500; i++ {
			stream.Charge(i, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.1, 1)}})
		}
		stream.Acknowledged(1500)
		over.Store(true)
	})
	for asker := range 6 {
		working.Go(func() {
			known := map[uint64]float64{}
			for n := 0; !over.Load() || n == 0; n++ {
				ctx, cancel := context.WithTimeout(servertest.Context(t), 20*time.Second)
				if asker%3 == 0 { // who does not wait for the answer
					time.AfterFunc(time.Duration(1+n%20)*time.Millisecond, cancel)
				}
				a, err := s.Client.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: "a", Points: 60})
				cancel()
				if err != nil {
					// On a slow machine a question's time may end, as anybody's may who does not wait.
					if c := status.Code(err); asker%3 != 0 && c != codes.Unavailable && c != codes.DeadlineExceeded {
						t.Errorf("%v", err)
						return
					}
					continue
				}
				before := -1.0
				for _, p := range a.GetPoints() {
					if e, ok := known[p.GetPosition()]; ok && e != p.GetEpsilonSpent() || p.GetEpsilonSpent() < before {
						t.Errorf("position %d: %g after %g; before it was %g", p.GetPosition(), p.GetEpsilonSpent(),
							before, e)
						return
					}
					before = p.GetEpsilonSpent()
					known[p.GetPosition()] = before
				}
			}
		})
	}
	working.Wait()
	last := servertest.Context(t)
	a, err := s.Client.QueryHistory(last, &pb.QueryHistoryRequest{Ledger: "a", Points: 60})
	for status.Code(err) == codes.DeadlineExceeded && last.Err() == nil { // on a slow machine; it goes on from there
		a, err = s.Client.QueryHistory(last, &pb.QueryHistoryRequest{Ledger: "a", Points: 60})
	}
	if err != nil || a.GetPosition() != 1500 || a.GetPoints()[len(a.GetPoints())-1].GetPosition() != 1500 {
		t.Errorf("at the end: %v, %v", a.GetPosition(), err)
	}
}
