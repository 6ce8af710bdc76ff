package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Noise added to numbers.

const allowedWhole = "a whole number from 1 to 2^53, or absent"

func toNoise(f *fields, m *pb.Mechanism, _ int) mechanism.Mechanism {
	switch k := m.Kind.(type) {
	case *pb.Mechanism_Gaussian:
		g := orEmpty(k.Gaussian)
		f.known("gaussian", g)
		return mechanism.Gaussian{
			StandardDeviation: f.float("gaussian.standard_deviation", g.StandardDeviation, allowedPositive),
			Sensitivity:       f.float("gaussian.sensitivity", g.Sensitivity, allowedPositive),
			Distance:          f.float("gaussian.distance", g.Distance, allowedPositive),
			NoiseMultiplier:   f.float("gaussian.noise_multiplier", g.NoiseMultiplier, allowedPositive),
		}
	case *pb.Mechanism_Laplace:
		l := orEmpty(k.Laplace)
		f.known("laplace", l)
		return mechanism.Laplace{
			Scale:       f.float("laplace.scale", l.Scale, allowedRequired),
			Sensitivity: f.float("laplace.sensitivity", l.Sensitivity, allowedPositive),
			Distance:    f.float("laplace.distance", l.Distance, allowedPositive),
		}
	case *pb.Mechanism_DiscreteGaussian:
		g := orEmpty(k.DiscreteGaussian)
		f.known("discrete_gaussian", g)
		return mechanism.DiscreteGaussian{
			StandardDeviation: f.float("discrete_gaussian.standard_deviation", g.StandardDeviation, allowedRequired),
			Sensitivity:       f.float("discrete_gaussian.sensitivity", g.Sensitivity, allowedPositive),
			Distance:          f.float("discrete_gaussian.distance", g.Distance, allowedPositive),
			Coordinates:       f.whole("discrete_gaussian.coordinates", g.Coordinates, allowedWhole),
		}
	case *pb.Mechanism_DiscreteLaplace:
		l := orEmpty(k.DiscreteLaplace)
		f.known("discrete_laplace", l)
		return mechanism.DiscreteLaplace{
			Scale:       f.float("discrete_laplace.scale", l.Scale, allowedRequired),
			Sensitivity: f.float("discrete_laplace.sensitivity", l.Sensitivity, allowedWhole),
			Distance:    f.float("discrete_laplace.distance", l.Distance, allowedWhole),
		}
	case *pb.Mechanism_TruncatedLaplace:
		l := orEmpty(k.TruncatedLaplace)
		f.known("truncated_laplace", l)
		return mechanism.TruncatedLaplace{
			Scale:       f.float("truncated_laplace.scale", l.Scale, allowedRequired),
			Bound:       f.float("truncated_laplace.bound", l.Bound, allowedRequired),
			Sensitivity: f.float("truncated_laplace.sensitivity", l.Sensitivity, allowedPositive),
			Distance:    f.float("truncated_laplace.distance", l.Distance, allowedPositive),
		}
	case *pb.Mechanism_Histogram:
		h := orEmpty(k.Histogram)
		f.known("histogram", h)
		return mechanism.Histogram{
			LaplaceScale:      f.float("histogram.laplace_scale", h.LaplaceScale, allowedPositive),
			StandardDeviation: f.float("histogram.standard_deviation", h.StandardDeviation, allowedPositive),
		}
	case *pb.Mechanism_CountingQueries:
		c := orEmpty(k.CountingQueries)
		f.known("counting_queries", c)
		return mechanism.CountingQueries{
			Queries: f.whole("counting_queries.queries", c.Queries, allowedWhole),
			Rho:     f.float("counting_queries.rho", c.Rho, allowedRequired),
		}
	}
	return nil
}

func fromNoise(m mechanism.Mechanism) *pb.Mechanism {
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

func appendNoise(b []byte, m mechanism.Mechanism) []byte {
	switch m := m.(type) {
	case mechanism.Gaussian:
		return appendFloats(append(b, 1), m.StandardDeviation, m.Sensitivity, m.Distance, m.NoiseMultiplier)
	case mechanism.Laplace:
		return appendFloats(append(b, 2), m.Scale, m.Sensitivity, m.Distance)
	case mechanism.DiscreteGaussian:
		b = appendFloats(append(b, 9), m.StandardDeviation, m.Sensitivity, m.Distance)
		return appendWhole(b, m.Coordinates)
	case mechanism.DiscreteLaplace:
		return appendFloats(append(b, 10), m.Scale, m.Sensitivity, m.Distance)
	case mechanism.TruncatedLaplace:
		return appendFloats(append(b, 11), m.Scale, m.Bound, m.Sensitivity, m.Distance)
	case mechanism.Histogram:
		return appendFloats(append(b, 16), m.LaplaceScale, m.StandardDeviation)
	case mechanism.CountingQueries:
		return appendFloats(appendWhole(append(b, 17), m.Queries), m.Rho)
	}
	return nil
}

func recordNoise(p []byte, m mechanism.Mechanism) (protowire.Number, []byte) {
	switch m := m.(type) {
	case mechanism.Gaussian:
		return 1, appendGiven(p, m.StandardDeviation, m.Sensitivity, m.Distance, m.NoiseMultiplier)
	case mechanism.Laplace:
		return 2, appendGiven(p, m.Scale, m.Sensitivity, m.Distance)
	case mechanism.DiscreteGaussian:
		return 9, appendNumber(appendGiven(p, m.StandardDeviation, m.Sensitivity, m.Distance), 4, m.Coordinates)
	case mechanism.DiscreteLaplace:
		return 10, appendGiven(p, m.Scale, m.Sensitivity, m.Distance)
	case mechanism.TruncatedLaplace:
		return 11, appendGiven(p, m.Scale, m.Bound, m.Sensitivity, m.Distance)
	case mechanism.Histogram:
		return 16, appendGiven(p, m.LaplaceScale, m.StandardDeviation)
	case mechanism.CountingQueries:
		return 17, appendGivenFrom(appendNumber(p, 1, m.Queries), 2, m.Rho)
	}
	return 0, nil
}
