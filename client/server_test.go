// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// fragile is a connection that breaks, in both directions at once, after so
// many bytes were written and read.
type fragile struct {
	net.Conn
	left *atomic.Int64
}

func (f fragile) count(n int, err error) (int, error) {
	if f.left.Add(-int64(n)) < 0 {
		_ = f.Conn.Close()
	}
	return n, err
}

func (f fragile) Read(b []byte) (int, error)  { return f.count(f.Conn.Read(b)) }
func (f fragile) Write(b []byte) (int, error) { return f.count(f.Conn.Write(b)) }

// connect makes a client whose connections break after lives[0], lives[1], …
// bytes; after the last one they hold.
func connect(t testing.TB, s *servertest.Server, cfg client.Config, lives ...int) *client.Client {
	t.Helper()
	cfg.Server, cfg.BackoffMin, cfg.BackoffMax = s.Addr, time.Millisecond, 20*time.Millisecond
	var mu sync.Mutex
	cfg.DialOptions = append(cfg.DialOptions,
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || len(lives) == 0 {
				return conn, err
			}
			f := fragile{conn, new(atomic.Int64)}
			f.left.Store(int64(lives[0]))
			lives = lives[1:]
			return f, nil
		}))
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

var step = []*pb.Event{client.Event(client.Gaussian(2), 1)}

// labels tell charges apart that are otherwise equal.
func labels(n int) map[string]string { return map[string]string{"n": strconv.Itoa(n)} }

// wantOnce checks that a ledger holds each of 1 … n exactly once, in order.
func wantOnce(t rapid.TB, c *client.Client, ledger string, n int) {
	t.Helper()
	next := 1
	for e, err := range c.Entries(context.Background(), ledger, client.EntriesOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := e.GetCharge().GetLabels()["n"]; got != strconv.Itoa(next) {
			t.Fatalf("entry %d is charge %s, want %d", e.GetPosition(), got, next)
		}
		next++
	}
	l, err := c.GetLedger(context.Background(), ledger)
	if err != nil {
		t.Fatal(err)
	}
	if next != n+1 || l.GetLedger().GetTotalCount() != uint64(n) {
		t.Fatalf("%d entries and a total of %d, want %d", next-1, l.GetLedger().GetTotalCount(), n)
	}
}

// TestOnceUnderDisconnections: connections break at any byte; every charge that
// was taken is in the ledger exactly once, in order.
func TestOnceUnderDisconnections(t *testing.T) {
	s := servertest.Start(t)
	ledgers := 0
	rapid.Check(t, func(r *rapid.T) {
		ledgers++
		ledger := fmt.Sprintf("run/%d", ledgers)
		s.NewLedger(ledger)
		lives := rapid.SliceOfN(rapid.IntRange(1, 10_000), 0, 8).Draw(r, "bytes")
		streams := rapid.SliceOfN(rapid.Bool(), 1, 3).Draw(r, "streams")
		each := rapid.IntRange(0, 40).Draw(r, "charges")
		c := connect(t, s, client.Config{Window: rapid.IntRange(1, 40).Draw(r, "window")}, lives...)
		defer func() { _ = c.Close() }()
		n := 0
		for _, streaming := range streams {
			if streaming {
				lane, err := c.Stream(servertest.Context(t), ledger)
				if err != nil {
					r.Fatal(err)
				}
				for range each {
					n++
					if err := lane.Report(servertest.Context(t), step, labels(n)); err != nil {
						r.Fatal(err)
					}
				}
				if err := lane.Close(servertest.Context(t)); err != nil {
					r.Fatal(err)
				}
				continue
			}
			for range each / 10 {
				n++
				answer, err := c.Report(servertest.Context(t), ledger, step, labels(n))
				if err != nil {
					r.Fatal(err)
				}
				if answer.GetReceipt().GetSequence() != uint64(n) {
					r.Fatalf("receipt %v of charge %d", answer.GetReceipt(), n)
				}
			}
		}
		wantOnce(r, c, ledger, n)
	})
}

// TestManyWritersThroughRestarts: equal charges of several clients all count,
// while the server stops and starts.
func TestManyWritersThroughRestarts(t *testing.T) {
	s := servertest.Start(t)
	s.NewLedger("a")
	const writers, each = 4, 300
	var wg sync.WaitGroup
	var half sync.WaitGroup
	half.Add(writers)
	for range writers {
		c := connect(t, s, client.Config{Window: 16})
		wg.Go(func() {
			lane, err := c.Stream(servertest.Context(t), "a")
			if err != nil {
				t.Error(err)
				half.Done()
				return
			}
			for n := range each {
				if n == each/2 {
					half.Done()
				}
				if err := lane.Report(servertest.Context(t), step, nil); err != nil {
					t.Error(err)
				}
			}
			if err := lane.Close(servertest.Context(t)); err != nil {
				t.Error(err)
			}
		})
	}
	half.Wait()
	s.Restart()
	wg.Wait()
	if got := s.Position("a"); got != writers*each {
		t.Errorf("%d entries, want %d", got, writers*each)
	}
}

func TestRefusalsOfTheRealServer(t *testing.T) {
	s := servertest.Start(t)
	s.NewLedger("a")
	c := connect(t, s, client.Config{Principal: "ann"})
	ctx := servertest.Context(t)
	bad := []*pb.Event{client.Event(client.Gaussian(-1), 1)}
	var e *client.Error
	if _, err := c.Report(ctx, "a", bad, nil); !errors.As(err, &e) || e.Code != codes.InvalidArgument || e.Unknown {
		t.Errorf("%v", err)
	}
	if _, err := c.Check(ctx, "a", bad, nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("%v", err)
	}
	if _, err := c.Stream(ctx, "nowhere"); status.Code(err) != codes.NotFound {
		t.Errorf("%v", err)
	}
	lane, err := c.Stream(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	for n, events := range [][]*pb.Event{step, bad, step} {
		if err := lane.Report(ctx, events, labels(n+1)); err != nil && n < 2 {
			t.Fatal(err)
		}
	}
	err = lane.Close(ctx)
	if !errors.As(err, &e) || e.Code != codes.InvalidArgument || e.Sequence != 2 || e.Unknown ||
		len(e.NotWritten) == 0 {
		t.Fatalf("%v", err)
	}
	first := e.NotWritten[0].Action.(*pb.Charge).GetEvents()[0]
	if got := first.GetMechanism().GetGaussian().GetNoiseMultiplier(); got != -1 {
		t.Errorf("first not charged: %v", e.NotWritten)
	}
	answer, err := c.Report(ctx, "a", step, labels(2))
	if err != nil || answer.GetReceipt().GetSequence() != 2 {
		t.Fatalf("%v %v", answer, err)
	}
	wantOnce(t, c, "a", 2)
	if _, err := c.Write(ctx, "a", &pb.Close{Reason: "done"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Report(ctx, "a", step, nil); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("%v", err)
	}
	for entry, err := range c.Entries(ctx, "a", client.EntriesOptions{PageSize: 1, Raw: true}) {
		if err != nil || entry.GetPrincipal() != "unverified:ann" || len(entry.GetRaw()) == 0 {
			t.Errorf("%v %v", entry, err)
		}
	}
}

func TestReportOnceFromTwoProcesses(t *testing.T) {
	s := servertest.Start(t)
	s.NewLedger("a")
	for i, c := range []*client.Client{connect(t, s, client.Config{}), connect(t, s, client.Config{})} {
		answer, err := c.ReportOnce(servertest.Context(t), "a", "job-7", step, nil)
		if err != nil || answer.GetReplayed() != (i == 1) || answer.GetReceipt().GetPosition() != 1 {
			t.Errorf("%d: %v %v", i, answer, err)
		}
	}
	if got := s.Position("a"); got != 1 {
		t.Errorf("%d entries", got)
	}
}
