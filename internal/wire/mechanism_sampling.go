package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Samples of the records, groups of records, and mixtures.

const (
	allowedRate = "a number in (0, 1], or absent"
	allowedSize = "a whole number from 1 to 2^53, or absent"
)

func toSampling(f *fields, m *pb.Mechanism, depth int) mechanism.Mechanism {
	switch k := m.Kind.(type) {
	case *pb.Mechanism_PoissonSampled:
		p := orEmpty(k.PoissonSampled)
		f.known("poisson_sampled", p)
		return mechanism.PoissonSampled{
			SamplingProbability: f.float("poisson_sampled.sampling_probability", p.SamplingProbability, allowedRate),
			BatchSize:           f.whole("poisson_sampled.batch_size", p.BatchSize, allowedSize),
			DatasetSize:         f.whole("poisson_sampled.dataset_size", p.DatasetSize, allowedSize),
			Mechanism:           f.inner("poisson_sampled.mechanism", p.Mechanism, depth),
		}
	case *pb.Mechanism_FixedSizeSampled:
		s := orEmpty(k.FixedSizeSampled)
		f.known("fixed_size_sampled", s)
		return mechanism.FixedSizeSampled{
			BatchSize:   f.whole("fixed_size_sampled.batch_size", s.BatchSize, allowedSize),
			DatasetSize: f.whole("fixed_size_sampled.dataset_size", s.DatasetSize, allowedSize),
			Mechanism:   f.inner("fixed_size_sampled.mechanism", s.Mechanism, depth),
		}
	case *pb.Mechanism_TruncatedPoissonSampled:
		s := orEmpty(k.TruncatedPoissonSampled)
		f.known("truncated_poisson_sampled", s)
		return mechanism.TruncatedPoissonSampled{
			SamplingProbability: f.float("truncated_poisson_sampled.sampling_probability", s.SamplingProbability, allowedChance),
			BatchSize:           f.whole("truncated_poisson_sampled.batch_size", s.BatchSize, allowedSize),
			DatasetSize:         f.whole("truncated_poisson_sampled.dataset_size", s.DatasetSize, allowedSize),
			MaximumBatchSize:    f.whole("truncated_poisson_sampled.maximum_batch_size", s.MaximumBatchSize, allowedSize),
			Mechanism:           f.inner("truncated_poisson_sampled.mechanism", s.Mechanism, depth),
		}
	case *pb.Mechanism_Shuffled:
		s := orEmpty(k.Shuffled)
		f.known("shuffled", s)
		return mechanism.Shuffled{
			BatchSize:   f.whole("shuffled.batch_size", s.BatchSize, allowedSize),
			DatasetSize: f.whole("shuffled.dataset_size", s.DatasetSize, allowedSize),
			Mechanism:   f.inner("shuffled.mechanism", s.Mechanism, depth),
		}
	case *pb.Mechanism_Group:
		g := orEmpty(k.Group)
		f.known("group", g)
		return mechanism.Group{
			Size:      f.whole("group.size", g.Size, "a whole number from 1 to 2^20"),
			Mechanism: f.inner("group.mechanism", g.Mechanism, depth),
		}
	case *pb.Mechanism_MixtureOfGaussians:
		x := orEmpty(k.MixtureOfGaussians)
		f.known("mixture_of_gaussians", x)
		return mechanism.MixtureOfGaussians{
			StandardDeviation: f.float("mixture_of_gaussians.standard_deviation", x.StandardDeviation, allowedRequired),
			Sensitivities:     f.list("mixture_of_gaussians.sensitivities", x.Sensitivities, mechanism.MaxComponents),
			Probabilities:     f.list("mixture_of_gaussians.probabilities", x.Probabilities, mechanism.MaxComponents),
		}
	}
	return nil
}

func fromSampling(m mechanism.Mechanism) *pb.Mechanism {
	switch m := m.(type) {
	case mechanism.PoissonSampled:
		return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{
			SamplingProbability: given(m.SamplingProbability), BatchSize: given(m.BatchSize),
			DatasetSize: given(m.DatasetSize), Mechanism: FromMechanism(m.Mechanism),
		}}}
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
	case mechanism.Group:
		return &pb.Mechanism{Kind: &pb.Mechanism_Group{Group: &pb.Group{Size: given(m.Size), Mechanism: FromMechanism(m.Mechanism)}}}
	case mechanism.MixtureOfGaussians:
		return &pb.Mechanism{Kind: &pb.Mechanism_MixtureOfGaussians{MixtureOfGaussians: &pb.MixtureOfGaussians{
			StandardDeviation: given(m.StandardDeviation), Sensitivities: m.Sensitivities.Values(), Probabilities: m.Probabilities.Values(),
		}}}
	}
	return nil
}

func appendSampling(b []byte, m mechanism.Mechanism) []byte {
	switch m := m.(type) {
	case mechanism.PoissonSampled:
		b = appendWhole(appendFloats(append(b, 3), m.SamplingProbability), m.BatchSize, m.DatasetSize)
		return appendMechanism(b, m.Mechanism)
	case mechanism.FixedSizeSampled:
		return appendMechanism(appendWhole(append(b, 26), m.BatchSize, m.DatasetSize), m.Mechanism)
	case mechanism.TruncatedPoissonSampled:
		b = appendWhole(appendFloats(append(b, 27), m.SamplingProbability), m.BatchSize, m.DatasetSize, m.MaximumBatchSize)
		return appendMechanism(b, m.Mechanism)
	case mechanism.Shuffled:
		return appendMechanism(appendWhole(append(b, 28), m.BatchSize, m.DatasetSize), m.Mechanism)
	case mechanism.Group:
		return appendMechanism(appendWhole(append(b, 23), m.Size), m.Mechanism)
	case mechanism.MixtureOfGaussians:
		return appendNumbers(appendNumbers(appendFloats(append(b, 29), m.StandardDeviation), m.Sensitivities), m.Probabilities)
	}
	return nil
}

func recordSampling(p []byte, m mechanism.Mechanism) (protowire.Number, []byte) {
	switch m := m.(type) {
	case mechanism.PoissonSampled:
		p = appendNumber(appendNumber(appendGiven(p, m.SamplingProbability), 2, m.BatchSize), 3, m.DatasetSize)
		return 3, appendInner(p, 4, m.Mechanism)
	case mechanism.FixedSizeSampled:
		return 26, appendInner(appendNumber(appendNumber(p, 1, m.BatchSize), 2, m.DatasetSize), 3, m.Mechanism)
	case mechanism.TruncatedPoissonSampled:
		p = appendNumber(appendNumber(appendGiven(p, m.SamplingProbability), 2, m.BatchSize), 3, m.DatasetSize)
		return 27, appendInner(appendNumber(p, 4, m.MaximumBatchSize), 5, m.Mechanism)
	case mechanism.Shuffled:
		return 28, appendInner(appendNumber(appendNumber(p, 1, m.BatchSize), 2, m.DatasetSize), 3, m.Mechanism)
	case mechanism.Group:
		return 23, appendInner(appendNumber(p, 1, m.Size), 2, m.Mechanism)
	case mechanism.MixtureOfGaussians:
		return 29, appendPacked(appendPacked(appendGiven(p, m.StandardDeviation), 2, m.Sensitivities), 3, m.Probabilities)
	}
	return 0, nil
}
