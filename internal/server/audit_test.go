// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/wire"
)

func TestSignedHead(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{SigningKey: key}})
	s.NewLedger("signed")
	receipt := s.Report("signed", servertest.Writer(), 1, one)
	ctx := servertest.Context(t)
	answer, err := s.Client.GetSignedHead(ctx, &pb.GetSignedHeadRequest{Ledger: "signed"})
	if err != nil {
		t.Fatal(err)
	}
	h := answer.GetSignedHead()
	if err := wire.CheckSignedHead(h, public); err != nil {
		t.Error(err)
	}
	if h.GetPosition() != 1 || !bytes.Equal(h.GetHeadHash(), receipt.GetHeadHash()) ||
		h.GetStoreId() != receipt.GetStoreId() || h.GetLedger() != "signed" {
		t.Errorf("%v; want what the receipt says: %v", h, receipt)
	}
	_, err = s.Client.GetSignedHead(ctx, &pb.GetSignedHeadRequest{Ledger: "nowhere"})
	wantError(t, err, codes.NotFound, "nowhere")
	_, err = s.Client.GetSignedHead(ctx, &pb.GetSignedHeadRequest{})
	wantError(t, err, codes.InvalidArgument, "ledger: missing")
}

// own is a client on the server's own socket.
func own(t *testing.T, socket string) api.Client {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return api.NewClient(conn)
}

func TestBackup(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: socket}})
	ctx := servertest.Context(t)
	s.NewLedger("large")
	large := &pb.Charge{}
	for range 1000 {
		large.Events = append(large.Events, one.GetEvents()...)
	}
	for i := range 60 { // more than a connection takes that nobody reads from
		large.Labels = map[string]string{"i": fmt.Sprint(i)}
		s.Report("large", servertest.Writer(), 1, large)
	}
	stream, err := s.Client.Backup(ctx, &pb.BackupRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	wantError(t, err, codes.PermissionDenied, "own socket")

	client := own(t, socket)
	stream, err = client.Backup(ctx, &pb.BackupRequest{})
	if err != nil {
		t.Fatal(err)
	}
	begin, err := stream.Recv()
	if err != nil || begin.GetBegin().GetStoreId() != s.Store.ID() {
		t.Fatalf("%v, %v", begin, err)
	}
	second, err := client.Backup(ctx, &pb.BackupRequest{})
	if err == nil {
		_, err = second.Recv()
	}
	wantError(t, err, codes.Aborted, "one at a time")
	var content bytes.Buffer
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			t.Fatal("it ended early")
		}
		if err != nil {
			t.Fatal(err)
		}
		content.Write(answer.GetChunk())
		if end := answer.GetEnd(); end != nil {
			sum := sha256.Sum256(content.Bytes())
			if end.GetSize() != uint64(content.Len()) || begin.GetBegin().GetSize() != end.GetSize() ||
				!bytes.Equal(end.GetSha256(), sum[:]) {
				t.Errorf("%v; %d bytes came, SHA-256 %x", end, content.Len(), sum)
			}
			break
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}

	// A client that goes away, and one that never reads until the server stops, leave
	// nothing behind.
	gone, cancel := context.WithCancel(ctx)
	if stream, err = client.Backup(gone, &pb.BackupRequest{}); err == nil {
		_, err = stream.Recv()
	}
	cancel()
	if err != nil {
		t.Error(err)
	}
	for { // until the server has seen that
		if stream, err = client.Backup(ctx, &pb.BackupRequest{}); err == nil {
			_, err = stream.Recv()
		}
		if err == nil {
			break
		}
		wantError(t, err, codes.Aborted, "one at a time")
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.Stop() }()
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) { // it may have been sent already
		wantError(t, err, codes.Unavailable, "shutting down")
	}
	<-stopped
}

func TestBackupOfAnotherStore(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	servertest.StartWith(t,
		servertest.Config{Store: memory.New(memory.Config{}), Server: server.Config{Socket: socket}})
	stream, err := own(t, socket).Backup(servertest.Context(t), &pb.BackupRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	wantError(t, err, codes.Unimplemented, "cannot be copied")
}

// A filter selects what it says, in pages; one that selects nothing ends after
// calls that each look at a bounded number of entries.
func TestFilteredEntries(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("filtered")
	a, b := servertest.Writer(), servertest.Writer()
	stream := s.Stream("filtered", a)
	const n = server.MaxScanned + 500
	charges := [2]*pb.Charge{servertest.Gaussian(2, 1), servertest.Gaussian(2, 1)}
	charges[0].Labels = map[string]string{"run": "even"}
	charges[1].Labels = map[string]string{"run": "odd"}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range uint64(n) {
			stream.Charge(i+1, charges[i%2])
		}
	}()
	stream.Acknowledged(n)
	<-sent
	s.Report("filtered", b, 1, charges[0])
	ctx := servertest.Context(t)
	list := func(r *pb.ListEntriesRequest) (positions []uint64, calls int) {
		t.Helper()
		r.Ledger = "filtered"
		for {
			calls++
			answer, err := s.Client.ListEntries(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range answer.GetEntries() {
				positions = append(positions, e.GetPosition())
			}
			if r.PageToken, r.StartPosition = answer.GetNextPageToken(), 0; r.PageToken == "" {
				return positions, calls
			}
		}
	}
	for _, c := range []struct {
		name    string
		request *pb.ListEntriesRequest
		want    []uint64
		calls   int
	}{
		{"a writer", &pb.ListEntriesRequest{Writer: b}, []uint64{n + 1}, 2},
		{"nobody", &pb.ListEntriesRequest{Writer: servertest.Writer()}, nil, 2},
		{"a range", &pb.ListEntriesRequest{StartPosition: 5, EndPosition: 7}, []uint64{5, 6, 7}, 1},
		{"a range in pages", &pb.ListEntriesRequest{StartPosition: 5, EndPosition: 8, PageSize: 3},
			[]uint64{5, 6, 7, 8}, 2},
		{"labels in a range",
			&pb.ListEntriesRequest{StartPosition: 5, EndPosition: 9, Labels: map[string]string{"run": "odd"}},
			[]uint64{6, 8}, 1},
		{"past the end", &pb.ListEntriesRequest{StartPosition: n, EndPosition: n + 100}, []uint64{n, n + 1}, 1},
	} {
		got, calls := list(c.request)
		if !slices.Equal(got, c.want) || calls != c.calls {
			t.Errorf("%s: %v in %d calls; want %v in %d", c.name, got, calls, c.want, c.calls)
		}
	}
}
