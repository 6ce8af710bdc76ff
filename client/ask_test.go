// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Ask makes the call that the request is for, and refuses what is no question: writes, streams and parts of requests.
func TestAsk(t *testing.T) {
	s := servertest.Start(t)
	c := connect(t, s, client.Config{})
	for _, request := range []proto.Message{&pb.ReportRequest{}, &pb.WatchLedgerRequest{}, &pb.BackupRequest{},
		&pb.Charge{}} {
		if answer, err := c.Ask(t.Context(), request); answer != nil || status.Code(err) != codes.InvalidArgument {
			t.Errorf("%T: %v, %v", request, answer, err)
		}
	}
	for i, name := range []string{"a", "b", "c"} {
		spec := &pb.LedgerSpec{Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}
		answer, err := c.Ask(t.Context(), &pb.CreateLedgerRequest{Spec: spec})
		if created, ok := answer.(*pb.CreateLedgerResponse); err != nil || !ok || !created.GetCreated() {
			t.Fatal(i, answer, err)
		}
	}
	var names []string
	for l, err := range client.Pages[*pb.Ledger](t.Context(), c, &pb.ListLedgersRequest{PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, l.GetName())
	}
	if len(names) != 3 || names[2] != "c" {
		t.Errorf("pages of two have the ledgers %q", names)
	}
	_, err := c.Ask(t.Context(), &pb.GetLedgerRequest{Name: "none"})
	if e, ok := err.(*client.Error); !ok || e.Ledger != "none" || e.Code != codes.NotFound {
		t.Errorf("%v", err)
	}
}
