// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/server/upkeep"
)

// The daemon tells when its file was verified and backed up, and by whom, also after a restart.
func TestStoreStatus(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: socket, Version: "v1.2.3",
		Place: upkeep.Place{Kind: "file", Promises: func() ([]string, error) { return []string{"It is kept."}, nil }}}})
	ctx := servertest.Context(t)
	ask := func() *pb.GetStoreStatusResponse {
		t.Helper()
		answer, err := s.Client.GetStoreStatus(ctx, &pb.GetStoreStatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for ask().GetLastVerification() == nil { // the first is under way; the test's context bounds this
		time.Sleep(10 * time.Millisecond)
	}
	first := ask()
	if first.GetKind() != "file" || first.GetPromises()[0] != "It is kept." || first.GetVersion() != "v1.2.3" ||
		first.GetStoreId() != s.Store.ID() || first.GetVerificationIntervalSeconds() != 3600 ||
		first.GetLastVerification().GetBytes() == 0 || first.GetNewestBackup() != nil || len(first.GetWarnings()) != 1 {
		t.Errorf("%v", first)
	}
	stream, err := own(t, socket).Backup(ctx, &pb.BackupRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var end *pb.BackupResponse_End
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		end = answer.GetEnd()
	}
	check := func() {
		t.Helper()
		answer := ask()
		b := answer.GetNewestBackup()
		if b.GetSize() != end.GetSize() || string(b.GetSha256()) != string(end.GetSha256()) ||
			!strings.Contains(b.GetPrincipal(), ":") || b.GetTime().AsTime().Before(first.GetStartTime().AsTime()) ||
			b.GetTime().AsTime().After(answer.GetTime().AsTime()) || len(answer.GetWarnings()) != 0 {
			t.Errorf("%v", answer)
		}
	}
	check()
	started := ask().GetStartTime().AsTime()
	s.Restart()
	check()
	if !ask().GetStartTime().AsTime().After(started) {
		t.Error("it is said to have started before it was started again")
	}
}
