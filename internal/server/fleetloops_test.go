// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// pair starts two daemons on one store in memory.
func pair(t *testing.T) (store memory.Shared, daemons [2]*servertest.Server) {
	t.Helper()
	store = memory.New(memory.Config{}).Shared()
	for i, handle := range []ledger.Store{store, store.Beside(memory.Config{})} {
		daemons[i] = servertest.StartWith(t, servertest.Config{Store: handle})
	}
	return store, daemons
}

// The loops of both daemons find the same reservations over at the same time. Each is ended by one entry.
func TestReservationsEndOnceThroughTwoDaemons(t *testing.T) {
	t.Parallel()
	store, daemons := pair(t)
	const ledgers = 8
	for i := range ledgers {
		name := fmt.Sprintf("r%d", i)
		daemons[i%2].Create(servertest.Filter(name, servertest.Basic(1)))
		_, err := daemons[i/2%2].Client.Reserve(servertest.Context(t), &pb.ReserveRequest{
			Lane:    &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
			Reserve: &pb.Reserve{Events: tenths(4), LifetimeSeconds: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range daemons { // both know of it, so both of their loops wait for its end
			if n := len(d.Ledger(name).GetReservations()); n > 1 {
				t.Errorf("ledger %s: %d reservations", name, n)
			}
		}
	}
	for i := range ledgers {
		name := fmt.Sprintf("r%d", i)
		eventually(t, "the end of the reservation of "+name, func() bool {
			return len(daemons[0].Ledger(name).GetReservations())+len(daemons[1].Ledger(name).GetReservations()) == 0
		})
	}
	for _, d := range daemons { // whoever came second has nothing left to write
		d.Restart()
	}
	for i := range ledgers {
		name := fmt.Sprintf("r%d", i)
		if records, err := store.Records(name, 1, 10); err != nil || len(records) != 2 {
			t.Errorf("ledger %s has %d entries, %v; want the reservation and its end", name, len(records), err)
		}
	}
}

// Two streams of one lane, on two daemons, that send the same charges at the same time: each is charged once, and
// both streams get its receipt.
func TestTwoStreamsOfOneLaneOnTwoDaemons(t *testing.T) {
	t.Parallel()
	store, daemons := pair(t)
	daemons[0].NewLedger("lane")
	const charges = 60
	writer := servertest.Writer()
	var receipts [2]*pb.Receipt
	var streaming sync.WaitGroup
	for i, d := range daemons {
		stream := d.Stream("lane", writer)
		streaming.Go(func() {
			for n := range uint64(charges) {
				stream.Charge(n+1, servertest.Gaussian(2, 1))
			}
			receipts[i] = stream.Acknowledged(charges)
		})
	}
	streaming.Wait()
	records, err := store.Records("lane", 1, 2*charges)
	if err != nil || len(records) != charges {
		t.Errorf("%d entries, %v; want %d", len(records), err, charges)
	}
	if a, b := receipts[0], receipts[1]; a.GetPosition() != charges || b.GetPosition() != charges ||
		string(a.GetHeadHash()) != string(b.GetHeadHash()) {
		t.Errorf("receipts %v and %v", a, b)
	}
}

// One person has at most 20 proposals open, also by sending them to two daemons at once.
func TestProposalsBoundedThroughTwoDaemons(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{}).Shared()
	policy := "grants:\n  - {roles: [officer, manager], to: 'uid:" + strconv.Itoa(os.Getuid()) +
		"', on: everything}\ntwo_people: {within: 72h}\n"
	first := daemonOf(t, store, policy)
	second := daemonOf(t, store.Beside(memory.Config{}), policy)
	first.create(servertest.Filter("a", servertest.Basic(1)))
	var taken, refused atomic.Int64
	var proposing sync.WaitGroup
	for i := range 30 {
		owner := []*guarded{first, second}[i%2].Owner
		proposing.Go(func() {
			_, err := owner.Propose(servertest.Context(t), &pb.ProposeRequest{
				Lane:    &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
				Propose: raiseTo(float64(i + 2)),
			})
			switch status.Code(err) {
			case codes.OK:
				taken.Add(1)
			case codes.OutOfRange:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	proposing.Wait()
	if taken.Load() != 20 || refused.Load() != 10 {
		t.Errorf("%d proposals taken and %d refused; want 20 and 10", taken.Load(), refused.Load())
	}
}

// PostgreSQL is stopped and started again. Meanwhile readiness says so, charges and questions are refused with
// UNAVAILABLE; afterwards all of them come back by themselves, on both daemons.
func TestPostgreSQLStopsAndComesBack(t *testing.T) {
	t.Parallel()
	database := pgtest.Start(t, pgtest.Config{})
	url := database.Database(t)
	var daemons []*servertest.Server
	for range 2 {
		store, err := postgres.Open(postgres.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() }) // its server may have been away a moment before
		daemons = append(daemons, servertest.StartWith(t, servertest.Config{Store: store,
			Server: server.Config{HTTP: "127.0.0.1:0"}}))
	}
	eventually(t, "a ledger", func() bool {
		_, err := daemons[0].Client.CreateLedger(servertest.Context(t),
			&pb.CreateLedgerRequest{Spec: servertest.Spec("l")})
		return err == nil
	})
	ready := func(s *servertest.Server) bool {
		answer, err := http.Get("http://" + s.HTTPAddr + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	charge := func(s *servertest.Server, writer string) codes.Code {
		_, err := s.Client.Report(servertest.Context(t), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "l", Writer: writer, Sequence: 1},
			Charge: servertest.Gaussian(2, 1),
		})
		return status.Code(err)
	}
	ask := func(s *servertest.Server) codes.Code {
		_, err := s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "l"})
		return status.Code(err)
	}
	writers := []string{servertest.Writer(), servertest.Writer()}
	for i, s := range daemons {
		eventually(t, "a daemon that serves", func() bool {
			return ready(s) && charge(s, writers[i]) == codes.OK && ask(s) == codes.OK
		})
	}
	if err := database.Stop(); err != nil {
		t.Fatal(err)
	}
	late := []string{servertest.Writer(), servertest.Writer()}
	for i, s := range daemons {
		if a, b := charge(s, late[i]), ask(s); a != codes.Unavailable || b != codes.Unavailable {
			t.Errorf("without the database: a charge %v, a question %v; want Unavailable", a, b)
		}
		eventually(t, "a daemon to be not ready", func() bool { return !ready(s) })
	}
	if err := database.Start(); err != nil {
		t.Fatal(err)
	}
	for i, s := range daemons {
		eventually(t, "charges and questions", func() bool {
			return charge(s, late[i]) == codes.OK && ask(s) == codes.OK && ready(s)
		})
	}
	for _, s := range daemons {
		if got := s.Position("l"); got != 4 {
			t.Errorf("%d entries; want each charge once: 4", got)
		}
	}
}

// hourBehind is a store whose clock is an hour behind this machine's, or a store of a daemon that is an hour fast.
type hourBehind struct{ memory.Shared }

func (hourBehind) Ahead() (time.Duration, error) { return -time.Hour, nil }

// A daemon whose clock is an hour fast goes by the store's clock. It ends no reservation of another daemon.
func TestDaemonGoesByTheClockOfTheStore(t *testing.T) {
	t.Parallel()
	d := servertest.StartWith(t, servertest.Config{Store: hourBehind{memory.New(memory.Config{}).Shared()}})
	d.Create(servertest.Spec("a"))
	eventually(t, "an entry with the store's time", func() bool {
		d.Report("a", servertest.Writer(), 1, charged(1))
		list, err := d.Client.ListEntries(servertest.Context(t), &pb.ListEntriesRequest{Ledger: "a"})
		if err != nil {
			t.Fatal(err)
		}
		newest := list.GetEntries()[len(list.GetEntries())-1].GetTime().AsTime()
		return time.Until(newest.Add(time.Hour)).Abs() < time.Minute
	})
}
