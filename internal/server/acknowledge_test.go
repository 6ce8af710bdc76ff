// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A warning that was acknowledged stays quiet for its ledger alone, and is listed with who
// acknowledged it and why. Every other warning is still given, and no number changes.
func TestAcknowledgedWarnings(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	noise := &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: proto.Float64(2)}}}
	shuffled := &pb.Event{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_Shuffled{Shuffled: &pb.Shuffled{
		BatchSize: proto.Uint64(10), DatasetSize: proto.Uint64(1000), Mechanism: noise}}}}
	for _, name := range []string{"a", "b"} {
		s.NewLedger(name)
		s.Report(name, servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{shuffled}})
	}
	acknowledge := func(warning, reason string) error {
		_, err := s.Client.Acknowledge(ctx, &pb.AcknowledgeRequest{
			Lane:        &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
			Acknowledge: &pb.Acknowledge{Warning: warning, Reason: reason},
		})
		return err
	}
	ask := func(name string) *pb.QueryPrivacyResponse {
		a, err := s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
			Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: name}, Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-3}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	state := func(name string) *pb.Statement {
		a, err := s.Client.GetStatement(ctx, &pb.GetStatementRequest{Name: name, Deltas: []float64{1e-3}})
		if err != nil {
			t.Fatal(err)
		}
		return a.GetStatement()
	}
	before := ask("a")
	named := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.HasSuffix(w, " ["+name+"]") })
	}
	if w := before.GetWarnings(); len(w) != 2 || !named(w, "large-delta") || !named(w, "shuffled") {
		t.Fatalf("%q", w)
	}
	wantError(t, acknowledge("large_delta", "r"), codes.InvalidArgument,
		`acknowledge.warning: "large_delta"; allowed: large-delta, shuffled, `)
	wantError(t, acknowledge("", "r"), codes.InvalidArgument, "acknowledge.warning: missing")
	wantError(t, acknowledge("large-delta", ""), codes.InvalidArgument, "acknowledge.reason: missing")
	if err := acknowledge("large-delta", "agreed in March."); err != nil {
		t.Fatal(err)
	}
	wantError(t, acknowledge("large-delta", "r"), codes.FailedPrecondition, "was acknowledged by unverified:",
		"in entry 2, for this reason: agreed in March.")

	after := ask("a")
	if w := after.GetWarnings(); len(w) != 1 || !named(w, "shuffled") {
		t.Errorf("%q", w)
	}
	if after.GetEpsilon() != before.GetEpsilon() || after.GetGuarantee() != before.GetGuarantee() {
		t.Errorf("%v; before it was acknowledged %v", after, before)
	}
	st := state("a")
	if w := st.GetWarnings(); len(w) != 1 || !named(w, "shuffled") {
		t.Errorf("%q", w)
	}
	if len(st.GetAcknowledgedWarnings()) != 1 {
		t.Fatalf("%q", st.GetAcknowledgedWarnings())
	}
	wantIn(t, st.GetAcknowledgedWarnings()[0], "large-delta: acknowledged by unverified:", "(entry 2)",
		"for this reason: agreed in March. The warning: δ = 0.001 is close to 1/1000. ")
	if l := s.Ledger("a"); len(l.GetAcknowledgements()) != 1 || l.GetAcknowledgements()[0].GetPosition() != 2 ||
		l.GetAcknowledgements()[0].GetReason() != "agreed in March." {
		t.Errorf("%v", l.GetAcknowledgements())
	}
	if w := ask("b").GetWarnings(); len(w) != 2 || len(state("b").GetAcknowledgedWarnings()) != 0 {
		t.Errorf("another ledger: %q", w)
	}
}
