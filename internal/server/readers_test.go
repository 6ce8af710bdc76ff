// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// largeEntries makes a ledger of which a page has more than a megabyte.
func largeEntries(t *testing.T, s *servertest.Server, name string) {
	t.Helper()
	s.NewLedger(name)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			w := servertest.Writer()
			for i := range uint64(20) {
				c := servertest.Gaussian(2, 1)
				c.Labels = map[string]string{}
				for k := range 16 {
					c.Labels[fmt.Sprintf("k%d", k)] = strings.Repeat("x", 256)
				}
				_, err := s.Client.Report(servertest.Context(t), &pb.ReportRequest{
					Lane:   &pb.Lane{Ledger: name, Writer: w, Sequence: i + 1},
					Charge: c,
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// neverRead calls a method and reads nothing of its answer.
func neverRead(ctx context.Context, t *testing.T, conn *grpc.ClientConn, request proto.Message,
	method string) grpc.ClientStream {
	t.Helper()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		err = stream.SendMsg(request)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err != nil {
		t.Error(err)
	}
	return stream
}

// fillInTime runs a test whose callers fill their part of the allowance before their connections are closed. try
// returns false if that came first, as on a machine with much else to do: then it runs again, with a longer time.
func fillInTime(t *testing.T, try func(s *servertest.Server, late func() bool) bool) {
	t.Parallel()
	for unread := 3 * time.Second; ; unread *= 5 {
		s := servertest.StartWith(t, servertest.Config{Server: server.Config{SendTime: unread,
			Socket: filepath.Join(t.TempDir(), "s")}})
		largeEntries(t, s, "large")
		began := time.Now()
		if try(s, func() bool { return time.Since(began) >= unread }) {
			return
		}
		t.Logf("the part was not full within %v", unread)
	}
}

// Callers who read nothing of what they ask for fill the part that is theirs: then their pages get shorter, while
// others get whole ones and every charge is taken. After a time their connections are closed, and they begin anew.
func TestUnreadAnswers(t *testing.T) { fillInTime(t, unreadAnswers(t)) }

func unreadAnswers(t *testing.T) func(s *servertest.Server, late func() bool) bool {
	return func(s *servertest.Server, late func() bool) bool {
		request := &pb.ListEntriesRequest{Ledger: "large", PageSize: 1000, Raw: true}
		conn := s.Dial(grpc.WithInitialWindowSize(64<<10), // no more is buffered
			grpc.WithInitialConnWindowSize(64<<10))
		entries := func(client api.Client) int {
			page, err := client.ListEntries(servertest.Context(t), request)
			if err != nil && status.Code(err) != codes.ResourceExhausted {
				t.Fatal(err)
			}
			return len(page.GetEntries())
		}
		whole := entries(s.Owner(t))
		var unread []grpc.ClientStream
		for len(unread) == 0 || entries(s.Client) == whole {
			stream := neverRead(t.Context(), t, conn, request, pb.Audit_ListEntries_FullMethodName)
			_, err := stream.Header() // the page is made, and is being sent
			switch {
			case late():
				return false
			case err != nil:
				t.Fatal(err)
			case len(unread) == 100: // some 12 pages of 2.7 MiB fill the 32 MiB of all who prove nothing
				t.Fatal("100 pages are held that nobody reads")
			}
			unread = append(unread, stream)
		}
		if got := entries(s.Owner(t)); got != whole {
			t.Errorf("another caller gets %d entries; want %d", got, whole)
		}
		s.Report("large", servertest.Writer(), 1, servertest.Gaussian(2, 1))
		for began := time.Now(); entries(s.Client) < whole; time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > 10*time.Minute { // machines can be loaded
				t.Fatal("their part is not given back")
			}
		}
		if err := unread[0].RecvMsg(new(pb.ListEntriesResponse)); status.Code(err) != codes.Unavailable {
			t.Errorf("a call whose answer nobody reads: %v; want UNAVAILABLE", err)
		}
		return true
	}
}

// Who opens a stream that is not a list, and reads nothing of it, loses the connection too: a report stream is not held
// for ever, nor is a backup, beside which there is no other.
func TestUnreadStreams(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{SendTime: 200 * time.Millisecond,
		Socket: filepath.Join(shortDir(t), "s")}})
	largeEntries(t, s, "large")
	t.Run("reports", func(t *testing.T) {
		conn := s.Dial(grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(64<<10))
		stream, err := api.NewClient(conn).ReportStream(servertest.Context(t))
		if err == nil {
			err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
				Open: &pb.ReportStreamRequest_Open{Ledger: "large", Writer: servertest.Writer()}}})
		}
		for err == nil { // a duplicate is answered by itself
			err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
				Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: 1, Charge: servertest.Gaussian(2, 1)}}})
		}
		for err = nil; err == nil; { // what came before the connection was closed
			_, err = stream.Recv()
		}
		wantError(t, err, codes.Unavailable)
	})
	t.Run("backup", func(t *testing.T) {
		stream, err := s.Owner(t).Backup(servertest.Context(t), &pb.BackupRequest{})
		if err == nil {
			_, err = stream.Header() // it has begun, before any other
		}
		for ctx := servertest.Context(t); err == nil; time.Sleep(20 * time.Millisecond) {
			var second grpc.ServerStreamingClient[pb.BackupResponse]
			if second, err = s.Owner(t).Backup(ctx, &pb.BackupRequest{}); err != nil {
				break
			}
			if _, err = second.Recv(); err == nil {
				break // the first one has ended
			}
			if status.Code(err) == codes.Aborted && ctx.Err() == nil {
				err = nil
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
		wantError(t, err, codes.Unavailable)
	})
}

// What calls took that were given up is given back at once: nobody is asked to come back.
func TestGivenUpAnswers(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{SendTime: time.Hour}})
	largeEntries(t, s, "large")
	request := &pb.ListEntriesRequest{Ledger: "large", PageSize: 1000, Raw: true}
	for range 60 / testaid.Every(3) { // some 12 pages fill what there is
		ctx, cancel := context.WithCancel(t.Context())
		stream := neverRead(ctx, t, s.Conn, request, pb.Audit_ListEntries_FullMethodName)
		if _, err := stream.Header(); err != nil && status.Code(err) != codes.ResourceExhausted { // it is being sent
			t.Fatal(err)
		}
		cancel()
		_ = stream.RecvMsg(new(pb.ListEntriesResponse))
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		_, err := s.Client.ListEntries(servertest.Context(t), request)
		if err == nil {
			return
		}
		if time.Since(began) > 5*time.Minute {
			t.Fatal(err)
		}
	}
}

// However much of one page is asked for at once, everybody who comes back gets every item once.
func TestListsAtOnce(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	largeEntries(t, s, "large")
	var all sync.WaitGroup
	for range 40 / testaid.Every(2) {
		all.Go(func() {
			next := uint64(1)
			for token := ""; ; {
				page, err := s.Client.ListEntries(servertest.Context(t), &pb.ListEntriesRequest{Ledger: "large",
					PageSize: 1000, PageToken: token})
				if status.Code(err) == codes.ResourceExhausted {
					time.Sleep(100 * time.Millisecond)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range page.GetEntries() {
					if e.GetPosition() != next {
						t.Errorf("entry %d; want %d", e.GetPosition(), next)
					}
					next = e.GetPosition() + 1
				}
				if token = page.GetNextPageToken(); token == "" {
					break
				}
			}
			if next != 321 { // 16 writers with 20 entries each
				t.Errorf("%d entries; want 320", next-1)
			}
		})
	}
	all.Wait()
}

// A receipt of a charge to many ledgers counts as an answer does: one that was given before waits where there is no
// room, new charges are taken, and whoever reads none loses the connection.
func TestUnreadReceipts(t *testing.T) {
	if testing.Short() {
		t.Skip("600 ledgers take long to make; TestUnreadAnswers fills the same allowance")
	}
	fillInTime(t, unreadReceipts(t))
}

func unreadReceipts(t *testing.T) func(s *servertest.Server, late func() bool) bool {
	prefix := strings.Repeat(strings.Repeat("x", 60)+"/", 3)
	charge := func(writer string) *pb.ReportRequest {
		return &pb.ReportRequest{Lane: &pb.Lane{Writer: writer, Sequence: 1, Contribution: pb.SetPart_OVER_ALL,
			Ledgers: &pb.LedgerSet{Range: &pb.LedgerRange{Prefix: prefix}}},
			Charge: servertest.Gaussian(2, 1)}
	}
	return func(s *servertest.Server, late func() bool) bool {
		var all sync.WaitGroup
		for i := range 600 { // with a receipt of 130 KB
			all.Go(func() { s.NewLedger(fmt.Sprint(prefix, i)) })
		}
		all.Wait()
		report := func(req *pb.ReportRequest) error {
			_, err := s.Client.Report(servertest.Context(t), req)
			return err
		}
		if err := report(charge("request/first")); err != nil {
			t.Fatal(err)
		}
		window := []grpc.DialOption{grpc.WithInitialWindowSize(64 << 10), grpc.WithInitialConnWindowSize(64 << 10)}
		receipts, lists := s.Dial(window...), s.Dial(window...)
		var err error
		for range 40 { // more than fill the 32 MiB of all who prove nothing
			if err == nil {
				page := &pb.ListEntriesRequest{Ledger: "large", PageSize: 1000, Raw: true}
				_, err = neverRead(t.Context(), t, lists, page,
					pb.Audit_ListEntries_FullMethodName).Header()
			}
		}
		if err != nil && status.Code(err) != codes.ResourceExhausted && !late() {
			t.Fatal(err)
		}
		for range 100 { // of what is left
			_, _ = neverRead(t.Context(), t, receipts, charge("request/first"),
				pb.Charges_Report_FullMethodName).Header()
			for err = status.Error(codes.Aborted, ""); status.Code(err) == codes.Aborted; { // the lane is busy
				err = report(charge("request/first"))
			}
			if err != nil {
				break
			}
		}
		if late() {
			return false
		}
		wantError(t, err, codes.Unavailable, "written before")
		if err := report(charge("request/new")); err != nil {
			t.Errorf("a new charge: %v", err)
		}
		for began := time.Now(); report(charge("request/first")) != nil || receipts.GetState() == connectivity.Ready; {
			if time.Since(began) > 10*time.Minute { // machines can be loaded
				t.Fatal("their part is not given back, or the connection is still there")
			}
			time.Sleep(20 * time.Millisecond)
		}
		return true
	}
}
