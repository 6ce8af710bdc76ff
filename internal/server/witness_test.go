// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A stream that opens with a receipt opens if the entry is there, as it was; else it
// ends, and the lane stays as it is.
func TestLastReceipt(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("a")
	s.NewLedger("b")
	w := servertest.Writer()
	var receipts []*pb.Receipt
	for i := range uint64(300) { // more than a read walks back
		receipts = append(receipts, s.Report("a", w, i+1, one))
	}
	other := s.Report("b", w, 1, one)
	last := receipts[len(receipts)-1]
	open := func(name string, r *pb.Receipt) (uint64, error) {
		stream, err := s.Client.ReportStream(servertest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
			Open: &pb.ReportStreamRequest_Open{Ledger: name, Writer: w, LastReceipt: r}}})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err == nil { // the lane is free again
			if err := stream.CloseSend(); err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		return answer.GetOpened().GetLastSequence(), err
	}
	but := func(change func(*pb.Receipt)) *pb.Receipt {
		r := proto.CloneOf(last)
		change(r)
		return r
	}
	for _, c := range []struct {
		name  string
		kept  *pb.Receipt
		code  codes.Code
		wants []string
	}{
		{"another hash", but(func(r *pb.Receipt) { r.HeadHash[31] ^= 1 }), codes.DataLoss,
			[]string{"rolled back or edited", "expected", "position 300", "found one with hash"}},
		{"another's hash", but(func(r *pb.Receipt) { r.HeadHash = other.HeadHash }), codes.DataLoss,
			[]string{"found one with hash"}},
		{"another position", but(func(r *pb.Receipt) { r.Position = 299 }), codes.DataLoss,
			[]string{"position 299", "found one with hash"}},
		{"beyond the end", but(func(r *pb.Receipt) { r.Position = 301 }), codes.DataLoss,
			[]string{"position 301", "found no entry there"}},
		{"far beyond the end", but(func(r *pb.Receipt) { r.Position = 1<<64 - 1 }), codes.DataLoss,
			[]string{"found no entry there"}},
		{"another store's",
			but(func(r *pb.Receipt) { r.StoreId, r.HeadHash[31] = servertest.Writer(), r.HeadHash[31]^1 }),
			codes.DataLoss, []string{"; this is store " + last.GetStoreId()}},
		{"another ledger", other, codes.InvalidArgument, []string{`open.last_receipt.ledger: "b"`, `"a"`}},
		{"no ledger", but(func(r *pb.Receipt) { r.Ledger = "" }), codes.InvalidArgument,
			[]string{"open.last_receipt.ledger"}},
		{"no store", but(func(r *pb.Receipt) { r.StoreId = "" }), codes.InvalidArgument,
			[]string{"open.last_receipt.store_id", "a UUID"}},
		{"no position", but(func(r *pb.Receipt) { r.Position = 0 }), codes.InvalidArgument,
			[]string{"open.last_receipt.position: missing or 0"}},
		{"short hash", but(func(r *pb.Receipt) { r.HeadHash = r.HeadHash[:31] }), codes.InvalidArgument,
			[]string{"open.last_receipt.head_hash: 31 bytes", "allowed: 32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := open("a", c.kept)
			wantError(t, err, c.code, c.wants...)
			for i, want := range c.wants {
				c.wants[i] = strings.TrimPrefix(want, "open.")
			}
			_, err = s.Client.Report(servertest.Context(t),
				&pb.ReportRequest{
					Lane:   &pb.Lane{Ledger: "a", Writer: w, Sequence: 301, LastReceipt: c.kept},
					Charge: one,
				})
			wantError(t, err, c.code, c.wants...)
		})
	}
	_, err := open("gone", but(func(r *pb.Receipt) { r.Ledger = "gone" }))
	wantError(t, err, codes.DataLoss, "found no such ledger")

	check := func() {
		t.Helper()
		// The same entry in another store is one that was restored.
		elsewhere := but(func(r *pb.Receipt) { r.StoreId = servertest.Writer() })
		for _, r := range append(slices.Clone(receipts[:3]), nil, receipts[254], receipts[255],
			receipts[256], last, elsewhere) {
			if got, err := open("a", r); err != nil || got != 300 {
				t.Errorf("with the receipt of %d: opened at %d, %v; want 300", r.GetPosition(), got, err)
			}
		}
	}
	check()
	s.Restart()
	check()
	if got := s.Report("a", w, 301, one); got.GetPosition() != 301 {
		t.Errorf("position %d; want 301", got.GetPosition())
	}
}
