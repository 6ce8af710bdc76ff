package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Selection among candidates, and randomized response.

const (
	allowedBuckets   = "a whole number from 2 to 2^40, or absent"
	allowedMaxNoise  = "LAPLACE, EXPONENTIAL or GUMBEL"
	allowedPositives = "a whole number from 1 to 2^32, or absent"
)

func toSelection(f *fields, m *pb.Mechanism, _ int) mechanism.Mechanism {
	switch k := m.Kind.(type) {
	case *pb.Mechanism_RandomizedResponse:
		r := orEmpty(k.RandomizedResponse)
		f.known("randomized_response", r)
		return mechanism.RandomizedResponse{
			Epsilon: f.float("randomized_response.epsilon", r.Epsilon, allowedPositive),
			Noise:   f.float("randomized_response.noise", r.Noise, allowedChance),
			Buckets: f.whole("randomized_response.buckets", r.Buckets, allowedBuckets),
		}
	case *pb.Mechanism_Exponential:
		e := orEmpty(k.Exponential)
		f.known("exponential", e)
		return mechanism.Exponential{
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
		return mechanism.ReportNoisyMax{
			Distribution: mechanism.MaxNoise(r.Distribution),
			Epsilon:      f.float("report_noisy_max.epsilon", r.Epsilon, allowedPositive),
			Scale:        f.float("report_noisy_max.scale", r.Scale, allowedPositive),
			Sensitivity:  f.float("report_noisy_max.sensitivity", r.Sensitivity, allowedPositive),
			Monotone:     r.Monotone,
		}
	case *pb.Mechanism_AboveThreshold:
		a := orEmpty(k.AboveThreshold)
		f.known("above_threshold", a)
		return mechanism.AboveThreshold{
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
		return mechanism.InverseSensitivity{Epsilon: f.float("inverse_sensitivity.epsilon", i.Epsilon, allowedRequired)}
	}
	return nil
}

func fromSelection(m mechanism.Mechanism) *pb.Mechanism {
	switch m := m.(type) {
	case mechanism.RandomizedResponse:
		return &pb.Mechanism{Kind: &pb.Mechanism_RandomizedResponse{RandomizedResponse: &pb.RandomizedResponse{
			Epsilon: given(m.Epsilon), Noise: given(m.Noise), Buckets: given(m.Buckets),
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
	}
	return nil
}

func appendSelection(b []byte, m mechanism.Mechanism) []byte {
	switch m := m.(type) {
	case mechanism.RandomizedResponse:
		return appendWhole(appendFloats(append(b, 4), m.Epsilon, m.Noise), m.Buckets)
	case mechanism.Exponential:
		return append(appendFloats(append(b, 12), m.Epsilon, m.Scale, m.Sensitivity), bit(m.Monotone))
	case mechanism.ReportNoisyMax:
		return append(appendFloats(append(b, 13, byte(m.Distribution)), m.Epsilon, m.Scale, m.Sensitivity), bit(m.Monotone))
	case mechanism.AboveThreshold:
		b = appendFloats(append(b, 14), m.ThresholdEpsilon, m.QueryEpsilon, m.ThresholdScale, m.QueryScale, m.Sensitivity)
		return append(appendWhole(b, m.Positives), bit(m.Monotone))
	case mechanism.InverseSensitivity:
		return appendFloats(append(b, 15), m.Epsilon)
	}
	return nil
}

func recordSelection(p []byte, m mechanism.Mechanism) (protowire.Number, []byte) {
	switch m := m.(type) {
	case mechanism.RandomizedResponse:
		return 4, appendNumber(appendGiven(p, m.Epsilon, m.Noise), 3, m.Buckets)
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
	}
	return 0, nil
}
