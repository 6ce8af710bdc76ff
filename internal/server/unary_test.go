// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

func TestCreateLedger(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := metadata.AppendToOutgoingContext(servertest.Context(t), server.PrincipalKey, "ada@example.org")
	spec := &pb.LedgerSpec{Name: "team/mnist", Adjacency: pb.Workload_ZERO_OUT, PrivacyUnit: "user", DatasetId: "mnist",
		DatasetVersion: "1", Owner: "ada", Labels: map[string]string{"a": "1", "b": "2"}}
	first, err := s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	l := first.GetLedger()
	if !first.GetCreated() || l.GetName() != "team/mnist" || l.GetPrincipal() != "unverified:ada@example.org" ||
		l.GetPosition() != 0 || len(l.GetHeadHash()) != 32 || l.GetStoreId() != s.Store.ID() ||
		l.GetSpec().GetPrivacyUnit() != "user" {
		t.Errorf("created %v", first)
	}
	// Again, by somebody else and with the default policy spelt out: the same one.
	spec.Policy = pb.LedgerSpec_DESCRIPTIVE
	again, err := s.Client.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: spec})
	if err != nil || again.GetCreated() || !proto.Equal(again.GetLedger(), l) {
		t.Errorf("again: %v, %v; want the first, not created", again, err)
	}
	got, err := s.Client.GetLedger(ctx, &pb.GetLedgerRequest{Name: "team/mnist"})
	if err != nil || !proto.Equal(got.GetLedger(), l) {
		t.Errorf("get: %v, %v; want %v", got, err, l)
	}
}

func TestReportAndCheck(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("unary")
	ctx := servertest.Context(t)
	w := servertest.Writer()
	check := &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "unary", Writer: w, Sequence: 1, CheckOnly: true},
		Charge: one,
	}
	answer, err := s.Client.Report(ctx, check)
	if err != nil || !answer.GetCheckOnly() || answer.GetReceipt() != nil || answer.GetReplayed() {
		t.Errorf("check: %v, %v; want no receipt", answer, err)
	}
	if s.Position("unary") != 0 {
		t.Error("a check was written")
	}
	receipt := s.Report("unary", w, 1, one)
	if receipt.GetPosition() != 1 || receipt.GetSequence() != 1 || receipt.GetWriter() != w ||
		receipt.GetLedger() != "unary" ||
		receipt.GetStoreId() != s.Store.ID() || len(receipt.GetHeadHash()) != 32 || receipt.GetTime() == nil {
		t.Errorf("receipt %v", receipt)
	}
	answer, err = s.Client.Report(ctx, check)
	if err != nil || !answer.GetReplayed() || answer.GetCheckOnly() || !proto.Equal(answer.GetReceipt(), receipt) {
		t.Errorf("check of a duplicate: %v, %v; want the first receipt", answer, err)
	}
	writer, err := s.Client.GetWriter(ctx, &pb.GetWriterRequest{Ledger: "unary", Writer: w})
	if err != nil || writer.GetLastSequence() != 1 || writer.GetLastPosition() != 1 {
		t.Errorf("writer: %v, %v", writer, err)
	}
	writer, err = s.Client.GetWriter(ctx, &pb.GetWriterRequest{Ledger: "unary", Writer: servertest.Writer()})
	if err != nil || writer.GetLastSequence() != 0 || writer.GetLastPosition() != 0 {
		t.Errorf("new writer: %v, %v", writer, err)
	}
}

// The user's own key charges once, whoever retries; another principal's same
// key is another lane.
func TestRequestKey(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("key")
	first := s.Report("key", "request/job-7", 1, one)
	if again := s.Report("key", "request/job-7", 1, one); !proto.Equal(again, first) {
		t.Errorf("again: %v; want %v", again, first)
	}
	ctx := metadata.AppendToOutgoingContext(servertest.Context(t), server.PrincipalKey, "bob")
	answer, err := s.Client.Report(ctx,
		&pb.ReportRequest{Lane: &pb.Lane{Ledger: "key", Writer: "request/job-7", Sequence: 1}, Charge: one})
	if err != nil || answer.GetReplayed() || answer.GetReceipt().GetPosition() != 2 {
		t.Errorf("another principal: %v, %v; want a charge of its own", answer, err)
	}
	entries := readLog(t, s.Client, "key", 1)
	if len(entries) != 2 || entries[0].GetPrincipal() != "unverified:anonymous" ||
		entries[1].GetPrincipal() != "unverified:bob" {
		t.Errorf("entries %v", entries)
	}
}

func TestCloseLedger(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("end")
	w := servertest.Writer()
	charged := s.Report("end", w, 1, one)
	closing := &pb.CloseLedgerRequest{
		Lane:  &pb.Lane{Ledger: "end", Writer: w, Sequence: 2},
		Close: &pb.Close{Reason: "published"},
	}
	first, err := s.Client.CloseLedger(servertest.Context(t), closing)
	if err != nil || first.GetReplayed() || first.GetReceipt().GetPosition() != 2 {
		t.Fatalf("close: %v, %v", first, err)
	}
	again, err := s.Client.CloseLedger(servertest.Context(t), closing)
	if err != nil || !again.GetReplayed() || !proto.Equal(again.GetReceipt(), first.GetReceipt()) {
		t.Errorf("again: %v, %v; want the first receipt, replayed", again, err)
	}
	_, err = s.Client.CloseLedger(servertest.Context(t), &pb.CloseLedgerRequest{
		Lane: &pb.Lane{Ledger: "end", Writer: w, Sequence: 3}, Close: &pb.Close{},
	})
	wantError(t, err, codes.FailedPrecondition, "end", "allowed: an open ledger")
	if again := s.Report("end", w, 1, one); !proto.Equal(again, charged) {
		t.Errorf("duplicate after closing: %v; want %v", again, charged)
	}
	got, err := s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "end"})
	if err != nil || !got.GetLedger().GetClosed() || got.GetLedger().GetPosition() != 2 {
		t.Errorf("get: %v, %v", got, err)
	}
	entries := readLog(t, s.Client, "end", 100)
	if reason := entries[1].GetClose().GetReason(); reason != "published" {
		t.Errorf("reason %q", reason)
	}
}

func TestListLedgers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	var want []string
	for i := range 75 {
		name := fmt.Sprintf("a/%02d", i)
		want = append(want, name)
		s.NewLedger(name)
	}
	s.NewLedger("a.b")
	s.NewLedger("b")
	for _, size := range []uint32{0, 1, 7, 75, 76, 1000} {
		if got := listAll(t, s.Client, "a/", size); !slices.Equal(got, want) {
			t.Errorf("page size %d: %v", size, got)
		}
	}
	if got := listAll(t, s.Client, "", 10); len(got) != 77 || !slices.IsSorted(got) {
		t.Errorf("all: %v", got)
	}
	if got := listAll(t, s.Client, "c", 10); len(got) != 0 {
		t.Errorf("none: %v", got)
	}
	// A token belongs to its list.
	page, err := s.Client.ListLedgers(servertest.Context(t), &pb.ListLedgersRequest{Prefix: "a/", PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Client.ListLedgers(servertest.Context(t), &pb.ListLedgersRequest{PageToken: page.GetNextPageToken()})
	wantError(t, err, codes.InvalidArgument, "page_token", "allowed:")
}

func listAll(t *testing.T, client api.Client, prefix string, size uint32) (names []string) {
	t.Helper()
	for token := ""; ; {
		page, err := client.ListLedgers(servertest.Context(t),
			&pb.ListLedgersRequest{Prefix: prefix, PageSize: size, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.GetLedgers()); n > int(max(size, 100)) || n == 0 && token != "" {
			t.Errorf("a page of %d ledgers; asked for %d", n, size)
		}
		for _, l := range page.GetLedgers() {
			names = append(names, l.GetName())
		}
		if token = page.GetNextPageToken(); token == "" {
			return names
		}
	}
}

// Pages are bounded in bytes too: large specs and large entries fit the message
// size that clients accept.
func TestLargePages(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "it writes 520 large ledgers")
	s := servertest.Start(t)
	labels := map[string]string{}
	for i := range 16 {
		labels[fmt.Sprintf("%s%02d", strings.Repeat("k", 61), i)] = strings.Repeat("v", 256)
	}
	ctx := servertest.Context(t)
	const ledgers = 520 // of some 6 KiB each: 3.3 MB
	var group errgroup.Group
	group.SetLimit(32)
	for i := range ledgers {
		spec := &pb.LedgerSpec{Name: fmt.Sprintf("large/%03d/%s", i, strings.Repeat("n", 60)),
			Adjacency: pb.Workload_REPLACE_ONE,
			Labels:    labels, Owner: strings.Repeat("o", 256), DatasetId: strings.Repeat("d", 256),
			DatasetVersion: strings.Repeat("v", 256)}
		group.Go(func() error {
			_, err := s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := listAll(t, s.Client, "large/", 1000); len(got) != ledgers || !slices.IsSorted(got) {
		t.Errorf("%d ledgers; want %d", len(got), ledgers)
	}
	// Entries of 1,000 events, some 40 KiB each as message and as raw bytes.
	s.NewLedger("entries")
	charge := &pb.Charge{Labels: labels}
	for range 1000 {
		sigma, sensitivity, q := 1.5, 1.0, 0.01
		charge.Events = append(charge.Events,
			&pb.Event{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{
				PoissonSampled: &pb.PoissonSampled{SamplingProbability: &q,
					Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{
						Gaussian: &pb.Gaussian{StandardDeviation: &sigma, Sensitivity: &sensitivity}}}}}}})
	}
	const entries = 70
	w := servertest.Writer()
	for i := range entries {
		s.Report("entries", w, uint64(i+1), charge)
	}
	if got := readLog(t, s.Client, "entries", 1000); len(got) != entries {
		t.Errorf("%d entries; want %d", len(got), entries)
	}
}

func TestListEntriesFrom(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("from")
	w := servertest.Writer()
	for i := uint64(1); i <= 10; i++ {
		s.Report("from", w, i, one)
	}
	list := func(r *pb.ListEntriesRequest) (positions []uint64, next string) {
		t.Helper()
		r.Ledger = "from"
		answer, err := s.Client.ListEntries(servertest.Context(t), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.GetGenesis()) > 0 {
			t.Errorf("genesis without raw, or not at the start")
		}
		for _, e := range answer.GetEntries() {
			positions = append(positions, e.GetPosition())
			if (len(e.GetRaw()) > 0) != r.GetRaw() {
				t.Errorf("raw bytes: %d; asked for %v", len(e.GetRaw()), r.GetRaw())
			}
		}
		return positions, answer.GetNextPageToken()
	}
	if got, next := list(&pb.ListEntriesRequest{StartPosition: 9, Raw: true}); !slices.Equal(got, []uint64{9, 10}) ||
		next != "" {
		t.Errorf("from 9: %v, %q", got, next)
	}
	if got, next := list(&pb.ListEntriesRequest{StartPosition: 11}); len(got) != 0 || next != "" {
		t.Errorf("past the end: %v, %q", got, next)
	}
	if got, next := list(&pb.ListEntriesRequest{StartPosition: ^uint64(0)}); len(got) != 0 || next != "" {
		t.Errorf("far past the end: %v, %q", got, next)
	}
	got, next := list(&pb.ListEntriesRequest{PageSize: 4})
	if !slices.Equal(got, []uint64{1, 2, 3, 4}) || next == "" {
		t.Errorf("page: %v, %q", got, next)
	}
	if got, _ := list(&pb.ListEntriesRequest{PageSize: 4, PageToken: next}); !slices.Equal(got, []uint64{5, 6, 7, 8}) {
		t.Errorf("next page: %v", got)
	}
	_, err := s.Client.ListEntries(servertest.Context(t),
		&pb.ListEntriesRequest{Ledger: "from", PageToken: next, StartPosition: 2})
	wantError(t, err, codes.InvalidArgument, "start_position: 2", "allowed: none with a page_token")
}
