// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func watch(t *testing.T, c api.Client, name string) pb.Ledgers_WatchLedgerClient {
	t.Helper()
	stream, err := c.WatchLedger(servertest.Context(t), &pb.WatchLedgerRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// until receives until the position is shown.
func until(t *testing.T, stream pb.Ledgers_WatchLedgerClient, position uint64) *pb.Ledger {
	t.Helper()
	for last := int64(-1); ; {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		l := m.GetLedger()
		if int64(l.GetPosition()) <= last {
			t.Fatalf("position %d after %d", l.GetPosition(), last)
		}
		if last = int64(l.GetPosition()); l.GetPosition() >= position {
			return l
		}
	}
}

func TestWatchLedger(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.Create(servertest.Filter("w", servertest.Basic(10)))
	stream := watch(t, s.Client, "w")
	wantAmount(t, until(t, stream, 0), 0, 0, 10)
	w := servertest.Writer()
	for n := uint64(1); n <= 50; n++ {
		s.Report("w", w, n, charged(1))
	}
	wantAmount(t, until(t, stream, 50), 5, 0, 5)
	if _, err := reserve(t, s.Client, "w", 10, 60); err != nil {
		t.Fatal(err)
	}
	wantAmount(t, until(t, stream, 51), 5, 1, 4)
	if _, err := s.Client.CloseLedger(servertest.Context(t),
		&pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: "w", Writer: w, Sequence: 51}, Close: &pb.Close{}}); err != nil {
		t.Fatal(err)
	}
	if l := until(t, stream, 52); !l.GetClosed() {
		t.Errorf("%v; want it closed", l)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the close: %v", err)
	}
}

// A stopping server ends watches, so that clients look elsewhere.
func TestWatchLedgerDrains(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("w")
	stream := watch(t, s.Client, "w")
	until(t, stream, 0)
	s.Stop()
	_, err := stream.Recv()
	wantError(t, err, codes.Unavailable, "shutting down")
}

// What is left of a reservation whose time is over is charged by an entry, also when
// the daemon was down by then.
func TestReservationsExpire(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for _, name := range []string{"a", "b"} {
		s.Create(servertest.Filter(name, servertest.Basic(1)))
	}
	long, err := reserve(t, s.Client, "a", 1, 3600) // the loop waits for this one first
	if err != nil {
		t.Fatal(err)
	}
	stream := s.Stream("a", servertest.Writer())
	if err := stream.Send(message(1, &pb.Reserve{Events: tenths(3), LifetimeSeconds: 1})); err != nil {
		t.Fatal(err)
	}
	held := stream.Acknowledged(1).GetPosition()
	if err := stream.Send(message(2, &pb.Commit{Reservation: held, Events: tenths(1)})); err != nil {
		t.Fatal(err)
	}
	stream.Acknowledged(2)
	wantAmount(t, until(t, watch(t, s.Client, "a"), 4), 0.3, 0.1, 0.6)
	e := readLog(t, s.Client, "a", 100)[3]
	if e.GetExpire().GetReservation() != held || e.GetPrincipal() != ledger.Daemon {
		t.Errorf("entry %v", e)
	}
	wantError(t, commit(t, s.Client, "a", held, 1), codes.FailedPrecondition, "reservation:", "expired")
	if err := commit(t, s.Client, "a", long.GetReceipt().GetPosition(), 1); err != nil {
		t.Error(err)
	}

	if _, err := reserve(t, s.Client, "b", 2, 1); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	again := api.NewClient(s.Dial())
	if l := until(t, watch(t, again, "b"), 2); l.GetTotalCount() != 2 || len(l.GetReservations()) != 0 {
		t.Errorf("after the restart: %v", l)
	}
}

// budgetShares reads the metric of a daemon's budgets, a line each.
func budgetShares(t *testing.T, s *servertest.Server) string {
	t.Helper()
	answer, err := http.Get("http://" + s.HTTPAddr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "accountant_ledger_budget_share") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// headsAsked counts the questions for heads.
type headsAsked struct {
	memory.Shared
	n *atomic.Int64
}

func (s headsAsked) Heads(names []string) ([]ledger.Head, error) {
	s.n.Add(1)
	return s.Shared.Heads(names)
}

// The shares that a daemon shows have what another daemon of its store has written. Reading them takes one question to
// the store, however many ledgers there are.
func TestBudgetSharesOfOthers(t *testing.T) {
	t.Parallel()
	database := memory.New(memory.Config{})
	asked := new(atomic.Int64)
	start := func(store ledger.Store) *servertest.Server {
		return servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{HTTP: "127.0.0.1:0"}})
	}
	shows := start(headsAsked{database.Shared(), asked})
	writes := start(database.Beside(memory.Config{}))
	const ledgers = 20
	for i := range ledgers {
		shows.Create(servertest.Filter(fmt.Sprintf("l%d", i), servertest.Basic(1)))
	}
	budgetShares(t, shows)
	for i := range ledgers {
		writes.Report(fmt.Sprintf("l%d", i), servertest.Writer(), 1, charged(5))
		shows.Report(fmt.Sprintf("l%d", i), servertest.Writer(), 1, charged(1))
	}
	before := asked.Load()
	got := budgetShares(t, shows)
	// One for all of them; the daemon may look for others' ledgers at the same time.
	if n := asked.Load() - before; n < 1 || n > 2 {
		t.Errorf("%d questions for the heads of %d ledgers; want 1, and at most one beside it", n, ledgers)
	}
	if n := strings.Count(got, `state="spent"} 0.6`); n != ledgers {
		t.Errorf("%d of %d ledgers with 6/10 spent:\n%s", n, ledgers, got)
	}
	writes.Report("l7", servertest.Writer(), 1, charged(2))
	if got := budgetShares(t, shows); !strings.Contains(got, `{budget="0",ledger="l7",state="spent"} 0.8`) {
		t.Errorf("what another daemon has written is not shown:\n%s", got)
	}
}

// The shares of budgets are on /metrics, of open ledgers with budgets only, and of no
// more of them than configured.
func TestBudgetShares(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0", BudgetLedgers: 2}})
	has := func(want ...string) {
		t.Helper()
		got := budgetShares(t, s)
		for _, w := range want {
			if !strings.Contains(got, "accountant_ledger_budget_share{"+w+"\n") {
				t.Errorf("no %s in\n%s", w, got)
			}
		}
		if n := strings.Count(got, "\n"); n != len(want) {
			t.Errorf("%d series; want %d:\n%s", n, len(want), got)
		}
	}
	s.NewLedger("free")
	has()
	s.Create(servertest.Filter("f", servertest.Basic(1)))
	s.Create(servertest.Plan("p", servertest.Pure(0.1, 4)))
	s.Create(servertest.Plan("late", servertest.Pure(0.1, 4)))
	s.Report("f", servertest.Writer(), 1, charged(5))
	if _, err := reserve(t, s.Client, "f", 2, 60); err != nil {
		t.Fatal(err)
	}
	s.Report("p", servertest.Writer(), 1, charged(1))
	want := []string{
		`budget="0",ledger="f",state="spent"} 0.5`, `budget="0",ledger="f",state="reserved"} 0.2`,
		`budget="0",ledger="f",state="remaining"} 0.3`,
		`budget="plan",ledger="p",state="spent"} 0.25`, `budget="plan",ledger="p",state="reserved"} 0`,
		`budget="plan",ledger="p",state="remaining"} 0.75`,
	}
	has(want...)
	has(want...)
	if _, err := s.Client.CloseLedger(servertest.Context(t),
		&pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: "p", Writer: servertest.Writer(), Sequence: 1},
			Close: &pb.Close{}}); err != nil {
		t.Fatal(err)
	}
	has(want[:3]...)
	s.Restart() // read again from the store
	has(want[0], want[1], want[2], `budget="plan",ledger="late",state="spent"} 0`,
		`budget="plan",ledger="late",state="reserved"} 0`, `budget="plan",ledger="late",state="remaining"} 1`)
}
