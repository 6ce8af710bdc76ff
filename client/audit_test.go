// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func TestAuditOfTheRealServer(t *testing.T) {
	dir, err := os.MkdirTemp("", "c") // short enough for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	socket := filepath.Join(dir, "s")
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{SigningKey: key, Socket: socket}})
	s.NewLedger("a")
	c, err := client.New(client.Config{Server: "unix:" + socket})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := servertest.Context(t)
	h, err := c.SignedHead(ctx, "a")
	if err != nil || client.VerifySignedHead(h, public) != nil || client.VerifySignedHead(h, nil) != nil {
		t.Errorf("%v, %v", h, err)
	}
	h.Position++
	if client.VerifySignedHead(h, public) == nil {
		t.Error("another position passed")
	}
	var content bytes.Buffer
	var done, total uint64
	end, err := c.Backup(ctx, &content, func(d, n uint64) { done, total = d, n })
	if err != nil || end.GetSize() != uint64(content.Len()) || done != end.GetSize() || total != done || done == 0 {
		t.Errorf("%v, %v; %d of %d", end, err, done, total)
	}
	_, err = c.Backup(ctx, full{}, nil)
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("%v", err)
	}
	over, err := client.New(client.Config{Server: s.Addr})
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	if _, err := over.Backup(ctx, &content, nil); status.Code(err) != codes.PermissionDenied {
		t.Errorf("over TCP: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// scripted sends what it is told to as a backup.
type scripted struct {
	api.Unimplemented
	answers []*pb.BackupResponse
}

func (s *scripted) Backup(_ *pb.BackupRequest, stream pb.Admin_BackupServer) error {
	for _, a := range s.answers {
		if err := stream.Send(a); err != nil {
			return err
		}
	}
	return nil
}

// Whatever is lost or changed on its way, a damaged copy is never taken for a whole one.
func TestDamagedBackups(t *testing.T) {
	begin := func(n uint64) *pb.BackupResponse {
		return &pb.BackupResponse{Message: &pb.BackupResponse_Begin_{Begin: &pb.BackupResponse_Begin{Size: n}}}
	}
	chunk := func(s string) *pb.BackupResponse {
		return &pb.BackupResponse{Message: &pb.BackupResponse_Chunk{Chunk: []byte(s)}}
	}
	end := func(s string) *pb.BackupResponse {
		sum := sha256.Sum256([]byte(s))
		return &pb.BackupResponse{Message: &pb.BackupResponse_End_{End: &pb.BackupResponse_End{Size: uint64(len(s)),
			Sha256: sum[:]}}}
	}
	for _, c := range []struct {
		name    string
		answers []*pb.BackupResponse
		says    string
	}{
		{"whole", []*pb.BackupResponse{begin(4), chunk("ab"), chunk("cd"), end("abcd")}, ""},
		{"a chunk lost", []*pb.BackupResponse{begin(4), chunk("ab"), end("abcd")},
			"2 bytes came; the daemon sent 4 of 4"},
		{"a chunk twice", []*pb.BackupResponse{begin(4), chunk("ab"), chunk("ab"), chunk("cd"), end("abcd")},
			"6 bytes came"},
		{"chunks swapped", []*pb.BackupResponse{begin(4), chunk("cd"), chunk("ab"), end("abcd")}, "SHA-256"},
		{"changed", []*pb.BackupResponse{begin(4), chunk("abce"), end("abcd")}, "SHA-256"},
		{"no end", []*pb.BackupResponse{begin(4), chunk("abcd")}, "it ended early"},
		{"nothing", nil, "it ended early"},
		{"no beginning", []*pb.BackupResponse{chunk("abcd"), end("abcd")}, "4 bytes came; the daemon sent 4 of 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s := grpc.NewServer()
			api.Register(s, &scripted{answers: c.answers})
			go func() { _ = s.Serve(l) }()
			defer s.Stop()
			daemon, err := client.New(client.Config{Server: l.Addr().String()})
			if err != nil {
				t.Fatal(err)
			}
			defer daemon.Close()
			var content bytes.Buffer
			_, err = daemon.Backup(servertest.Context(t), &content, nil)
			if c.says == "" {
				if err != nil || content.String() != "abcd" {
					t.Errorf("%q, %v", content.String(), err)
				}
			} else if status.Code(err) != codes.DataLoss || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %s", err, c.says)
			}
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err = daemon.Backup(ended, &content, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("with an ended context: %v", err)
			}
		})
	}
}
