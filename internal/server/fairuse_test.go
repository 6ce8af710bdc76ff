// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Who calls too much is told when to come back, and the client does; a stream is slowed down and loses
// nothing; health and the daemon's owner are not limited.
func TestFairUse(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: socket,
		Rules: access.Rules{FairCalls: 20}}})
	s.NewLedger("fair")
	// All at once: one after the other, on a slow machine, would be fewer than 20 a second.
	errs := make(chan error, 400)
	for range cap(errs) {
		go func() {
			_, err := s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "fair"})
			errs <- err
		}()
	}
	var refused error
	for range cap(errs) {
		refused = cmp.Or(<-errs, refused)
	}
	wantError(t, refused, codes.ResourceExhausted, "fair use: you make more than 20 calls", "come back in")
	if d := status.Convert(refused).Details(); len(d) != 1 ||
		d[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration() <= 0 {
		t.Errorf("details %v; want a time to come back", d)
	}
	c, err := client.New(client.Config{Server: s.Addr})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for range 100 {
		if _, err := s.Owner(t).GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "fair"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Health(servertest.Context(t)); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	for n := range 30 {
		if _, err := c.Report(servertest.Context(t), "fair", servertest.Gaussian(2, 1).GetEvents(),
			map[string]string{"n": fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := c.Stream(servertest.Context(t), "fair")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		if err := stream.Report(servertest.Context(t), servertest.Gaussian(2, 1).GetEvents(),
			map[string]string{"n": fmt.Sprint(30 + n)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Close(servertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("130 writes took %v at 20 a second", took)
	}
	answer, err := s.Owner(t).ListEntries(servertest.Context(t), &pb.ListEntriesRequest{Ledger: "fair", PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for n, e := range answer.GetEntries() {
		if e.GetCharge().GetLabels()["n"] != fmt.Sprint(n) {
			t.Fatalf("entry %d is charge %s", n, e.GetCharge().GetLabels()["n"])
		}
	}
	if n := len(answer.GetEntries()); n != 130 {
		t.Errorf("%d entries; want 130", n)
	}
}

// A call that the access policy does not allow, or that is wrong, counts as well: otherwise whoever may do
// nothing could call without end.
func TestFairUseCountsWhatIsRefused(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("version: 1\ngrants: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, config := range map[string]server.Config{"a call that is not allowed": {AccessPolicy: policy},
		"a wrong request": {}} {
		config.Rules.FairCalls = 5
		s := servertest.StartWith(t, servertest.Config{Server: config})
		var err error
		for range 1000 {
			_, err = s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "?"})
			if status.Code(err) == codes.ResourceExhausted {
				break
			}
		}
		wantError(t, err, codes.ResourceExhausted, "fair use: you make more than 5 calls")
		if t.Failed() {
			t.Fatal(what)
		}
	}
}

// Questions of somebody who had much computed wait; those that were answered before do not, and charges
// neither.
func TestFairComputing(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{
		Rules: access.Rules{FairComputing: time.Second}}})
	s.NewLedger("fair")
	writer := servertest.Writer()
	var refused error
	for n := range 2000 {
		s.Report("fair", writer, uint64(n+1), servertest.Gaussian(2+float64(n)/100, 1))
		if _, refused = s.Client.QueryPrivacy(servertest.Context(t), &pb.QueryPrivacyRequest{
			Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "fair"},
			Given:   &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}}); refused != nil {
			break
		}
	}
	wantError(t, refused, codes.ResourceExhausted, "fair use: your questions took more than 1s of computing a minute")
	s.Report("fair", servertest.Writer(), 1, servertest.Gaussian(1, 1))
}
