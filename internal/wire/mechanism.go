package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Adding a mechanism: a case in each of the three switches of this file, or of its
// family (noise.go), and in appendRecorded.

// maxNesting bounds mechanisms within mechanisms, and with it the length of a
// field's path. No mechanism is defined that deep.
const maxNesting = 4

const (
	allowedMechanism = "one of the mechanisms of docs/mechanisms.md"
	allowedRequired  = "a finite number > 0 (at least 2.3e-308)"
	allowedPositive  = "a finite number > 0, or absent"
	allowedRate      = "a number in (0, 1], or absent"
	allowedChance    = "a number in (0, 1), or absent"
	allowedShare     = "a number in (0, 1), at least 2.3e-308"
	allowedSize      = "a whole number from 1 to 2^53, or absent"
	allowedBuckets   = "a whole number from 2 to 2^40, or absent"
)

// ToMechanism converts a descriptor that is valid under at least one adjacency.
// Fields in errors start at the mechanism: "gaussian.sensitivity".
func ToMechanism(m *pb.Mechanism) (mechanism.Mechanism, error) {
	d, err := toMechanism(m, 0)
	if err != nil {
		return nil, err
	}
	if err := checkAnywhere(d); err != nil {
		return nil, err
	}
	return d, nil
}

// checkAnywhere accepts what is valid under at least one adjacency.
func checkAnywhere(m mechanism.Mechanism) error {
	if m == nil {
		return absent("mechanism", allowedMechanism)
	}
	var err error
	for _, adj := range [...]mechanism.Adjacency{mechanism.ZeroOut, mechanism.ReplaceOne, mechanism.AddOrRemoveOne} {
		err = m.Check(adj)
		var elsewhere *mechanism.AdjacencyError
		if err == nil || !errors.As(err, &elsewhere) {
			break
		}
	}
	if err != nil {
		return fromDomain(err)
	}
	return nil
}

// toMechanism converts without a check of ranges, except that what is present
// is not 0.
func toMechanism(m *pb.Mechanism, depth int) (mechanism.Mechanism, error) {
	if err := known("mechanism", m); err != nil {
		return nil, err
	}
	if m.GetKind() == nil {
		return nil, absent("mechanism", allowedMechanism)
	}
	if depth > maxNesting {
		return nil, invalid("mechanism", fmt.Sprintf("nested %d deep", depth), fmt.Sprintf("at most %d deep", maxNesting))
	}
	var f fields
	switch k := m.Kind.(type) {
	case *pb.Mechanism_Gaussian:
		g := orEmpty(k.Gaussian)
		f.known("gaussian", g)
		return f.done(mechanism.Gaussian{
			StandardDeviation: f.float("gaussian.standard_deviation", g.StandardDeviation, allowedPositive),
			Sensitivity:       f.float("gaussian.sensitivity", g.Sensitivity, allowedPositive),
			Distance:          f.float("gaussian.distance", g.Distance, allowedPositive),
			NoiseMultiplier:   f.float("gaussian.noise_multiplier", g.NoiseMultiplier, allowedPositive),
		})
	case *pb.Mechanism_Laplace:
		l := orEmpty(k.Laplace)
		f.known("laplace", l)
		return f.done(mechanism.Laplace{
			Scale:       f.float("laplace.scale", l.Scale, allowedRequired),
			Sensitivity: f.float("laplace.sensitivity", l.Sensitivity, allowedPositive),
			Distance:    f.float("laplace.distance", l.Distance, allowedPositive),
		})
	case *pb.Mechanism_PoissonSampled:
		p := orEmpty(k.PoissonSampled)
		f.known("poisson_sampled", p)
		sampled := mechanism.PoissonSampled{
			SamplingProbability: f.float("poisson_sampled.sampling_probability", p.SamplingProbability, allowedRate),
			BatchSize:           f.whole("poisson_sampled.batch_size", p.BatchSize, allowedSize),
			DatasetSize:         f.whole("poisson_sampled.dataset_size", p.DatasetSize, allowedSize),
		}
		if p.Mechanism != nil { // otherwise its Check says that it is missing
			inner, err := toMechanism(p.Mechanism, depth+1)
			if err != nil {
				return nil, under("poisson_sampled.mechanism", err)
			}
			sampled.Mechanism = inner
		}
		return f.done(sampled)
	case *pb.Mechanism_RandomizedResponse:
		r := orEmpty(k.RandomizedResponse)
		f.known("randomized_response", r)
		return f.done(mechanism.RandomizedResponse{
			Epsilon: f.float("randomized_response.epsilon", r.Epsilon, allowedPositive),
			Noise:   f.float("randomized_response.noise", r.Noise, allowedChance),
			Buckets: f.whole("randomized_response.buckets", r.Buckets, allowedBuckets),
		})
	case *pb.Mechanism_PureDp:
		p := orEmpty(k.PureDp)
		f.known("pure_dp", p)
		return f.done(mechanism.PureDP{Epsilon: f.float("pure_dp.epsilon", p.Epsilon, allowedRequired)})
	case *pb.Mechanism_ApproximateDp:
		a := orEmpty(k.ApproximateDp)
		f.known("approximate_dp", a)
		return f.done(mechanism.ApproximateDP{
			Epsilon: f.float("approximate_dp.epsilon", a.Epsilon, allowedRequired),
			Delta:   f.float("approximate_dp.delta", a.Delta, allowedShare),
		})
	case *pb.Mechanism_ZeroConcentratedDp:
		z := orEmpty(k.ZeroConcentratedDp)
		f.known("zero_concentrated_dp", z)
		return f.done(mechanism.ZeroConcentratedDP{
			Rho:   f.float("zero_concentrated_dp.rho", z.Rho, allowedRequired),
			Delta: f.float("zero_concentrated_dp.delta", z.Delta, allowedChance),
		})
	case *pb.Mechanism_GaussianDp:
		g := orEmpty(k.GaussianDp)
		f.known("gaussian_dp", g)
		return f.done(mechanism.GaussianDP{Mu: f.float("gaussian_dp.mu", g.Mu, allowedRequired)})
	case *pb.Mechanism_RenyiDp:
		return toRenyiDP(k.RenyiDp)
	case *pb.Mechanism_NameAndShame:
		n := orEmpty(k.NameAndShame)
		f.known("name_and_shame", n)
		return f.done(mechanism.NameAndShame{Delta: f.float("name_and_shame.delta", n.Delta, allowedShare)})
	case *pb.Mechanism_Composed:
		return toComposed(k.Composed, depth)
	case *pb.Mechanism_DpSgd:
		return toDPSGD(k.DpSgd)
	case *pb.Mechanism_PrivacyLossTable:
		return toLossTable(k.PrivacyLossTable)
	case *pb.Mechanism_Parallel:
		return toParallel(k.Parallel, depth)
	case *pb.Mechanism_RepeatAndSelect:
		return toRepeatAndSelect(k.RepeatAndSelect, depth)
	}
	if d, ok, err := toNoise(m); ok {
		return d, err
	}
	if d, ok, err := toSampling(m, depth); ok {
		return d, err
	}
	return nil, invalid("mechanism", fmt.Sprintf("%T", m.Kind), allowedMechanism)
}

// FromMechanism is the inverse of ToMechanism. Of no mechanism it makes nil,
// which every reader refuses.
func FromMechanism(m mechanism.Mechanism) *pb.Mechanism {
	switch m := m.(type) {
	case mechanism.Gaussian:
		return &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{
			StandardDeviation: given(m.StandardDeviation), Sensitivity: given(m.Sensitivity),
			Distance: given(m.Distance), NoiseMultiplier: given(m.NoiseMultiplier),
		}}}
	case mechanism.Laplace:
		return &pb.Mechanism{Kind: &pb.Mechanism_Laplace{Laplace: &pb.Laplace{
			Scale: given(m.Scale), Sensitivity: given(m.Sensitivity), Distance: given(m.Distance),
		}}}
	case mechanism.PoissonSampled:
		return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{
			SamplingProbability: given(m.SamplingProbability), BatchSize: given(m.BatchSize),
			DatasetSize: given(m.DatasetSize), Mechanism: FromMechanism(m.Mechanism),
		}}}
	case mechanism.RandomizedResponse:
		return &pb.Mechanism{Kind: &pb.Mechanism_RandomizedResponse{RandomizedResponse: &pb.RandomizedResponse{
			Epsilon: given(m.Epsilon), Noise: given(m.Noise), Buckets: given(m.Buckets),
		}}}
	case mechanism.PureDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: given(m.Epsilon)}}}
	case mechanism.ApproximateDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_ApproximateDp{ApproximateDp: &pb.ApproximateDp{
			Epsilon: given(m.Epsilon), Delta: given(m.Delta),
		}}}
	case mechanism.ZeroConcentratedDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_ZeroConcentratedDp{ZeroConcentratedDp: &pb.ZeroConcentratedDp{
			Rho: given(m.Rho), Delta: given(m.Delta),
		}}}
	case mechanism.GaussianDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_GaussianDp{GaussianDp: &pb.GaussianDp{Mu: given(m.Mu)}}}
	case mechanism.RenyiDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_RenyiDp{RenyiDp: &pb.RenyiDp{Orders: m.Orders.Values(), Epsilons: m.Epsilons.Values()}}}
	case mechanism.NameAndShame:
		return &pb.Mechanism{Kind: &pb.Mechanism_NameAndShame{NameAndShame: &pb.NameAndShame{Delta: given(m.Delta)}}}
	case mechanism.Composed:
		return &pb.Mechanism{Kind: &pb.Mechanism_Composed{Composed: &pb.Composed{Events: FromEvents(m.Events.Values())}}}
	case mechanism.DPSGD:
		return &pb.Mechanism{Kind: &pb.Mechanism_DpSgd{DpSgd: fromDPSGD(m)}}
	case mechanism.PrivacyLossTable:
		return &pb.Mechanism{Kind: &pb.Mechanism_PrivacyLossTable{PrivacyLossTable: &pb.PrivacyLossTable{
			Losses: m.Losses.Values(), Masses: m.Masses.Values(), InfiniteMass: given(m.InfiniteMass),
		}}}
	case mechanism.Parallel:
		return &pb.Mechanism{Kind: &pb.Mechanism_Parallel{Parallel: fromParallel(m)}}
	case mechanism.RepeatAndSelect:
		return &pb.Mechanism{Kind: &pb.Mechanism_RepeatAndSelect{RepeatAndSelect: &pb.RepeatAndSelect{
			Mechanism: FromMechanism(m.Mechanism), Gamma: given(m.Gamma), Eta: given(m.Eta), Mean: given(m.Mean),
		}}}
	}
	if noise := fromNoise(m); noise != nil {
		return noise
	}
	return fromSampling(m)
}

// appendMechanism appends the canonical encoding of a descriptor: a tag, then
// every parameter in a fixed order and width, 0 for what is not given. Tags are
// never changed or used again.
func appendMechanism(b []byte, m mechanism.Mechanism) []byte {
	switch m := m.(type) {
	case mechanism.Gaussian:
		return appendFloats(append(b, 1), m.StandardDeviation, m.Sensitivity, m.Distance, m.NoiseMultiplier)
	case mechanism.Laplace:
		return appendFloats(append(b, 2), m.Scale, m.Sensitivity, m.Distance)
	case mechanism.PoissonSampled:
		b = appendFloats(append(b, 3), m.SamplingProbability)
		b = binary.BigEndian.AppendUint64(b, m.BatchSize)
		b = binary.BigEndian.AppendUint64(b, m.DatasetSize)
		return appendMechanism(b, m.Mechanism)
	case mechanism.RandomizedResponse:
		return binary.BigEndian.AppendUint64(appendFloats(append(b, 4), m.Epsilon, m.Noise), m.Buckets)
	case mechanism.PureDP:
		return appendFloats(append(b, 5), m.Epsilon)
	case mechanism.ApproximateDP:
		return appendFloats(append(b, 6), m.Epsilon, m.Delta)
	case mechanism.ZeroConcentratedDP:
		if m.Delta != 0 { // what has none keeps the encoding from before there was one
			return appendFloats(append(b, 128+7), m.Rho, m.Delta)
		}
		return appendFloats(append(b, 7), m.Rho)
	case mechanism.GaussianDP:
		return appendFloats(append(b, 8), m.Mu)
	case mechanism.RenyiDP:
		return appendNumbers(appendNumbers(append(b, 18), m.Orders), m.Epsilons)
	case mechanism.NameAndShame:
		return appendFloats(append(b, 20), m.Delta)
	case mechanism.Composed:
		return appendEvents(append(b, 21), m.Events.Values())
	case mechanism.DPSGD:
		return appendDPSGD(append(b, 32), m)
	case mechanism.PrivacyLossTable:
		return appendFloats(appendNumbers(appendNumbers(append(b, 19), m.Losses), m.Masses), m.InfiniteMass)
	case mechanism.Parallel:
		return appendParts(append(b, 24), m.Parts.Values())
	case mechanism.RepeatAndSelect:
		return appendMechanism(appendFloats(append(b, 25), m.Gamma, m.Eta, m.Mean), m.Mechanism)
	}
	if encoded := appendNoise(b, m); encoded != nil {
		return encoded
	}
	if b, ok := appendSampling(b, m); ok {
		return b
	}
	panic(fmt.Sprintf("wire: no canonical encoding of %T", m)) // the interface is sealed: a case is missing above
}

func appendFloats(b []byte, values ...float64) []byte {
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// orEmpty makes a nil message, which only a Go program can build, an empty one.
func orEmpty[T any](m *T) *T {
	if m == nil {
		return new(T)
	}
	return m
}

// fields reads optional parameters and keeps the first error.
type fields struct{ err error }

// known refuses a descriptor with parameters that this version does not know.
func (f *fields) known(field string, m proto.Message) {
	if err := known(field, m); err != nil && f.err == nil {
		f.err = err
	}
}

func (f *fields) float(field string, v *float64, allowed string) float64 {
	if v == nil {
		return 0
	}
	if *v == 0 && f.err == nil {
		f.err = invalid(field, "0", allowed)
	}
	return *v
}

func (f *fields) whole(field string, v *uint64, allowed string) uint64 {
	if v == nil {
		return 0
	}
	if *v == 0 && f.err == nil {
		f.err = invalid(field, "0", allowed)
	}
	return *v
}

func (f *fields) done(m mechanism.Mechanism) (mechanism.Mechanism, error) {
	if f.err != nil {
		return nil, f.err
	}
	return m, nil
}

// given is the inverse: 0 becomes absent.
func given[T float64 | uint64](v T) *T {
	if v == 0 {
		return nil
	}
	return &v
}
