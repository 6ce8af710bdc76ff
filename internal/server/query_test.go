// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func logTo(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// A ledger's answer is the accountant's for what is committed, and says of what.
func TestQueryLedger(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("query")
	ctx := servertest.Context(t)
	byDelta := &pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "query"},
		Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}}
	byEpsilon := &pb.QueryPrivacyRequest{Subject: byDelta.Subject, Given: &pb.QueryPrivacyRequest_Epsilon{Epsilon: 1}}
	empty, err := s.Client.QueryPrivacy(ctx, byDelta)
	if err != nil || empty.Epsilon == nil || *empty.Epsilon != 0 || empty.Position == nil || *empty.Position != 0 {
		t.Errorf("empty ledger: %v, %v; want ε = 0 at position 0", empty, err)
	}
	w := servertest.Writer()
	s.Report("query", w, 1, servertest.Gaussian(20, 3))
	s.Report("query", w, 2, servertest.Gaussian(20, 4))

	c, err := mechanism.Compose(mechanism.AddOrRemoveOne,
		[]mechanism.Event{{Mechanism: mechanism.Gaussian{NoiseMultiplier: 20}, Count: 7}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := accountant.Ask(c, accountant.AtDelta(1e-5))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Client.QueryPrivacy(ctx, byDelta)
	if err != nil {
		t.Fatal(err)
	}
	if got.GetEpsilon() != want.Epsilon || got.GetDelta() != 1e-5 || got.GetAnalysis() != string(want.Analysis) ||
		got.GetGuarantee() != "descriptive" || got.Running == nil || got.GetRunning() != want.Epsilon ||
		got.GetPosition() != 2 {
		t.Errorf("by δ: %v; want %+v", got, want)
	}
	if len(got.GetAnalyses()) != len(want.Analyses) {
		t.Errorf("%d analyses; want %d", len(got.GetAnalyses()), len(want.Analyses))
	}
	want, err = accountant.Ask(c, accountant.AtEpsilon(1))
	if err != nil {
		t.Fatal(err)
	}
	got, err = s.Client.QueryPrivacy(ctx, byEpsilon)
	if err != nil {
		t.Fatal(err)
	}
	if got.GetDelta() != want.Delta || got.GetLogDelta() != want.LogDelta || got.GetEpsilon() != 1 ||
		got.GetRunning() != want.Delta || got.GetPosition() != 2 {
		t.Errorf("by ε: %v; want %+v", got, want)
	}

	// The same as a workload: the same answer, of no position.
	workload, err := s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Workload{Workload: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE,
			Events: servertest.Gaussian(20, 7).Events}},
		Given: byEpsilon.Given})
	if err != nil || workload.Position != nil || workload.GetDelta() != got.GetDelta() {
		t.Errorf("workload: %v, %v; want δ = %g without a position", workload, err, got.GetDelta())
	}
	nothing, err := s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Workload{Workload: &pb.Workload{Adjacency: pb.Workload_REPLACE_ONE}},
		Given:   byEpsilon.Given})
	if err != nil || nothing.Delta == nil || *nothing.Delta != 0 || !math.IsInf(nothing.GetLogDelta(), -1) {
		t.Errorf("no events: %v, %v; want δ = 0", nothing, err)
	}
}

// One record a call, with who called and what went wrong.
func TestCallLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := servertest.StartWith(t,
		servertest.Config{Store: memory.New(memory.Config{}), Server: server.Config{Logger: logTo(&log)}})
	s.NewLedger("logged")
	var trailer, chosen metadata.MD
	if _, err := s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "nowhere"},
		grpc.Trailer(&trailer)); err == nil {
		t.Fatal("found")
	}
	as := metadata.AppendToOutgoingContext(servertest.Context(t), server.RequestIDKey, "job-7.step-3")
	if _, err := s.Client.GetLedger(as, &pb.GetLedgerRequest{Name: "nowhere"}, grpc.Trailer(&chosen)); err == nil {
		t.Fatal("found")
	}
	stream, err := s.Client.ReportStream(metadata.AppendToOutgoingContext(servertest.Context(t),
		server.RequestIDKey, "a b"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantError(t, err, codes.InvalidArgument, `metadata x-request-id: "a b"`)
	s.Stop()
	text := log.String()
	id := trailer.Get(server.RequestIDKey)
	if len(id) != 1 || id[0] == "" || strings.Count(text, "request_id="+id[0]+" ") != 1 {
		t.Errorf("trailer %v: of one record?\n%s", trailer, text)
	}
	if got := chosen.Get(server.RequestIDKey); len(got) != 1 || got[0] != "job-7.step-3" ||
		!strings.Contains(text, "request_id=job-7.step-3 ") {
		t.Errorf("trailer %v; want the id that the client chose, and in the log\n%s", chosen, text)
	}
	for _, want := range []string{
		"level=DEBUG msg=\"finished call\" grpc.service=accountant.v1.Ledgers grpc.method=CreateLedger",
		"level=INFO msg=\"finished call\" grpc.service=accountant.v1.Ledgers grpc.method=GetLedger",
		"grpc.code=NotFound", "nowhere", "principal=unverified:anonymous",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("log has no %q:\n%s", want, text)
		}
	}
}

// A question that is too hard for its deadline gets a sound answer, with its gap where an
// analysis has come far enough to prove a lower bound. A machine that is too busy for
// 50 ms is given more; TestInTime is about the time.
func TestQueryInTime(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("hard")
	ctx := servertest.Context(t)
	q, z := 1e-3, 0.8
	s.Report("hard", servertest.Writer(), 1,
		&pb.Charge{Events: []*pb.Event{{Count: 5, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{
			PoissonSampled: &pb.PoissonSampled{SamplingProbability: &q,
				Mechanism: &pb.Mechanism{
					Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &z}}}}}}}}})
	gap := 1e-13 // below what anything reaches
	ask := func(limit time.Duration) (*pb.QueryPrivacyResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
			Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "hard"},
			Given:   &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}, MaxGap: &gap})
	}
	for limit := 50 * time.Millisecond; ; limit *= 2 {
		a, err := ask(limit)
		early := status.Code(err) == codes.DeadlineExceeded || status.Code(err) == codes.Unavailable ||
			err == nil && a.EpsilonLower == nil
		if early && limit < 20*time.Second {
			continue
		}
		if err != nil || a.EpsilonLower == nil || !(a.GetEpsilonLower() <= a.GetEpsilon()) || !(a.GetEpsilon() < 1e6) ||
			len(a.GetAnalyses()) != 5 {
			t.Fatalf("within %v: %v, %v; want ε with both bounds", limit, a, err)
		}
		t.Logf("within %v: ε in [%g, %g] by %s", limit, a.GetEpsilonLower(), a.GetEpsilon(), a.GetAnalysis())
		return
	}
}
