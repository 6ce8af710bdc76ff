package wire

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// The mechanisms of groups, of batches made in other ways than by Poisson sampling, of
// mixtures and of noise through a matrix, for the switches of mechanism.go and
// encode_mechanism.go.

const (
	allowedCount     = "a whole number from 1, or absent"
	allowedDeviation = "a finite number > 0 (at least 2.3e-308), or absent"
)

// toSampling converts one of them; ok is false for any other kind.
func toSampling(m *pb.Mechanism, depth int) (d mechanism.Mechanism, ok bool, err error) {
	var f fields
	switch k := m.Kind.(type) {
	case *pb.Mechanism_Group:
		g := orEmpty(k.Group)
		f.known("group", g)
		group := mechanism.Group{Size: f.whole("group.size", g.Size, "a whole number from 1 to 2^20")}
		group.Mechanism = f.inner("group.mechanism", g.Mechanism, depth)
		d, err = f.done(group)
	case *pb.Mechanism_FixedSizeSampled:
		s := orEmpty(k.FixedSizeSampled)
		f.known("fixed_size_sampled", s)
		sampled := mechanism.FixedSizeSampled{
			BatchSize:   f.whole("fixed_size_sampled.batch_size", s.BatchSize, allowedSize),
			DatasetSize: f.whole("fixed_size_sampled.dataset_size", s.DatasetSize, allowedSize),
		}
		sampled.Mechanism = f.inner("fixed_size_sampled.mechanism", s.Mechanism, depth)
		d, err = f.done(sampled)
	case *pb.Mechanism_TruncatedPoissonSampled:
		s := orEmpty(k.TruncatedPoissonSampled)
		f.known("truncated_poisson_sampled", s)
		sampled := mechanism.TruncatedPoissonSampled{
			SamplingProbability: f.float("truncated_poisson_sampled.sampling_probability", s.SamplingProbability, allowedChance),
			BatchSize:           f.whole("truncated_poisson_sampled.batch_size", s.BatchSize, allowedSize),
			DatasetSize:         f.whole("truncated_poisson_sampled.dataset_size", s.DatasetSize, allowedSize),
			MaximumBatchSize:    f.whole("truncated_poisson_sampled.maximum_batch_size", s.MaximumBatchSize, allowedSize),
		}
		sampled.Mechanism = f.inner("truncated_poisson_sampled.mechanism", s.Mechanism, depth)
		d, err = f.done(sampled)
	case *pb.Mechanism_Shuffled:
		s := orEmpty(k.Shuffled)
		f.known("shuffled", s)
		shuffled := mechanism.Shuffled{
			BatchSize:   f.whole("shuffled.batch_size", s.BatchSize, allowedSize),
			DatasetSize: f.whole("shuffled.dataset_size", s.DatasetSize, allowedSize),
		}
		shuffled.Mechanism = f.inner("shuffled.mechanism", s.Mechanism, depth)
		d, err = f.done(shuffled)
	case *pb.Mechanism_MixtureOfGaussians:
		x := orEmpty(k.MixtureOfGaussians)
		f.known("mixture_of_gaussians", x)
		d, err = f.done(mechanism.MixtureOfGaussians{
			StandardDeviation: f.float("mixture_of_gaussians.standard_deviation", x.StandardDeviation, allowedRequired),
			Sensitivities:     f.list("mixture_of_gaussians.sensitivities", x.Sensitivities, mechanism.MaxComponents),
			Probabilities:     f.list("mixture_of_gaussians.probabilities", x.Probabilities, mechanism.MaxComponents),
		})
	case *pb.Mechanism_TreeAggregation:
		t := orEmpty(k.TreeAggregation)
		f.known("tree_aggregation", t)
		d, err = f.done(mechanism.TreeAggregation{
			StandardDeviation: f.float("tree_aggregation.standard_deviation", t.StandardDeviation, allowedDeviation),
			Sensitivity:       f.float("tree_aggregation.sensitivity", t.Sensitivity, allowedPositive),
			NoiseMultiplier:   f.float("tree_aggregation.noise_multiplier", t.NoiseMultiplier, allowedPositive),
			Participation:     f.participation("tree_aggregation", t.Steps, t.Participations, t.MinimumSeparation),
		})
	case *pb.Mechanism_BandedMatrix:
		b := orEmpty(k.BandedMatrix)
		f.known("banded_matrix", b)
		d, err = f.done(mechanism.BandedMatrix{
			StandardDeviation: f.float("banded_matrix.standard_deviation", b.StandardDeviation, allowedDeviation),
			Sensitivity:       f.float("banded_matrix.sensitivity", b.Sensitivity, allowedPositive),
			NoiseMultiplier:   f.float("banded_matrix.noise_multiplier", b.NoiseMultiplier, allowedPositive),
			Coefficients:      f.list("banded_matrix.coefficients", b.Coefficients, mechanism.MaxBands),
			Participation:     f.participation("banded_matrix", b.Steps, b.Participations, b.MinimumSeparation),
		})
	default:
		return nil, false, nil
	}
	return d, true, err
}

func (f *fields) participation(kind string, steps, participations, separation *uint64) mechanism.Participation {
	return mechanism.Participation{
		Steps:             f.whole(kind+".steps", steps, allowedCount),
		Participations:    f.whole(kind+".participations", participations, allowedCount),
		MinimumSeparation: f.whole(kind+".minimum_separation", separation, allowedCount),
	}
}

// inner converts the mechanism that another one runs; nil where none is given, which
// the other's Check says.
func (f *fields) inner(field string, m *pb.Mechanism, depth int) mechanism.Mechanism {
	if m == nil {
		return nil
	}
	d, err := toMechanism(m, depth+1)
	if err != nil && f.err == nil {
		f.err = under(field, err)
	}
	return d
}

// list packs numbers; longer lists are refused before that.
func (f *fields) list(field string, values []float64, most int) mechanism.Numbers {
	if f.atMost(field, len(values), most); len(values) > most {
		return ""
	}
	return mechanism.NumbersOf(values...)
}

// fromSampling is the inverse; nil for any other kind.
func fromSampling(m mechanism.Mechanism) *pb.Mechanism {
	switch m := m.(type) {
	case mechanism.Group:
		return &pb.Mechanism{Kind: &pb.Mechanism_Group{Group: &pb.Group{Size: given(m.Size), Mechanism: FromMechanism(m.Mechanism)}}}
	case mechanism.FixedSizeSampled:
		return &pb.Mechanism{Kind: &pb.Mechanism_FixedSizeSampled{FixedSizeSampled: &pb.FixedSizeSampled{
			BatchSize: given(m.BatchSize), DatasetSize: given(m.DatasetSize), Mechanism: FromMechanism(m.Mechanism),
		}}}
	case mechanism.TruncatedPoissonSampled:
		return &pb.Mechanism{Kind: &pb.Mechanism_TruncatedPoissonSampled{TruncatedPoissonSampled: &pb.TruncatedPoissonSampled{
			SamplingProbability: given(m.SamplingProbability), BatchSize: given(m.BatchSize), DatasetSize: given(m.DatasetSize),
			MaximumBatchSize: given(m.MaximumBatchSize), Mechanism: FromMechanism(m.Mechanism),
		}}}
	case mechanism.Shuffled:
		return &pb.Mechanism{Kind: &pb.Mechanism_Shuffled{Shuffled: &pb.Shuffled{
			BatchSize: given(m.BatchSize), DatasetSize: given(m.DatasetSize), Mechanism: FromMechanism(m.Mechanism),
		}}}
	case mechanism.MixtureOfGaussians:
		return &pb.Mechanism{Kind: &pb.Mechanism_MixtureOfGaussians{MixtureOfGaussians: &pb.MixtureOfGaussians{
			StandardDeviation: given(m.StandardDeviation), Sensitivities: m.Sensitivities.Values(), Probabilities: m.Probabilities.Values(),
		}}}
	case mechanism.TreeAggregation:
		return &pb.Mechanism{Kind: &pb.Mechanism_TreeAggregation{TreeAggregation: &pb.TreeAggregation{
			StandardDeviation: given(m.StandardDeviation), Sensitivity: given(m.Sensitivity), NoiseMultiplier: given(m.NoiseMultiplier),
			Steps: given(m.Steps), Participations: given(m.Participations), MinimumSeparation: given(m.MinimumSeparation),
		}}}
	case mechanism.BandedMatrix:
		return &pb.Mechanism{Kind: &pb.Mechanism_BandedMatrix{BandedMatrix: &pb.BandedMatrix{
			StandardDeviation: given(m.StandardDeviation), Sensitivity: given(m.Sensitivity), NoiseMultiplier: given(m.NoiseMultiplier),
			Coefficients: m.Coefficients.Values(),
			Steps:        given(m.Steps), Participations: given(m.Participations), MinimumSeparation: given(m.MinimumSeparation),
		}}}
	}
	return nil
}

// appendSampling is appendMechanism of them; false for any other kind.
func appendSampling(b []byte, m mechanism.Mechanism) ([]byte, bool) {
	switch m := m.(type) {
	case mechanism.Group:
		b = appendMechanism(appendWhole(append(b, 23), m.Size), m.Mechanism)
	case mechanism.FixedSizeSampled:
		b = appendMechanism(appendWhole(append(b, 26), m.BatchSize, m.DatasetSize), m.Mechanism)
	case mechanism.TruncatedPoissonSampled:
		b = appendWhole(appendFloats(append(b, 27), m.SamplingProbability), m.BatchSize, m.DatasetSize, m.MaximumBatchSize)
		b = appendMechanism(b, m.Mechanism)
	case mechanism.Shuffled:
		b = appendMechanism(appendWhole(append(b, 28), m.BatchSize, m.DatasetSize), m.Mechanism)
	case mechanism.MixtureOfGaussians:
		b = appendNumbers(appendNumbers(appendFloats(append(b, 29), m.StandardDeviation), m.Sensitivities), m.Probabilities)
	case mechanism.TreeAggregation:
		b = appendFloats(append(b, 30), m.StandardDeviation, m.Sensitivity, m.NoiseMultiplier)
		b = appendWhole(b, m.Steps, m.Participations, m.MinimumSeparation)
	case mechanism.BandedMatrix:
		b = appendFloats(append(b, 31), m.StandardDeviation, m.Sensitivity, m.NoiseMultiplier)
		b = appendWhole(appendNumbers(b, m.Coefficients), m.Steps, m.Participations, m.MinimumSeparation)
	default:
		return b, false
	}
	return b, true
}

func appendWhole(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

// appendRecordedSampling is appendRecorded's message of them; 0 for any other kind.
func appendRecordedSampling(p []byte, m mechanism.Mechanism) (protowire.Number, []byte) {
	switch m := m.(type) {
	case mechanism.Group:
		return 23, appendInner(appendNumber(p, 1, m.Size), 2, m.Mechanism)
	case mechanism.FixedSizeSampled:
		return 26, appendInner(appendNumber(appendNumber(p, 1, m.BatchSize), 2, m.DatasetSize), 3, m.Mechanism)
	case mechanism.TruncatedPoissonSampled:
		p = appendNumber(appendNumber(appendGiven(p, m.SamplingProbability), 2, m.BatchSize), 3, m.DatasetSize)
		return 27, appendInner(appendNumber(p, 4, m.MaximumBatchSize), 5, m.Mechanism)
	case mechanism.Shuffled:
		return 28, appendInner(appendNumber(appendNumber(p, 1, m.BatchSize), 2, m.DatasetSize), 3, m.Mechanism)
	case mechanism.MixtureOfGaussians:
		return 29, appendPacked(appendPacked(appendGiven(p, m.StandardDeviation), 2, m.Sensitivities), 3, m.Probabilities)
	case mechanism.TreeAggregation:
		p = appendGiven(p, m.StandardDeviation, m.Sensitivity, m.NoiseMultiplier)
		return 30, appendNumber(appendNumber(appendNumber(p, 4, m.Steps), 5, m.Participations), 6, m.MinimumSeparation)
	case mechanism.BandedMatrix:
		p = appendPacked(appendGiven(p, m.StandardDeviation, m.Sensitivity, m.NoiseMultiplier), 4, m.Coefficients)
		return 31, appendNumber(appendNumber(appendNumber(p, 5, m.Steps), 6, m.Participations), 7, m.MinimumSeparation)
	}
	return 0, p
}

func appendInner(b []byte, field protowire.Number, m mechanism.Mechanism) []byte {
	if m == nil {
		return b
	}
	var room [64]byte
	return protowire.AppendBytes(appendTag(b, field), appendRecorded(room[:0], m))
}
