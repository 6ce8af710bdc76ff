package mechanism

import (
	"fmt"
	"math"
)

// MaxGroup bounds the records of a group, MaxSampledGroup those where every number of
// members in a batch is a part of a mixture.
const (
	MaxGroup        = 1 << 20
	MaxSampledGroup = MaxComponents - 1
)

// Group is Mechanism with Size records in the place of one: all of them added or
// removed, replaced or zeroed out.
type Group struct {
	// 1 … MaxGroup
	Size      uint64    `field:"1" role:"size" range:"1..2^20" need:"required"`
	Mechanism Mechanism `field:"2" role:"inside"`
}

// Kind is "group".
func (Group) Kind() string { return "group" }

const groupable = "noise, a selection, counts, shuffled, tree_aggregation or banded_matrix; gaussian_dp, zero_concentrated_dp, pure_dp, approximate_dp, randomized_response; " +
	"or poisson_sampled with gaussian, gaussian_dp, laplace, randomized_response or pure_dp inside"

// Check implements Mechanism: defined where the mechanism inside is. Refused is what the
// guarantee of one record says nothing of: tables of losses and of divergences, the best of
// several runs, other samples, and lists, of which each event is reported as a group.
func (g Group) Check(adj Adjacency) error {
	if g.Size == 0 || g.Size > MaxGroup {
		return &ParameterError{"group.size", countGiven(g.Size), "a whole number from 1 to 2^20"}
	}
	switch m := g.Mechanism.(type) {
	case nil:
		return &ParameterError{"group.mechanism", "missing", "the mechanism as it is for one record: " + groupable}
	case Group:
		return &ParameterError{"group.mechanism", m.Kind(), "one group with the product of both sizes"}
	case Composed:
		return &ParameterError{"group.mechanism", m.Kind(), "each event of the list as a group of its own"}
	case DPSGD:
		return &ParameterError{"group.mechanism", m.Kind(), "its steps: a group of poisson_sampled with gaussian inside, counted once a step"}
	case Gaussian, Laplace, GaussianDP, PureDP, RandomizedResponse, DiscreteGaussian, DiscreteLaplace, TruncatedLaplace,
		Exponential, ReportNoisyMax, InverseSensitivity, AboveThreshold, Histogram, CountingQueries, Shuffled, TreeAggregation, BandedMatrix:
	case ZeroConcentratedDP:
		if m.Delta != 0 {
			return &ParameterError{"group.mechanism.zero_concentrated_dp.delta", number(m.Delta), "absent: of approximate zCDP no guarantee of groups is known here"}
		}
	case ApproximateDP:
		if d := GroupDelta(m.Epsilon, m.Delta, g.Size); g.Size > 1 && !(d < 1) {
			return &ParameterError{"group.size", fmt.Sprint(g.Size), "fewer records: δ·(e^(size·ε) − 1)/(e^ε − 1) is 1 or more, which guarantees nothing"}
		}
	case PoissonSampled:
		if err := g.checkSampled(m); err != nil {
			return err
		}
	default:
		return &ParameterError{"group.mechanism", m.Kind(), groupable}
	}
	return firstError(checkWithin("group.mechanism", g.Mechanism, adj), g.checkDistance(adj))
}

// checkDistance refuses groups whose outputs are further apart than the noise can tell:
// beyond the whole numbers that float64 has, or not overlapping.
func (g Group) checkDistance(adj Adjacency) error {
	var one, end float64
	switch m := g.Mechanism.(type) {
	case DiscreteGaussian:
		if m.Coordinates > 1 {
			return nil
		}
		_, one = m.Ratio(adj)
		end = MaxWhole
	case DiscreteLaplace:
		_, one = m.Ratio(adj)
		end = MaxWhole
	case TruncatedLaplace:
		_, one = m.Ratio(adj)
		end = math.Nextafter(2*m.Bound, 0) // room for a product that is rounded up
	default:
		return nil
	}
	if float64(g.Size)*one < end {
		return nil
	}
	return &ParameterError{"group.size", fmt.Sprint(g.Size), fmt.Sprintf("fewer records: size times the distance %s of one must be below %s", number(one), number(end))}
}

// checkSampled takes noise whose members add up, and what has an ε.
func (g Group) checkSampled(p PoissonSampled) error {
	switch p.Mechanism.(type) {
	case Gaussian, GaussianDP:
		if g.Size > MaxSampledGroup {
			return &ParameterError{"group.size", fmt.Sprint(g.Size), fmt.Sprintf("at most %d with sampling: every number of members in the batch is a part of the mixture", MaxSampledGroup)}
		}
	case Laplace, RandomizedResponse, PureDP:
	case nil: // PoissonSampled's Check says so
	default:
		return &ParameterError{"group.mechanism.poisson_sampled.mechanism", p.Mechanism.Kind(), "gaussian, gaussian_dp, laplace, randomized_response or pure_dp"}
	}
	return nil
}

// checkWithin checks the mechanism that another one runs in the field.
func checkWithin(field string, m Mechanism, adj Adjacency) error {
	err := m.Check(adj)
	if pe, ok := err.(*ParameterError); ok && pe.Field != "adjacency" {
		pe.Field = field + "." + pe.Field
	}
	return err
}

// GroupDelta is δ·(e^{kε} − 1)/(e^ε − 1), the δ of k records where one has (ε, δ),
// within a relative 1e-12 of rounding; maybe +Inf.
func GroupDelta(epsilon, delta float64, k uint64) float64 {
	if k == 1 {
		return delta
	}
	n := float64(k)
	if epsilon < 600 && n*epsilon < 600 {
		return delta * (math.Expm1(n*epsilon) / math.Expm1(epsilon))
	}
	return math.Exp(math.Log(delta) + (n-1)*epsilon - math.Log1p(-math.Exp(-epsilon)))
}

func countGiven(n uint64) string {
	if n == 0 {
		return "missing or 0"
	}
	return fmt.Sprint(n)
}

func (g Group) String() string { return fmt.Sprintf("group(%d, %v)", g.Size, g.Mechanism) }

func (Group) sealed() {}
