package wire

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// appendRecorded appends the fields of an accountant.v1.Mechanism as package
// proto encodes FromMechanism(m): nothing for no mechanism, which every reader
// refuses.
func appendRecorded(b []byte, m mechanism.Mechanism) []byte {
	var room [128]byte // for the parameters, without an allocation
	p := room[:0]
	kind := protowire.Number(0)
	switch m := m.(type) {
	case mechanism.Gaussian:
		kind, p = 1, appendGiven(p, m.StandardDeviation, m.Sensitivity, m.Distance, m.NoiseMultiplier)
	case mechanism.Laplace:
		kind, p = 2, appendGiven(p, m.Scale, m.Sensitivity, m.Distance)
	case mechanism.PoissonSampled:
		kind, p = 3, appendNumber(appendNumber(appendGiven(p, m.SamplingProbability), 2, m.BatchSize), 3, m.DatasetSize)
		if m.Mechanism != nil {
			var room [64]byte
			p = protowire.AppendBytes(appendTag(p, 4), appendRecorded(room[:0], m.Mechanism))
		}
	case mechanism.RandomizedResponse:
		kind, p = 4, appendNumber(appendGiven(p, m.Epsilon, m.Noise), 3, m.Buckets)
	case mechanism.PureDP:
		kind, p = 5, appendGiven(p, m.Epsilon)
	case mechanism.ApproximateDP:
		kind, p = 6, appendGiven(p, m.Epsilon, m.Delta)
	case mechanism.ZeroConcentratedDP:
		kind, p = 7, appendGiven(p, m.Rho, m.Delta)
	case mechanism.GaussianDP:
		kind, p = 8, appendGiven(p, m.Mu)
	case mechanism.RenyiDP:
		kind, p = 18, appendPacked(appendPacked(p, 1, m.Orders), 2, m.Epsilons)
	case mechanism.NameAndShame:
		kind, p = 20, appendGiven(p, m.Delta)
	case mechanism.Composed:
		kind, p = 21, appendRecordedEvents(p, 1, m.Events.Values())
	case mechanism.PrivacyLossTable:
		kind, p = 19, appendGivenFrom(appendPacked(appendPacked(p, 1, m.Losses), 2, m.Masses), 3, m.InfiniteMass)
	case mechanism.Parallel:
		kind, p = 24, appendRecordedParts(p, 1, m.Parts.Values())
	case mechanism.RepeatAndSelect:
		if m.Mechanism != nil {
			p = protowire.AppendBytes(appendTag(p, 1), appendRecorded(nil, m.Mechanism))
		}
		kind, p = 25, appendGivenFrom(p, 2, m.Gamma, m.Eta, m.Mean)
	case mechanism.DPSGD:
		kind, p = 32, appendRecordedDPSGD(p, m)
	default:
		if kind, p = appendRecordedNoise(p, m); kind == 0 {
			kind, p = appendRecordedSampling(p, m)
		}
		if kind == 0 {
			return b
		}
	}
	return protowire.AppendBytes(appendTag(b, kind), p)
}

// appendGiven appends numbers as the fields 1, 2, 3 …, without those that are 0.
func appendGiven(b []byte, values ...float64) []byte { return appendGivenFrom(b, 1, values...) }

// appendGivenFrom is appendGiven with the first field's number.
func appendGivenFrom(b []byte, first protowire.Number, values ...float64) []byte {
	for i, v := range values {
		if v != 0 {
			b = protowire.AppendTag(b, first+protowire.Number(i), protowire.Fixed64Type)
			b = protowire.AppendFixed64(b, math.Float64bits(v))
		}
	}
	return b
}
