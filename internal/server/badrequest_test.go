// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Every other bad request: the code, the field, the value and what is allowed;
// nothing is written.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("taken")
	s.NewLedger("closed")
	ctx := servertest.Context(t)
	w, used, busy := servertest.Writer(), servertest.Writer(), servertest.Writer()
	good := servertest.Gaussian(1, 1)
	s.Report("taken", used, 1, good)
	s.Stream("taken", busy)
	if _, err := s.Client.CloseLedger(ctx, &pb.CloseLedgerRequest{
		Lane: &pb.Lane{Ledger: "closed", Writer: w, Sequence: 1}, Close: &pb.Close{},
	}); err != nil {
		t.Fatal(err)
	}
	position := s.Position("taken")

	spec := func(change func(*pb.LedgerSpec)) error {
		spec := servertest.Spec("new")
		change(spec)
		_, err := s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec})
		return err
	}
	report := func(name, writer string, sequence uint64, c *pb.Charge) error {
		_, err := s.Client.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: name, Writer: writer, Sequence: sequence},
			Charge: c,
		})
		return err
	}
	query := func(q *pb.QueryPrivacyRequest) error {
		_, err := s.Client.QueryPrivacy(ctx, q)
		return err
	}
	delta := func(v float64) error {
		return query(&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "taken"},
			Given: &pb.QueryPrivacyRequest_Delta{Delta: v}})
	}
	epsilon := func(v float64) error {
		return query(&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "taken"},
			Given: &pb.QueryPrivacyRequest_Epsilon{Epsilon: v}})
	}
	workload := func(w *pb.Workload) error {
		return query(&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Workload{Workload: w},
			Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}})
	}
	curve := func(r *pb.QueryPrivacyCurveRequest) error {
		r.Subject = &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "taken"}
		_, err := s.Client.QueryPrivacyCurve(ctx, r)
		return err
	}
	number := func(v float64) *float64 { return &v }
	calibrate := func(change func(*pb.CalibrateRequest)) error {
		r := &pb.CalibrateRequest{Ledger: "taken", Event: servertest.Gaussian(1, 1).Events[0],
			Solve:         pb.CalibrateRequest_STANDARD_DEVIATION,
			TargetEpsilon: number(9), TargetDelta: number(1e-5)}
		change(r)
		_, err := s.Client.Calibrate(ctx, r)
		return err
	}
	ledgers := func(r *pb.ListLedgersRequest) error {
		_, err := s.Client.ListLedgers(ctx, r)
		return err
	}
	entries := func(r *pb.ListEntriesRequest) error {
		_, err := s.Client.ListEntries(ctx, r)
		return err
	}
	as := func(principals ...string) error {
		md := metadata.MD{server.PrincipalKey: principals}
		_, err := s.Client.GetLedger(metadata.NewOutgoingContext(ctx, md), &pb.GetLedgerRequest{Name: "taken"})
		return err
	}
	const segments = "allowed: segments [a-z0-9][a-z0-9._-]{0,62}"
	const uuid = "allowed: a random UUID"
	const unit = "allowed: a number in [0, 1)"
	newer := &pb.GetLedgerRequest{Name: "taken"}
	newer.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 1))
	invalid := codes.InvalidArgument
	for _, c := range []struct {
		name  string
		err   error
		code  codes.Code
		wants []string
	}{
		{"no spec", func() error { _, err := s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{}); return err }(),
			invalid,
			[]string{"spec.adjacency: missing", "allowed: ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT"}},
		{"no adjacency", spec(func(s *pb.LedgerSpec) { s.Adjacency = 0 }), invalid,
			[]string{"spec.adjacency: missing", "allowed: ADD_OR_REMOVE_ONE"}},
		{"adjacency 9", spec(func(s *pb.LedgerSpec) { s.Adjacency = 9 }), invalid,
			[]string{"spec.adjacency: 9", "allowed: ADD_OR_REMOVE_ONE"}},
		{"no name", spec(func(s *pb.LedgerSpec) { s.Name = "" }), invalid, []string{"spec.name: missing", segments}},
		{"capital", spec(func(s *pb.LedgerSpec) { s.Name = "New" }), invalid, []string{`spec.name: "New"`, segments}},
		{"empty segment", spec(func(s *pb.LedgerSpec) { s.Name = "a//b" }), invalid,
			[]string{`spec.name: "a//b"`, segments}},
		{"leading dot", spec(func(s *pb.LedgerSpec) { s.Name = "a/.b" }), invalid,
			[]string{`spec.name: "a/.b"`, segments}},
		{"newline", spec(func(s *pb.LedgerSpec) { s.Name = "a\nb" }), invalid, []string{`spec.name: "a\nb"`, segments}},
		{"long segment", spec(func(s *pb.LedgerSpec) { s.Name = strings.Repeat("a", 64) }), invalid,
			[]string{"spec.name: ", segments}},
		{"long name", spec(func(s *pb.LedgerSpec) { s.Name = strings.Repeat("a/", 127) + "aa" }), invalid,
			[]string{"spec.name: ", "256 bytes", "at most 255 bytes"}},
		{"long unit", spec(func(s *pb.LedgerSpec) { s.PrivacyUnit = strings.Repeat("u", 65) }), invalid,
			[]string{"spec.privacy_unit: ", "65 bytes", "allowed: at most 64 bytes"}},
		{"long dataset", spec(func(s *pb.LedgerSpec) { s.DatasetId = strings.Repeat("d", 257) }), invalid,
			[]string{"spec.dataset_id: ", "allowed: at most 256 bytes"}},
		{"long version", spec(func(s *pb.LedgerSpec) { s.DatasetVersion = strings.Repeat("d", 257) }), invalid,
			[]string{"spec.dataset_version: ", "allowed: at most 256 bytes"}},
		{"long owner", spec(func(s *pb.LedgerSpec) { s.Owner = strings.Repeat("o", 257) }), invalid,
			[]string{"spec.owner: ", "allowed: at most 256 bytes"}},
		{"label", spec(func(s *pb.LedgerSpec) { s.Labels = map[string]string{"": "x"} }), invalid,
			[]string{`spec.labels: key ""`, "allowed: keys"}},
		{"policy 9", spec(func(s *pb.LedgerSpec) { s.Policy = 9 }), invalid,
			[]string{"spec.policy: 9", "allowed: PLAN, FILTER or DESCRIPTIVE"}},
		{"large spec", spec(func(s *pb.LedgerSpec) { s.Owner = strings.Repeat("o", 600<<10) }), invalid,
			[]string{"request: 6", "allowed: at most 524288 bytes"}},
		{"name taken", spec(func(s *pb.LedgerSpec) { s.Name, s.Owner = "taken", "somebody" }), codes.AlreadyExists,
			[]string{"taken", "different spec", `owner: "somebody"; allowed: `}},

		{"get: name", func() error { _, err := s.Client.GetLedger(ctx, &pb.GetLedgerRequest{Name: "-"}); return err }(),
			invalid, []string{`name: "-"`, segments}},
		{"get: unknown ledger",
			func() error { _, err := s.Client.GetLedger(ctx, &pb.GetLedgerRequest{Name: "nowhere"}); return err }(),
			codes.NotFound, []string{"nowhere"}},
		{"get: newer field", func() error { _, err := s.Client.GetLedger(ctx, newer); return err }(), invalid,
			[]string{"request: unknown field 77", "allowed: the fields of accountant.v1.GetLedgerRequest"}},

		{"report: ledger", report("A", w, 1, good), invalid, []string{`ledger: "A"`, segments}},
		{"report: unknown ledger", report("nowhere", w, 1, good), codes.NotFound, []string{"nowhere"}},
		{"report: no writer", report("taken", "", 1, good), invalid, []string{"writer: missing", uuid}},
		{"report: writer", report("taken", "trainer-1", 1, good), invalid, []string{`writer: "trainer-1"`, uuid}},
		{"report: capital UUID", report("taken", strings.ToUpper(w), 1, good), invalid, []string{"writer: ", uuid}},
		{"report: request key", report("taken", "request/a b", 1, good), invalid,
			[]string{`writer: "request/a b"`, uuid}},
		{"report: long request key", report("taken", "request/"+strings.Repeat("k", 129), 1, good), invalid,
			[]string{"writer: ", "137 bytes", uuid}},
		{"report: request key, 2", report("taken", "request/key", 2, good), invalid,
			[]string{"sequence: 2", "allowed: 1 with"}},
		{"report: no sequence", report("taken", w, 0, good), invalid,
			[]string{"sequence: missing or 0", "allowed: a whole number ≥ 1"}},
		{"report: gap", report("taken", w, 3, good), codes.FailedPrecondition, []string{"sequence: 3", "allowed: 1"}},
		{"report: reused", report("taken", used, 1, servertest.Gaussian(2, 1)), codes.AlreadyExists,
			[]string{"sequence: 1", "allowed: the first content again, or the next number"}},
		{"report: closed", report("closed", servertest.Writer(), 1, good), codes.FailedPrecondition,
			[]string{"ledger: closed", "allowed: an open ledger"}},
		{"report: busy", report("taken", busy, 1, good), codes.Aborted, []string{busy, "taken"}},

		{"close: name", func() error {
			_, err := s.Client.CloseLedger(ctx, &pb.CloseLedgerRequest{
				Lane: &pb.Lane{Ledger: "", Writer: w, Sequence: 1}, Close: &pb.Close{},
			})
			return err
		}(), invalid, []string{"ledger: missing", segments}},
		{"close: nothing", func() error {
			_, err := s.Client.CloseLedger(ctx, &pb.CloseLedgerRequest{
				Lane: &pb.Lane{Ledger: "taken", Writer: w, Sequence: 1},
			})
			return err
		}(), invalid, []string{"close: missing"}},
		{"close: reason", func() error {
			_, err := s.Client.CloseLedger(ctx,
				&pb.CloseLedgerRequest{
					Lane:  &pb.Lane{Ledger: "taken", Writer: w, Sequence: 1},
					Close: &pb.Close{Reason: strings.Repeat("r", 1025)},
				})
			return err
		}(), invalid, []string{"close.reason: ", "1025 bytes", "allowed: at most 1024 bytes"}},
		{"close: unknown ledger", func() error {
			_, err := s.Client.CloseLedger(ctx, &pb.CloseLedgerRequest{
				Lane: &pb.Lane{Ledger: "nowhere", Writer: w, Sequence: 1}, Close: &pb.Close{},
			})
			return err
		}(), codes.NotFound, []string{"nowhere"}},

		{"writer: unknown ledger", func() error {
			_, err := s.Client.GetWriter(ctx, &pb.GetWriterRequest{Ledger: "nowhere", Writer: w})
			return err
		}(), codes.NotFound, []string{"nowhere"}},
		{"writer: name", func() error {
			_, err := s.Client.GetWriter(ctx, &pb.GetWriterRequest{Ledger: "taken", Writer: "x"})
			return err
		}(), invalid, []string{`writer: "x"`, uuid}},

		{"query: nothing", query(&pb.QueryPrivacyRequest{}), invalid,
			[]string{"ledger: missing", "allowed: exactly one of ledger, workload"}},
		{"query: δ or ε", query(&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Workload{
			Workload: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}}}),
			invalid, []string{"delta: missing", "allowed: exactly one of delta, epsilon"}},
		{"query: unknown ledger",
			query(&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "nowhere"},
				Given: &pb.QueryPrivacyRequest_Delta{Delta: 0.5}}), codes.NotFound, []string{"nowhere"}},
		{"δ = 1", delta(1), invalid, []string{"delta: 1", unit}},
		{"δ < 0", delta(-1e-5), invalid, []string{"delta: -1e-05", unit}},
		{"δ NaN", delta(math.NaN()), invalid, []string{"delta: NaN", unit}},
		{"δ ∞", delta(math.Inf(1)), invalid, []string{"delta: +Inf", unit}},
		{"ε < 0", epsilon(-1), invalid, []string{"epsilon: -1", "allowed: a finite number ≥ 0"}},
		{"ε NaN", epsilon(math.NaN()), invalid, []string{"epsilon: NaN", "allowed: a finite number ≥ 0"}},
		{"ε ∞", epsilon(math.Inf(1)), invalid, []string{"epsilon: +Inf", "allowed: a finite number ≥ 0"}},
		{"workload without adjacency", workload(&pb.Workload{}), invalid,
			[]string{"workload.adjacency: missing", "allowed: ADD_OR_REMOVE_ONE"}},
		{"workload's event", workload(&pb.Workload{Adjacency: pb.Workload_ZERO_OUT, Events: []*pb.Event{{}}}), invalid,
			[]string{"workload.events[0].mechanism: missing", "allowed: one of"}},
		{"workload's name", workload(&pb.Workload{Adjacency: pb.Workload_ZERO_OUT, Name: strings.Repeat("n", 257)}),
			invalid, []string{"workload.name: ", "allowed: at most 256 bytes"}},

		{"max_gap", query(&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "taken"},
			Given: &pb.QueryPrivacyRequest_Delta{Delta: 0.5}, MaxGap: number(0)}), invalid,
			[]string{"max_gap: 0", "allowed: a finite number > 0"}},
		{"curve: unknown ledger", func() error {
			_, err := s.Client.QueryPrivacyCurve(ctx,
				&pb.QueryPrivacyCurveRequest{Subject: &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "nowhere"}})
			return err
		}(), codes.NotFound, []string{"nowhere"}},
		{"curve: nothing", func() error {
			_, err := s.Client.QueryPrivacyCurve(ctx, &pb.QueryPrivacyCurveRequest{})
			return err
		}(), invalid, []string{"ledger: missing", "allowed: exactly one of ledger, workload"}},
		{"curve: ε", curve(&pb.QueryPrivacyCurveRequest{Epsilons: []float64{0, math.Inf(-1)}}), invalid,
			[]string{"epsilons[1]: -Inf", "allowed: a finite number"}},
		{"curve: range", curve(&pb.QueryPrivacyCurveRequest{EpsilonMin: number(2), EpsilonMax: number(2)}), invalid,
			[]string{"epsilon_max: 2", "allowed: a finite number > epsilon_min = 2"}},
		{"curve: points", curve(&pb.QueryPrivacyCurveRequest{Points: 1001}), invalid,
			[]string{"points: 1001", "allowed: a whole number from 2 to 1000"}},
		{"curve: α", curve(&pb.QueryPrivacyCurveRequest{Alphas: []float64{1.5}}), invalid,
			[]string{"alphas[0]: 1.5", "allowed: a number in [0, 1]"}},
		{"curve: max_gap", curve(&pb.QueryPrivacyCurveRequest{MaxGap: number(math.NaN())}), invalid,
			[]string{"max_gap: NaN", "allowed: a finite number > 0"}},
		{"calibrate: unknown ledger", calibrate(func(r *pb.CalibrateRequest) { r.Ledger = "nowhere" }),
			codes.NotFound, []string{"nowhere"}},
		{"calibrate: no base", calibrate(func(r *pb.CalibrateRequest) { r.Ledger = "" }), invalid,
			[]string{"ledger: missing", "allowed: a ledger, a workload"}},
		{"calibrate: another adjacency",
			calibrate(func(r *pb.CalibrateRequest) { r.Workload = &pb.Workload{Adjacency: pb.Workload_ZERO_OUT} }),
			invalid, []string{"workload.adjacency: ZERO_OUT", "allowed: the ledger's, ADD_OR_REMOVE_ONE"}},
		{"calibrate: solve", calibrate(func(r *pb.CalibrateRequest) { r.Solve = 0 }), invalid,
			[]string{"solve: missing", "allowed: STANDARD_DEVIATION, COUNT or SAMPLING_PROBABILITY"}},
		{"calibrate: not sampled",
			calibrate(func(r *pb.CalibrateRequest) { r.Solve = pb.CalibrateRequest_SAMPLING_PROBABILITY }), invalid,
			[]string{"solve: SAMPLING_PROBABILITY", "allowed: STANDARD_DEVIATION or COUNT for a gaussian"}},
		{"calibrate: event", calibrate(func(r *pb.CalibrateRequest) { r.Event.Count = 0 }), invalid,
			[]string{"event.count: missing or 0", "allowed: a whole number"}},
		{"calibrate: target ε", calibrate(func(r *pb.CalibrateRequest) { *r.TargetEpsilon = -1 }), invalid,
			[]string{"target_epsilon: -1", "allowed: a finite number ≥ 0"}},
		{"calibrate: target δ", calibrate(func(r *pb.CalibrateRequest) { r.TargetDelta = nil }), invalid,
			[]string{"target_delta: missing", unit}},
		{"calibrate: spent", calibrate(func(r *pb.CalibrateRequest) { *r.TargetEpsilon = 4 }), invalid,
			[]string{"target_epsilon: 4", "allowed: at least 4.377178", "what stays fixed costs that"}},

		{"list: prefix", ledgers(&pb.ListLedgersRequest{Prefix: "A"}), invalid, []string{`prefix: "A"`, "allowed:"}},
		{"list: page size", ledgers(&pb.ListLedgersRequest{PageSize: 1001}), invalid,
			[]string{"page_size: 1001", "1000"}},
		{"list: token", ledgers(&pb.ListLedgersRequest{PageToken: "no token"}), invalid,
			[]string{`page_token: "no token"`, "allowed: the next_page_token"}},
		{"entries: ledger", entries(&pb.ListEntriesRequest{}), invalid, []string{"ledger: missing", segments}},
		{"entries: unknown ledger", entries(&pb.ListEntriesRequest{Ledger: "nowhere"}),
			codes.NotFound, []string{"nowhere"}},
		{"entries: unknown ledger, raw", entries(&pb.ListEntriesRequest{Ledger: "nowhere", Raw: true}),
			codes.NotFound, []string{"nowhere"}},
		{"entries: page size", entries(&pb.ListEntriesRequest{Ledger: "taken", PageSize: 1001}), invalid,
			[]string{"page_size: 1001", "1000"}},
		{"entries: token", entries(&pb.ListEntriesRequest{Ledger: "taken", PageToken: "AAAA"}), invalid,
			[]string{`page_token: "AAAA"`, "allowed: the next_page_token"}},

		{"principal", as("a b"), invalid,
			[]string{`accountant-principal: "a b"`, "allowed: 1 to 128 bytes of [A-Za-z0-9._@-]"}},
		{"empty principal", as(""), invalid, []string{`accountant-principal: ""`, "allowed: 1 to 128 bytes"}},
		{"long principal", as(strings.Repeat("p", 129)), invalid,
			[]string{"accountant-principal", "allowed: 1 to 128 bytes"}},
		{"two principals", as("a", "b"), invalid, []string{"accountant-principal: given 2 times", "once"}},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.err, c.code, c.wants...) })
	}
	if got := s.Position("taken"); got != position {
		t.Errorf("position %d after refusals; want %d", got, position)
	}
	list, err := s.Client.ListLedgers(ctx, &pb.ListLedgersRequest{})
	if err != nil || len(list.GetLedgers()) != 2 {
		t.Errorf("ledgers %v, %v; want taken and closed alone", list.GetLedgers(), err)
	}
	s.Report("taken", w, 1, good) // the same connection goes on
}

// What is wrong with the open message ends the stream; the connection goes on.
func TestBadOpen(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("open")
	w := servertest.Writer()
	open := func(ledger, writer string) *pb.ReportStreamRequest {
		return &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
			Open: &pb.ReportStreamRequest_Open{Ledger: ledger, Writer: writer}}}
	}
	charge := &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
		Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: 1, Charge: servertest.Gaussian(1, 1)}}}
	newer := open("open", w)
	newer.GetOpen().ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType),
		1))
	for _, c := range []struct {
		name     string
		messages []*pb.ReportStreamRequest
		code     codes.Code
		wants    []string
	}{
		{"nothing", nil, codes.InvalidArgument, []string{"open: missing", "allowed: open as the first message"}},
		{"unset", []*pb.ReportStreamRequest{{}}, codes.InvalidArgument,
			[]string{"message: missing", "allowed: open as the first message"}},
		{"charge", []*pb.ReportStreamRequest{charge}, codes.InvalidArgument,
			[]string{"message: charge", "allowed: open as the first message"}},
		{"ledger", []*pb.ReportStreamRequest{open("", w)}, codes.InvalidArgument,
			[]string{"open.ledger: missing", "allowed: segments"}},
		{"unknown ledger", []*pb.ReportStreamRequest{open("nowhere", w)}, codes.NotFound, []string{"nowhere"}},
		{"writer", []*pb.ReportStreamRequest{open("open", "x")}, codes.InvalidArgument,
			[]string{`writer: "x"`, "allowed: a random UUID"}},
		{"request key", []*pb.ReportStreamRequest{open("open", "request/x")}, codes.InvalidArgument,
			[]string{`open.writer: "request/x"`, "allowed: a random UUID"}},
		{"newer field", []*pb.ReportStreamRequest{newer}, codes.InvalidArgument,
			[]string{"open: unknown field 5", "allowed: the fields of"}},
		{"opened twice", []*pb.ReportStreamRequest{open("open", w), open("open", w)}, codes.InvalidArgument,
			[]string{"message: open", "allowed: charge"}},
		{"then unset", []*pb.ReportStreamRequest{open("open", w), {}}, codes.InvalidArgument,
			[]string{"message: missing", "allowed: charge"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream, err := s.Client.ReportStream(servertest.Context(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range c.messages {
				if err := stream.Send(m); err != nil {
					t.Fatal(err)
				}
			}
			if len(c.messages) == 0 {
				if err := stream.CloseSend(); err != nil {
					t.Fatal(err)
				}
			}
			for err == nil {
				_, err = stream.Recv()
			}
			wantError(t, err, c.code, c.wants...)
		})
	}
	if got := s.Position("open"); got != 0 {
		t.Errorf("position %d; want 0", got)
	}
	s.Stream("open", w).Charge(1, servertest.Gaussian(1, 1))
}
