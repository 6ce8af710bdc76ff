package wire

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Noise, selection and counting mechanisms: their parts of the switches of mechanism.go
// and encode_mechanism.go.

const (
	allowedWhole     = "a whole number from 1 to 2^53, or absent"
	allowedPositives = "a whole number from 1 to 2^32, or absent"
	allowedMaxNoise  = "LAPLACE, EXPONENTIAL or GUMBEL"
)

// toNoise converts one of those mechanisms; ok is false for every other.
func toNoise(m *pb.Mechanism) (d mechanism.Mechanism, ok bool, err error) {
	var f fields
	switch k := m.Kind.(type) {
	case *pb.Mechanism_DiscreteGaussian:
		g := orEmpty(k.DiscreteGaussian)
		f.known("discrete_gaussian", g)
		d = mechanism.DiscreteGaussian{
			StandardDeviation: f.float("discrete_gaussian.standard_deviation", g.StandardDeviation, allowedRequired),
			Sensitivity:       f.float("discrete_gaussian.sensitivity", g.Sensitivity, allowedPositive),
			Distance:          f.float("discrete_gaussian.distance", g.Distance, allowedPositive),
			Coordinates:       f.whole("discrete_gaussian.coordinates", g.Coordinates, allowedWhole),
		}
	case *pb.Mechanism_DiscreteLaplace:
		l := orEmpty(k.DiscreteLaplace)
		f.known("discrete_laplace", l)
		d = mechanism.DiscreteLaplace{
			Scale:       f.float("discrete_laplace.scale", l.Scale, allowedRequired),
			Sensitivity: f.float("discrete_laplace.sensitivity", l.Sensitivity, allowedWhole),
			Distance:    f.float("discrete_laplace.distance", l.Distance, allowedWhole),
		}
	case *pb.Mechanism_TruncatedLaplace:
		l := orEmpty(k.TruncatedLaplace)
		f.known("truncated_laplace", l)
		d = mechanism.TruncatedLaplace{
			Scale:       f.float("truncated_laplace.scale", l.Scale, allowedRequired),
			Bound:       f.float("truncated_laplace.bound", l.Bound, allowedRequired),
			Sensitivity: f.float("truncated_laplace.sensitivity", l.Sensitivity, allowedPositive),
			Distance:    f.float("truncated_laplace.distance", l.Distance, allowedPositive),
		}
	case *pb.Mechanism_Exponential:
		e := orEmpty(k.Exponential)
		f.known("exponential", e)
		d = mechanism.Exponential{
			Epsilon:     f.float("exponential.epsilon", e.Epsilon, allowedPositive),
			Scale:       f.float("exponential.scale", e.Scale, allowedPositive),
			Sensitivity: f.float("exponential.sensitivity", e.Sensitivity, allowedPositive),
			Monotone:    e.Monotone,
		}
	case *pb.Mechanism_ReportNoisyMax:
		r := orEmpty(k.ReportNoisyMax)
		f.known("report_noisy_max", r)
		if n := r.Distribution; (n < 0 || n > pb.ReportNoisyMax_GUMBEL) && f.err == nil {
			f.err = invalid("report_noisy_max.distribution", n.String(), allowedMaxNoise)
		}
		d = mechanism.ReportNoisyMax{
			Distribution: mechanism.MaxNoise(r.Distribution),
			Epsilon:      f.float("report_noisy_max.epsilon", r.Epsilon, allowedPositive),
			Scale:        f.float("report_noisy_max.scale", r.Scale, allowedPositive),
			Sensitivity:  f.float("report_noisy_max.sensitivity", r.Sensitivity, allowedPositive),
			Monotone:     r.Monotone,
		}
	case *pb.Mechanism_AboveThreshold:
		a := orEmpty(k.AboveThreshold)
		f.known("above_threshold", a)
		d = mechanism.AboveThreshold{
			ThresholdEpsilon: f.float("above_threshold.threshold_epsilon", a.ThresholdEpsilon, allowedPositive),
			QueryEpsilon:     f.float("above_threshold.query_epsilon", a.QueryEpsilon, allowedPositive),
			ThresholdScale:   f.float("above_threshold.threshold_scale", a.ThresholdScale, allowedPositive),
			QueryScale:       f.float("above_threshold.query_scale", a.QueryScale, allowedPositive),
			Sensitivity:      f.float("above_threshold.sensitivity", a.Sensitivity, allowedPositive),
			Positives:        f.whole("above_threshold.positives", a.Positives, allowedPositives),
			Monotone:         a.Monotone,
		}
	case *pb.Mechanism_InverseSensitivity:
		i := orEmpty(k.InverseSensitivity)
		f.known("inverse_sensitivity", i)
		d = mechanism.InverseSensitivity{Epsilon: f.float("inverse_sensitivity.epsilon", i.Epsilon, allowedRequired)}
	case *pb.Mechanism_Histogram:
		h := orEmpty(k.Histogram)
		f.known("histogram", h)
		d = mechanism.Histogram{
			LaplaceScale:      f.float("histogram.laplace_scale", h.LaplaceScale, allowedPositive),
			StandardDeviation: f.float("histogram.standard_deviation", h.StandardDeviation, allowedPositive),
		}
	case *pb.Mechanism_CountingQueries:
		c := orEmpty(k.CountingQueries)
		f.known("counting_queries", c)
		d = mechanism.CountingQueries{
			Queries: f.whole("counting_queries.queries", c.Queries, allowedWhole),
			Rho:     f.float("counting_queries.rho", c.Rho, allowedRequired),
		}
	default:
		return nil, false, nil
	}
	d, err = f.done(d)
	return d, true, err
}

// fromNoise is the inverse of toNoise, nil for every other mechanism.
func fromNoise(m mechanism.Mechanism) *pb.Mechanism {
	switch m := m.(type) {
	case mechanism.DiscreteGaussian:
		return &pb.Mechanism{Kind: &pb.Mechanism_DiscreteGaussian{DiscreteGaussian: &pb.DiscreteGaussian{
			StandardDeviation: given(m.StandardDeviation), Sensitivity: given(m.Sensitivity),
			Distance: given(m.Distance), Coordinates: given(m.Coordinates),
		}}}
	case mechanism.DiscreteLaplace:
		return &pb.Mechanism{Kind: &pb.Mechanism_DiscreteLaplace{DiscreteLaplace: &pb.DiscreteLaplace{
			Scale: given(m.Scale), Sensitivity: given(m.Sensitivity), Distance: given(m.Distance),
		}}}
	case mechanism.TruncatedLaplace:
		return &pb.Mechanism{Kind: &pb.Mechanism_TruncatedLaplace{TruncatedLaplace: &pb.TruncatedLaplace{
			Scale: given(m.Scale), Bound: given(m.Bound), Sensitivity: given(m.Sensitivity), Distance: given(m.Distance),
		}}}
	case mechanism.Exponential:
		return &pb.Mechanism{Kind: &pb.Mechanism_Exponential{Exponential: &pb.Exponential{
			Epsilon: given(m.Epsilon), Scale: given(m.Scale), Sensitivity: given(m.Sensitivity), Monotone: m.Monotone,
		}}}
	case mechanism.ReportNoisyMax:
		return &pb.Mechanism{Kind: &pb.Mechanism_ReportNoisyMax{ReportNoisyMax: &pb.ReportNoisyMax{
			Distribution: pb.ReportNoisyMax_Distribution(m.Distribution), Epsilon: given(m.Epsilon), Scale: given(m.Scale),
			Sensitivity: given(m.Sensitivity), Monotone: m.Monotone,
		}}}
	case mechanism.AboveThreshold:
		return &pb.Mechanism{Kind: &pb.Mechanism_AboveThreshold{AboveThreshold: &pb.AboveThreshold{
			ThresholdEpsilon: given(m.ThresholdEpsilon), QueryEpsilon: given(m.QueryEpsilon),
			ThresholdScale: given(m.ThresholdScale), QueryScale: given(m.QueryScale), Sensitivity: given(m.Sensitivity),
			Positives: given(m.Positives), Monotone: m.Monotone,
		}}}
	case mechanism.InverseSensitivity:
		return &pb.Mechanism{Kind: &pb.Mechanism_InverseSensitivity{InverseSensitivity: &pb.InverseSensitivity{Epsilon: given(m.Epsilon)}}}
	case mechanism.Histogram:
		return &pb.Mechanism{Kind: &pb.Mechanism_Histogram{Histogram: &pb.Histogram{
			LaplaceScale: given(m.LaplaceScale), StandardDeviation: given(m.StandardDeviation),
		}}}
	case mechanism.CountingQueries:
		return &pb.Mechanism{Kind: &pb.Mechanism_CountingQueries{CountingQueries: &pb.CountingQueries{
			Queries: given(m.Queries), Rho: given(m.Rho),
		}}}
	}
	return nil
}

// appendNoise is appendMechanism of those mechanisms; nil for every other.
func appendNoise(b []byte, m mechanism.Mechanism) []byte {
	switch m := m.(type) {
	case mechanism.DiscreteGaussian:
		b = appendFloats(append(b, 9), m.StandardDeviation, m.Sensitivity, m.Distance)
		return binary.BigEndian.AppendUint64(b, m.Coordinates)
	case mechanism.DiscreteLaplace:
		return appendFloats(append(b, 10), m.Scale, m.Sensitivity, m.Distance)
	case mechanism.TruncatedLaplace:
		return appendFloats(append(b, 11), m.Scale, m.Bound, m.Sensitivity, m.Distance)
	case mechanism.Exponential:
		return append(appendFloats(append(b, 12), m.Epsilon, m.Scale, m.Sensitivity), bit(m.Monotone))
	case mechanism.ReportNoisyMax:
		return append(appendFloats(append(b, 13, byte(m.Distribution)), m.Epsilon, m.Scale, m.Sensitivity), bit(m.Monotone))
	case mechanism.AboveThreshold:
		b = appendFloats(append(b, 14), m.ThresholdEpsilon, m.QueryEpsilon, m.ThresholdScale, m.QueryScale, m.Sensitivity)
		return append(binary.BigEndian.AppendUint64(b, m.Positives), bit(m.Monotone))
	case mechanism.InverseSensitivity:
		return appendFloats(append(b, 15), m.Epsilon)
	case mechanism.Histogram:
		return appendFloats(append(b, 16), m.LaplaceScale, m.StandardDeviation)
	case mechanism.CountingQueries:
		return appendFloats(binary.BigEndian.AppendUint64(append(b, 17), m.Queries), m.Rho)
	}
	return nil
}

// appendRecordedNoise is appendRecorded of those mechanisms' parameters, with their
// field number; 0 for every other.
func appendRecordedNoise(p []byte, m mechanism.Mechanism) (protowire.Number, []byte) {
	switch m := m.(type) {
	case mechanism.DiscreteGaussian:
		return 9, appendNumber(appendGiven(p, m.StandardDeviation, m.Sensitivity, m.Distance), 4, m.Coordinates)
	case mechanism.DiscreteLaplace:
		return 10, appendGiven(p, m.Scale, m.Sensitivity, m.Distance)
	case mechanism.TruncatedLaplace:
		return 11, appendGiven(p, m.Scale, m.Bound, m.Sensitivity, m.Distance)
	case mechanism.Exponential:
		return 12, appendNumber(appendGiven(p, m.Epsilon, m.Scale, m.Sensitivity), 4, uint64(bit(m.Monotone)))
	case mechanism.ReportNoisyMax:
		p = appendGivenFrom(appendNumber(p, 1, uint64(m.Distribution)), 2, m.Epsilon, m.Scale, m.Sensitivity)
		return 13, appendNumber(p, 5, uint64(bit(m.Monotone)))
	case mechanism.AboveThreshold:
		p = appendGiven(p, m.ThresholdEpsilon, m.QueryEpsilon, m.ThresholdScale, m.QueryScale, m.Sensitivity)
		return 14, appendNumber(appendNumber(p, 6, m.Positives), 7, uint64(bit(m.Monotone)))
	case mechanism.InverseSensitivity:
		return 15, appendGiven(p, m.Epsilon)
	case mechanism.Histogram:
		return 16, appendGiven(p, m.LaplaceScale, m.StandardDeviation)
	case mechanism.CountingQueries:
		return 17, appendGivenFrom(appendNumber(p, 1, m.Queries), 2, m.Rho)
	}
	return 0, p
}
