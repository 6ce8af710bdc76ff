// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/wire"
)

// badCharge is a charge that must be refused with INVALID_ARGUMENT and a message
// that has all of wants: the field, the value, what is allowed.
type badCharge struct {
	name   string
	charge *pb.Charge
	wants  []string
}

const (
	positive = "allowed: a finite number > 0"
	rate     = "allowed: a number in (0, 1]"
	chance   = "allowed: a number in (0, 1)"
	path     = "charge.events[0].mechanism."
)

// parameters are all real parameters of all mechanisms, each in an otherwise
// good descriptor.
func parameters() []struct {
	field, allowed string
	with           func(float64) *pb.Mechanism
} {
	one := 1.0
	gaussian := func(g *pb.Gaussian) *pb.Mechanism { return &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: g}} }
	laplace := func(l *pb.Laplace) *pb.Mechanism { return &pb.Mechanism{Kind: &pb.Mechanism_Laplace{Laplace: l}} }
	response := func(r *pb.RandomizedResponse) *pb.Mechanism {
		return &pb.Mechanism{Kind: &pb.Mechanism_RandomizedResponse{RandomizedResponse: r}}
	}
	sampled := func(q, z float64) *pb.Mechanism {
		return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{
			SamplingProbability: &q, Mechanism: gaussian(&pb.Gaussian{NoiseMultiplier: &z})}}}
	}
	approximate := func(e, d float64) *pb.Mechanism {
		return &pb.Mechanism{Kind: &pb.Mechanism_ApproximateDp{ApproximateDp: &pb.ApproximateDp{Epsilon: &e,
			Delta: &d}}}
	}
	buckets := uint64(3)
	return []struct {
		field, allowed string
		with           func(float64) *pb.Mechanism
	}{
		{"gaussian.noise_multiplier", positive,
			func(v float64) *pb.Mechanism { return gaussian(&pb.Gaussian{NoiseMultiplier: &v}) }},
		{"gaussian.standard_deviation", positive, func(v float64) *pb.Mechanism {
			return gaussian(&pb.Gaussian{StandardDeviation: &v, Sensitivity: &one})
		}},
		{"gaussian.sensitivity", positive, func(v float64) *pb.Mechanism {
			return gaussian(&pb.Gaussian{StandardDeviation: &one, Sensitivity: &v})
		}},
		{"gaussian.distance", positive, func(v float64) *pb.Mechanism {
			return gaussian(&pb.Gaussian{StandardDeviation: &one, Distance: &v})
		}},
		{"laplace.scale", positive,
			func(v float64) *pb.Mechanism { return laplace(&pb.Laplace{Scale: &v, Sensitivity: &one}) }},
		{"laplace.sensitivity", positive,
			func(v float64) *pb.Mechanism { return laplace(&pb.Laplace{Scale: &one, Sensitivity: &v}) }},
		{"laplace.distance", positive,
			func(v float64) *pb.Mechanism { return laplace(&pb.Laplace{Scale: &one, Distance: &v}) }},
		{"poisson_sampled.sampling_probability", rate, func(v float64) *pb.Mechanism { return sampled(v, 1) }},
		{"poisson_sampled.mechanism.gaussian.noise_multiplier", positive,
			func(v float64) *pb.Mechanism { return sampled(0.5, v) }},
		{"randomized_response.epsilon", positive,
			func(v float64) *pb.Mechanism { return response(&pb.RandomizedResponse{Epsilon: &v}) }},
		{"randomized_response.noise", chance, func(v float64) *pb.Mechanism {
			return response(&pb.RandomizedResponse{Noise: &v, Buckets: &buckets})
		}},
		{"pure_dp.epsilon", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: &v}}}
		}},
		{"approximate_dp.epsilon", positive, func(v float64) *pb.Mechanism { return approximate(v, 1e-6) }},
		{"approximate_dp.delta", chance, func(v float64) *pb.Mechanism { return approximate(1, v) }},
		{"zero_concentrated_dp.rho", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_ZeroConcentratedDp{
				ZeroConcentratedDp: &pb.ZeroConcentratedDp{Rho: &v}}}
		}},
		{"discrete_gaussian.standard_deviation", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_DiscreteGaussian{
				DiscreteGaussian: &pb.DiscreteGaussian{StandardDeviation: &v, Sensitivity: &one}}}
		}},
		{"discrete_laplace.scale", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_DiscreteLaplace{DiscreteLaplace: &pb.DiscreteLaplace{Scale: &v,
				Sensitivity: &one}}}
		}},
		{"truncated_laplace.scale", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_TruncatedLaplace{TruncatedLaplace: &pb.TruncatedLaplace{Scale: &v,
				Bound: &one, Sensitivity: &one}}}
		}},
		{"exponential.epsilon", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_Exponential{Exponential: &pb.Exponential{Epsilon: &v}}}
		}},
		{"report_noisy_max.epsilon", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_ReportNoisyMax{
				ReportNoisyMax: &pb.ReportNoisyMax{Distribution: pb.ReportNoisyMax_GUMBEL, Epsilon: &v}}}
		}},
		{"above_threshold.query_epsilon", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_AboveThreshold{
				AboveThreshold: &pb.AboveThreshold{ThresholdEpsilon: &one, QueryEpsilon: &v}}}
		}},
		{"inverse_sensitivity.epsilon", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_InverseSensitivity{
				InverseSensitivity: &pb.InverseSensitivity{Epsilon: &v}}}
		}},
		{"histogram.laplace_scale", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_Histogram{Histogram: &pb.Histogram{LaplaceScale: &v}}}
		}},
		{"counting_queries.rho", positive, func(v float64) *pb.Mechanism {
			queries := uint64(3)
			return &pb.Mechanism{Kind: &pb.Mechanism_CountingQueries{
				CountingQueries: &pb.CountingQueries{Queries: &queries, Rho: &v}}}
		}},
		{"gaussian_dp.mu", positive, func(v float64) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_GaussianDp{GaussianDp: &pb.GaussianDp{Mu: &v}}}
		}},
	}
}

func event(m *pb.Mechanism, count uint32) *pb.Charge {
	return &pb.Charge{Events: []*pb.Event{{Mechanism: m, Count: count}}}
}

func badCharges() []badCharge {
	var cases []badCharge
	for _, p := range parameters() {
		values := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, math.SmallestNonzeroFloat64}
		if p.allowed != positive {
			values = append(values, 1.5)
		}
		if p.allowed == chance {
			values = append(values, 1)
		}
		for _, v := range values {
			cases = append(cases, badCharge{fmt.Sprintf("%s=%v", p.field, v), event(p.with(v), 1),
				[]string{path + p.field + ": " + fmt.Sprint(v), p.allowed}})
		}
	}
	one, half, batch, dataset, big, tiny := 1.0, 0.5, uint64(11), uint64(10), uint64(1)<<53+1, uint64(1)
	gaussian := &pb.Gaussian{NoiseMultiplier: &one}
	sampled := func(p *pb.PoissonSampled) *pb.Charge {
		return event(&pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: p}}, 1)
	}
	inner := &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: gaussian}}
	response := func(r *pb.RandomizedResponse) *pb.Charge {
		return event(&pb.Mechanism{Kind: &pb.Mechanism_RandomizedResponse{RandomizedResponse: r}}, 1)
	}
	labelled := func(key, value string) *pb.Charge {
		c := servertest.Gaussian(1, 1)
		c.Labels = map[string]string{key: value}
		return c
	}
	many := &pb.Charge{}
	for range 1001 {
		many.Events = append(many.Events, &pb.Event{Mechanism: inner, Count: 1})
	}
	labels := servertest.Gaussian(1, 1)
	labels.Labels = map[string]string{}
	for i := range 17 {
		labels.Labels[fmt.Sprint("key", i)] = ""
	}
	newer := servertest.Gaussian(1, 1)
	newer.Events[0].Mechanism.GetGaussian().ProtoReflect().SetUnknown(
		protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	return append(cases,
		badCharge{"no charge", nil, []string{"charge.events: missing", "allowed: 1 to 1,000 events"}},
		badCharge{"no events", &pb.Charge{}, []string{"charge.events: missing", "allowed: 1 to 1,000 events"}},
		badCharge{"too many events", many, []string{"charge.events: 1001 events", "allowed: 1 to 1,000 events"}},
		badCharge{"no mechanism", event(nil, 1),
			[]string{"charge.events[0].mechanism: missing", "allowed: one of the mechanisms"}},
		badCharge{"mechanism not set", event(&pb.Mechanism{}, 1),
			[]string{"charge.events[0].mechanism: missing", "allowed: one of the mechanisms"}},
		badCharge{"count 0", servertest.Gaussian(1, 0),
			[]string{"charge.events[0].count: missing or 0", "allowed: a whole number from 1 to 4294967295"}},
		badCharge{"no sensitivity",
			event(&pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{StandardDeviation: &one}}}, 1),
			[]string{path + "gaussian.sensitivity: missing", "allowed: exactly one of sensitivity, distance"}},
		badCharge{"laplace without sensitivity",
			event(&pb.Mechanism{Kind: &pb.Mechanism_Laplace{Laplace: &pb.Laplace{Scale: &one}}}, 1),
			[]string{path + "laplace.sensitivity: missing", "allowed: exactly one of sensitivity, distance"}},
		badCharge{"no noise", event(&pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{}}}, 1),
			[]string{path + "gaussian.standard_deviation: missing", positive}},
		badCharge{"two noises",
			event(&pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &one,
				StandardDeviation: &one}}}, 1),
			[]string{path + "gaussian.noise_multiplier: 1 together with other parameters",
				"allowed: noise_multiplier alone"}},
		badCharge{"batch larger than dataset",
			sampled(&pb.PoissonSampled{BatchSize: &batch, DatasetSize: &dataset, Mechanism: inner}),
			[]string{path + "poisson_sampled.batch_size: 11", "allowed: a whole number from 1 to the dataset size 10"}},
		badCharge{"dataset too large",
			sampled(&pb.PoissonSampled{BatchSize: &tiny, DatasetSize: &big, Mechanism: inner}),
			[]string{path + "poisson_sampled.dataset_size: 9007199254740993",
				"allowed: a whole number from 1 to 2^53"}},
		badCharge{"rate twice",
			sampled(&pb.PoissonSampled{SamplingProbability: &half, BatchSize: &tiny,
				DatasetSize: &dataset, Mechanism: inner}),
			[]string{path + "poisson_sampled.sampling_probability: 0.5 together with sizes",
				"allowed: sampling_probability alone"}},
		badCharge{"no rate", sampled(&pb.PoissonSampled{Mechanism: inner}),
			[]string{path + "poisson_sampled.sampling_probability: missing", rate}},
		badCharge{"nothing sampled", sampled(&pb.PoissonSampled{SamplingProbability: &half}),
			[]string{path + "poisson_sampled.mechanism: missing", "allowed:", "gaussian"}},
		badCharge{"zCDP sampled", sampled(&pb.PoissonSampled{SamplingProbability: &half,
			Mechanism: &pb.Mechanism{
				Kind: &pb.Mechanism_ZeroConcentratedDp{ZeroConcentratedDp: &pb.ZeroConcentratedDp{Rho: &one,
					Delta: &half}}}}),
			[]string{path + "poisson_sampled.mechanism"}},
		badCharge{"distance inside sampling", sampled(&pb.PoissonSampled{SamplingProbability: &half,
			Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{StandardDeviation: &one,
				Distance: &half}}}}),
			[]string{path + "poisson_sampled.mechanism.gaussian.distance: 0.5",
				"allowed: sensitivity or noise_multiplier"}},
		badCharge{"wrong adjacency", response(&pb.RandomizedResponse{Epsilon: &one}),
			[]string{path + "randomized_response: not defined for adjacency ADD_OR_REMOVE_ONE", "allowed:", "pure_dp"}},
		badCharge{"one bucket", response(&pb.RandomizedResponse{Epsilon: &one, Buckets: &tiny}),
			[]string{path + "randomized_response.buckets: 1", "allowed: a whole number from 2 to 2^40"}},
		badCharge{"no buckets", response(&pb.RandomizedResponse{Noise: &half}),
			[]string{path + "randomized_response.buckets: missing", "allowed: a whole number from 2 to 2^40"}},
		badCharge{"label key", labelled("Run", "x"), []string{`charge.labels: key "Run"`, "allowed: keys [a-z0-9]"}},
		badCharge{"label value", labelled("run", strings.Repeat("x", 257)),
			[]string{"charge.labels.run: ", "257 bytes", "allowed: at most 256 bytes"}},
		badCharge{"labels", labels, []string{"charge.labels: 17 labels", "allowed: at most 16"}},
		badCharge{"newer field", newer,
			[]string{"gaussian", "unknown field 99", "allowed: the fields of accountant.v1.Gaussian"}},
		badCharge{"over 512 KiB", labelled("run", strings.Repeat("x", 600<<10)),
			[]string{"request: 6", "bytes; allowed: at most 524288 bytes"}},
	)
}

// wantStatus checks a status's code and that its message has all of wants.
func wantStatus(t *testing.T, code codes.Code, message string, wantCode codes.Code, wants ...string) {
	t.Helper()
	if code != wantCode {
		t.Errorf("code %v (%s); want %v", code, message, wantCode)
	}
	for _, want := range wants {
		if !strings.Contains(message, want) {
			t.Errorf("message %q; want %q in it", message, want)
		}
	}
}

func wantError(t *testing.T, err error, wantCode codes.Code, wants ...string) {
	t.Helper()
	s := status.Convert(err)
	wantStatus(t, s.Code(), s.Message(), wantCode, wants...)
}

// A bad charge is refused with field, value and what is allowed; nothing is
// written; the connection and the stream go on.
func TestBadCharges(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("bad")
	good := servertest.Gaussian(2, 1)
	unary, streamed := servertest.Writer(), servertest.Writer()
	stream := s.Stream("bad", streamed)
	for i, c := range badCharges() {
		sequence, position := uint64(i+1), s.Position("bad")
		_, err := s.Client.Report(servertest.Context(t),
			&pb.ReportRequest{Lane: &pb.Lane{Ledger: "bad", Writer: unary, Sequence: sequence}, Charge: c.charge})
		t.Run(c.name+"/unary", func(t *testing.T) { wantError(t, err, codes.InvalidArgument, c.wants...) })

		// The charge after it is dropped: go-back-N.
		stream.Charge(sequence, c.charge)
		stream.Charge(sequence+1, good)
		r := stream.Rejected()
		t.Run(c.name+"/stream", func(t *testing.T) {
			if r.GetSequence() != sequence {
				t.Errorf("rejected %d; want %d", r.GetSequence(), sequence)
			}
			wantStatus(t, codes.Code(r.GetCode()), r.GetDetail(), codes.InvalidArgument, c.wants...)
		})
		if got := s.Position("bad"); got != position {
			t.Fatalf("%s: position %d after a refusal; want %d", c.name, got, position)
		}
		s.Report("bad", unary, sequence, good)
		stream.Charge(sequence, good)
		if receipt := stream.Acknowledged(sequence); receipt.GetSequence() != sequence ||
			receipt.GetPosition() != position+2 {
			t.Fatalf("%s: receipt %v; want sequence %d at %d", c.name, receipt, sequence, position+2)
		}
	}
}

// A check does everything but write.
func TestBadChargesChecked(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("bad")
	for _, c := range badCharges() {
		_, err := s.Client.Report(servertest.Context(t), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "bad", Writer: servertest.Writer(), Sequence: 1, CheckOnly: true},
			Charge: c.charge,
		})
		wantError(t, err, codes.InvalidArgument, c.wants...)
	}
	if got := s.Position("bad"); got != 0 {
		t.Errorf("position %d; want 0", got)
	}
}

// Over the transport's limit grpc ends the call; the connection goes on.
func TestMessageOverTransportLimit(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("large")
	huge := servertest.Gaussian(1, 1)
	huge.Labels = map[string]string{"run": strings.Repeat("x", 5<<20)}
	w := servertest.Writer()
	_, err := s.Client.Report(servertest.Context(t),
		&pb.ReportRequest{Lane: &pb.Lane{Ledger: "large", Writer: w, Sequence: 1}, Charge: huge})
	wantError(t, err, codes.ResourceExhausted, "larger than max")
	stream := s.Stream("large", w)
	stream.Charge(1, huge)
	_, err = stream.Recv()
	wantError(t, err, codes.ResourceExhausted, "larger than max")
	if s.Position("large") != 0 {
		t.Error("something was written")
	}
	s.Report("large", servertest.Writer(), 1, servertest.Gaussian(1, 1))
}

// The largest valid charge is far below the size limit: a stream measures only
// what it refuses.
func TestLargestValidCharge(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("largest")
	largest := &pb.Charge{Labels: map[string]string{}}
	for i := range 16 {
		largest.Labels[fmt.Sprintf("%s%02d", strings.Repeat("k", 61), i)] = strings.Repeat("v", 256)
	}
	batch, dataset, sigma := uint64(1)<<53-1, uint64(1)<<53, 0.1
	for range 1000 {
		largest.Events = append(largest.Events,
			&pb.Event{Count: math.MaxUint32, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{
				PoissonSampled: &pb.PoissonSampled{BatchSize: &batch, DatasetSize: &dataset, Mechanism: &pb.Mechanism{
					Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{StandardDeviation: &sigma,
						Sensitivity: &sigma}}}}}}})
	}
	if n := proto.Size(largest); n > wire.MaxRequestBytes/4 {
		t.Errorf("%d bytes; the limit is %d", n, wire.MaxRequestBytes)
	}
	stream := s.Stream("largest", servertest.Writer())
	stream.Charge(1, largest)
	stream.Acknowledged(1)
}
