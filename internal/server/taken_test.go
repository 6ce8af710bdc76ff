// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A charge that is sent again over another listener, where the same caller has
// another principal, is charged once: alone, in a client's lane, in a stream, and
// after a restart.
func TestSentAgainOverAnotherListener(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: filepath.Join(shortDir(t), "s")}})
	s.Create(servertest.Spec("twice"))
	ctx := servertest.Context(t)
	writer := servertest.Writer()
	requests := []*pb.ReportRequest{
		{Lane: &pb.Lane{Ledger: "twice", Writer: "request/nightly", Sequence: 1}, Charge: charged(3)},
		{Lane: &pb.Lane{Ledger: "twice", Writer: writer, Sequence: 1}, Charge: charged(3)},
	}
	for _, r := range requests {
		if _, err := s.Client.Report(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	again := func(owner api.Client) {
		t.Helper()
		for _, r := range requests {
			_, err := owner.Report(ctx, r)
			wantError(t, err, codes.AlreadyExists, "written as entry", "unverified:anonymous",
				"nothing was written now", "allowed:")
		}
		stream, err := owner.ReportStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*pb.ReportStreamRequest{
			{Message: &pb.ReportStreamRequest_Open_{Open: &pb.ReportStreamRequest_Open{Ledger: "twice",
				Writer: writer}}},
			{Message: &pb.ReportStreamRequest_Charge{Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: 1,
				Charge: charged(3)}}},
		} {
			if err := stream.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		if m, err := stream.Recv(); err != nil || codes.Code(m.GetRejected().GetCode()) != codes.AlreadyExists {
			t.Errorf("in a stream: %v, %v", m, err)
		}
		if got := s.Position("twice"); got != 2 {
			t.Errorf("%d entries after the same 2 requests", got)
		}
	}
	again(s.Owner(t))
	s.Restart()
	again(s.Owner(t))
}
