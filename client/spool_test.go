// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

const day = 24 * time.Hour

// share takes 10 tenths of a new ledger.
func share(t *testing.T, c *client.Client, s *servertest.Server, name string) (spool *client.Spool, path string) {
	t.Helper()
	s.Create(servertest.Filter(name, servertest.Basic(3)))
	path = filepath.Join(t.TempDir(), "share")
	spool, err := c.TakeSpool(servertest.Context(t), path, name, tenths(10), day)
	if err != nil {
		t.Fatal(err)
	}
	return spool, path
}

func spend(t *testing.T, s *client.Spool, counts ...uint32) {
	t.Helper()
	for _, n := range counts {
		if err := s.Spend(tenths(n), map[string]string{"n": strconv.Itoa(int(n))}); err != nil {
			t.Fatal(err)
		}
	}
}

// committed are the counts of a ledger's commits, in order.
func committed(t rapid.TB, c *client.Client, ledger string) (counts []uint32) {
	t.Helper()
	for e, err := range c.Entries(context.Background(), ledger, client.EntriesOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if v := e.GetCommit(); v != nil {
			counts = append(counts, v.GetEvents()[0].GetCount())
		}
	}
	return counts
}

func wantCommits(t rapid.TB, c *client.Client, ledger string, want ...uint32) {
	t.Helper()
	if got := committed(t, c, ledger); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: commits of %v; want %v", ledger, got, want)
	}
}

// A share is spent while no daemon runs, never beyond what it holds, and told once. What is left is given back.
func TestSpool(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c, ctx := connect(t, s, client.Config{}), servertest.Context(t)
	spool, path := share(t, c, s, "a")
	s.Stop()
	spend(t, spool, 3)
	again, err := client.OpenSpool(path) // another process
	if err != nil {
		t.Fatal(err)
	}
	spend(t, again, 4)
	for _, wrong := range []struct {
		events []*pb.Event
		code   codes.Code
	}{{tenths(4), codes.ResourceExhausted}, {[]*pb.Event{servertest.Pure(0.2, 1)}, codes.ResourceExhausted},
		{[]*pb.Event{servertest.Pure(0.1, 2), servertest.Pure(0.1, 2)}, codes.ResourceExhausted},
		{nil, codes.InvalidArgument}} {
		err := spool.Spend(wrong.events, nil)
		exceeds := wrong.code == codes.ResourceExhausted
		if status.Code(err) != wrong.code || exceeds != errors.Is(err, client.ErrBudget) {
			t.Errorf("%v: %v", wrong.events, err)
		}
	}
	s.Restart()
	for range 2 {
		if st, err := spool.Deliver(ctx, c); err != nil || st.Spent != 2 || st.Delivered != 2 || st.Late != 0 {
			t.Errorf("%+v, %v", st, err)
		}
	}
	wantCommits(t, c, "a", 3, 4)
	for range 2 {
		if st, err := spool.Close(ctx, c, "done"); err != nil || !st.Closed {
			t.Errorf("%+v, %v", st, err)
		}
	}
	if err := again.Spend(tenths(1), nil); !errors.Is(err, client.ErrSpoolOver) {
		t.Errorf("spent after it was closed: %v", err)
	}
	if l := s.Ledger("a"); l.GetTotalCount() != 7 || len(l.GetReservations()) != 0 {
		t.Errorf("%v", l)
	}
	if _, err := c.TakeSpool(ctx, path, "a", tenths(10), day); status.Code(err) != codes.InvalidArgument {
		t.Errorf("the same file again: %v", err)
	}
	for _, content := range []string{"mine", "mine\n"} {
		other := filepath.Join(t.TempDir(), "other")
		if err := os.WriteFile(other, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := c.TakeSpool(ctx, other, "a", tenths(1), day)
		if got, _ := os.ReadFile(other); err == nil || string(got) != content {
			t.Errorf("a file of somebody else's: %q, %v", got, err)
		}
	}
	if _, err := c.TakeSpool(ctx, path+"2", "a", tenths(1), 2*time.Hour); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a lifetime without anything to spend it in: %v", err)
	}
}

// Connections break at any byte of the taking and of the deliveries, which are repeated by processes that know only the
// file: each charge is written once.
func TestSpoolUnderDisconnections(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	dir, ledgers := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		ledgers++
		name := fmt.Sprintf("run/%d", ledgers)
		s.Create(servertest.Filter(name, servertest.Basic(3)))
		ctx, path := servertest.Context(t), filepath.Join(dir, strconv.Itoa(ledgers))
		breaking := func() *client.Client {
			return connect(t, s, client.Config{MaxAttempts: 1},
				rapid.SliceOfN(rapid.IntRange(1, 3000), 1, 1).Draw(r, "bytes")...)
		}
		take := func(c *client.Client) error {
			_, err := c.TakeSpool(ctx, path, name, tenths(10), day)
			return err
		}
		whole := connect(t, s, client.Config{})
		if take(breaking()) != nil {
			if err := take(whole); err != nil {
				r.Fatal(err)
			}
		}
		for _, n := range []uint32{1, 2, 3} {
			spool, err := client.OpenSpool(path)
			if err == nil {
				err = spool.Spend(tenths(n), nil)
			}
			if err != nil {
				r.Fatal(err)
			}
			_, _ = spool.Deliver(ctx, breaking())
		}
		spool, err := client.OpenSpool(path)
		if err == nil {
			_, err = spool.Close(ctx, whole, "")
		}
		if err != nil {
			r.Fatal(err)
		}
		wantCommits(r, whole, name, 1, 2, 3)
		if l := s.Ledger(name); l.GetTotalCount() != 6 || len(l.GetReservations()) != 0 {
			r.Errorf("%v", l)
		}
	})
}

// After the end of the reservation what comes late is answered with the entry that charged it, and charged no second
// time, as long as all of it together was charged then. What was given back, or is more, is refused.
func TestSpoolLate(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{
		Socket: filepath.Join(testaid.ShortDir(t), "s")}})
	c, ctx, owner := connect(t, s, client.Config{}), servertest.Context(t), s.Owner(t)
	lane := func(ledger string) *pb.Lane {
		return &pb.Lane{Ledger: ledger, Writer: servertest.Writer(), Sequence: 1}
	}
	expire := func(ledger string) error {
		_, err := owner.Expire(ctx, &pb.ExpireRequest{Lane: lane(ledger), Expire: &pb.Expire{Reservation: 1}})
		return err
	}
	for name, x := range map[string]struct {
		end     func(ledger string) error
		refused string
		total   uint64
	}{
		"expired": {expire, "", 10},
		"closed": {func(ledger string) error {
			_, err := owner.CloseLedger(ctx, &pb.CloseLedgerRequest{Lane: lane(ledger), Close: &pb.Close{}})
			return err
		}, "", 10},
		"freed": {func(ledger string) error {
			_, err := owner.Free(ctx, &pb.FreeRequest{Lane: lane(ledger),
				Free: &pb.Free{Reservation: 1, NothingReleased: true, Reason: "it died"}})
			return err
		}, "was given back by", 3},
		"refunded": {func(ledger string) error {
			err := expire(ledger)
			if err == nil {
				_, err = owner.Refund(ctx, &pb.RefundRequest{Lane: lane(ledger),
					Refund: &pb.Refund{Position: 3, NothingReleased: true, Reason: "it died"}})
			}
			return err
		}, "was given back by", 3},
	} {
		spool, _ := share(t, c, s, name)
		spend(t, spool, 3)
		if _, err := spool.Deliver(ctx, c); err != nil {
			t.Fatal(name, err)
		}
		spend(t, spool, 2, 4)
		if err := x.end(name); err != nil {
			t.Fatal(name, err)
		}
		for range 2 {
			st, err := spool.Deliver(ctx, c)
			if x.refused != "" {
				if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), x.refused) ||
					st.Late != 0 {
					t.Errorf("%s: %+v, %v", name, st, err)
				}
				continue
			}
			if err != nil || st.Delivered != 1 || st.Late != 2 {
				t.Errorf("%s: %+v, %v", name, st, err)
			}
		}
		if x.refused == "" {
			spend(t, spool, 1) // it cannot know
			if st, err := spool.Close(ctx, c, ""); err != nil || st.Late != 3 {
				t.Errorf("%s: %+v, %v", name, st, err)
			}
		}
		wantCommits(t, c, name, 3)
		if got := s.Ledger(name).GetTotalCount(); got != x.total {
			t.Errorf("%s: %d are charged; want %d", name, got, x.total)
		}
	}
	// By the API: others' reservations, other positions, and more than the end has charged.
	s.Create(servertest.Filter("mine", servertest.Basic(3)))
	other := metadata.AppendToOutgoingContext(ctx, "accountant-principal", "other")
	if _, err := c.Reserve(ctx, "mine", tenths(5), time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	if err := expire("mine"); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		by       context.Context
		position uint64
		count    uint32
		says     string
	}{{other, 1, 1, "is of unverified:anonymous"}, {ctx, 2, 1, "allowed: the position of one"},
		{ctx, 9, 1, "allowed: the position of one"},
		{ctx, 1, 6, "come late; allowed: at most 5, which entry 2 charged"},
		{ctx, 1, 5, ""}} {
		a, err := s.Client.Commit(x.by, &pb.CommitRequest{Lane: lane("mine"), Late: true,
			Commit: &pb.Commit{Reservation: x.position, Events: tenths(x.count)}})
		if err == nil && (!a.GetAlreadyCharged() || a.GetReceipt().GetPosition() != 2) {
			t.Errorf("%+v: %v", x, a)
		}
		if x.says == "" && err != nil || x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)) {
			t.Errorf("%+v: %v", x, err)
		}
	}
}

// A copy of the file spends the same share again. That is no silent overrun: the second one's charges are refused.
func TestSpoolCopied(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c, ctx := connect(t, s, client.Config{}), servertest.Context(t)
	first, path := share(t, c, s, "a")
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path+"2", content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	second, err := client.OpenSpool(path + "2")
	if err != nil {
		t.Fatal(err)
	}
	spend(t, first, 6)
	spend(t, second, 6)
	if _, err := first.Deliver(ctx, c); err != nil {
		t.Fatal(err)
	}
	if st, err := second.Deliver(ctx, c); status.Code(err) != codes.FailedPrecondition || st.Delivered != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// Wherever the file is cut off, as by a power cut before the last line was synced, it has all that came before; where
// it is damaged in any other way, nothing more is spent.
func TestSpoolFileCut(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c, ctx := connect(t, s, client.Config{}), servertest.Context(t)
	spool, path := share(t, c, s, "a")
	spend(t, spool, 1, 2)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(content []byte) (client.SpoolStatus, *client.Spool, error) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := client.OpenSpool(path)
		if err != nil {
			return client.SpoolStatus{}, nil, err
		}
		st, err := o.Status()
		return st, o, err
	}
	for n := range whole {
		lines := bytes.Count(whole[:n+1], []byte("\n")) // a line that lacks no more than its end counts
		st, o, err := try(whole[:n])
		if lines < 2 {
			if err == nil {
				t.Errorf("cut at %d: opened before the share was set aside", n)
			}
			if _, err := c.TakeSpool(ctx, path, "a", tenths(10), day); err != nil && lines == 1 {
				t.Errorf("cut at %d, taken again: %v", n, err)
			}
			continue
		}
		if err != nil || st.Spent != lines-2 {
			t.Errorf("cut at %d: %d charges of %d lines, %v", n, st.Spent, lines, err)
			continue
		}
		spend(t, o, 3)
		if st, err := o.Status(); err != nil || st.Spent != lines-1 {
			t.Errorf("cut at %d, spent again: %+v, %v", n, st, err)
		}
	}
	for n := range whole {
		changed := bytes.Clone(whole)
		changed[n] ^= 1
		if st, _, err := try(changed); err == nil && !(n == len(whole)-1 && st.Spent == 2) {
			t.Errorf("byte %d is another one, and nothing is said: %+v", n, st)
		}
	}
}
