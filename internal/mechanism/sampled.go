package mechanism

import (
	"fmt"
	"math"
	"math/big"
)

// PoissonSampled runs Mechanism once on a batch that holds each record
// independently with the sampling probability q, a fresh batch every time: a
// batch that is used k times is one sample of a composition, not k of these. Either
// SamplingProbability is given, or BatchSize (the expected one) with DatasetSize;
// both sizes must be public.
type PoissonSampled struct {
	// q in (0, 1]
	SamplingProbability float64 `field:"1" role:"probability" range:"(0,1]"`
	// expected batch size, 1 … DatasetSize
	BatchSize uint64 `field:"2" role:"size" range:"1..2^53"`
	// number of records
	DatasetSize uint64    `field:"3" role:"size" range:"1..2^53"`
	Mechanism   Mechanism `field:"4" role:"inside"`
}

// MaxDatasetSize bounds DatasetSize so that batch/dataset is one correctly
// rounded division of exact numbers.
const MaxDatasetSize = 1 << 53

// Kind is "poisson_sampled".
func (PoissonSampled) Kind() string { return "poisson_sampled" }

// Check implements Mechanism. Gaussian and Laplace noise can be sampled under
// every adjacency, if given by what one record contributes; randomized response
// where it is defined: a record outside the batch gives no answer. Discrete noise on one
// number and truncated noise not under REPLACE_ONE. The declared guarantees and tables,
// ρ-zCDP and Rényi bounds excepted, only under ADD_OR_REMOVE_ONE: elsewhere they say nothing
// of a batch without the record.
func (p PoissonSampled) Check(adj Adjacency) error {
	if err := p.checkRate(); err != nil {
		return err
	}
	switch m := p.Mechanism.(type) {
	case nil:
		return &ParameterError{"poisson_sampled.mechanism", "missing", "the mechanism that is run on the sample: " + sampleable}
	case Gaussian:
		return p.checkInner(adj, m.Distance, "sensitivity or noise_multiplier")
	case Laplace:
		return p.checkInner(adj, m.Distance, "sensitivity")
	case RandomizedResponse:
		return p.checkInner(adj, 0, "")
	case DiscreteLaplace:
		return firstError(p.checkInner(adj, m.Distance, "sensitivity"), p.checkOneSided(adj))
	case TruncatedLaplace:
		return firstError(p.checkInner(adj, m.Distance, "sensitivity"), p.checkOneSided(adj))
	case DiscreteGaussian:
		if m.Coordinates > 1 {
			return &ParameterError{"poisson_sampled.mechanism.discrete_gaussian.coordinates", fmt.Sprint(m.Coordinates),
				"1, or gaussian in its place: of several coordinates no pair of distributions is known, and sampling lowers no ρ for all orders"}
		}
		return firstError(p.checkInner(adj, m.Distance, "sensitivity"), p.checkOneSided(adj))
	case Composed:
		return p.checkComposed(adj, m)
	case PureDP, ApproximateDP, GaussianDP, PrivacyLossTable:
		err := p.checkInner(adj, 0, "")
		if err == nil && adj != AddOrRemoveOne {
			err = &AdjacencyError{"poisson_sampled", adj,
				"a " + m.Kind() + " guarantee between batches of one size says nothing of the batch without the record, so sampling does not lower its ε",
				"the guarantee unsampled, gaussian or laplace in it, or a ledger under ADD_OR_REMOVE_ONE"}
		}
		return err
	case ZeroConcentratedDP:
		return &ParameterError{"poisson_sampled.mechanism", m.Kind() + ": no pair of distributions is known for it, and sampling lowers no ρ for all orders",
			sampleable + "; or the guarantee unsampled"}
	default:
		return &ParameterError{"poisson_sampled.mechanism", m.Kind(), sampleable}
	}
}

// checkOneSided refuses REPLACE_ONE where the pair of a replaced record is not known.
func (p PoissonSampled) checkOneSided(adj Adjacency) error {
	if adj != ReplaceOne {
		return nil
	}
	return &AdjacencyError{"poisson_sampled", adj,
		"of a " + p.Mechanism.Kind() + " on a sample only the pair with and without a record is known",
		"gaussian or laplace in it, it unsampled, or a ledger under ADD_OR_REMOVE_ONE or ZERO_OUT"}
}

const sampleable = "gaussian, laplace, discrete_gaussian of one coordinate, discrete_laplace, truncated_laplace, randomized_response, pure_dp, approximate_dp, gaussian_dp or privacy_loss_table, or a composed of gaussian alone"

// checkComposed: k uses of one sample are one sample of their composition, whose
// pair is known where all are Gaussian: it is one Gaussian.
func (p PoissonSampled) checkComposed(adj Adjacency, c Composed) error {
	if err := p.checkInner(adj, 0, ""); err != nil {
		return err
	}
	for _, part := range Expand(c) {
		switch m := part.Mechanism.(type) {
		case Gaussian:
			if m.Distance == 0 {
				continue
			}
			return &ParameterError{"poisson_sampled.mechanism.composed.events", "a gaussian by distance",
				"sensitivity or noise_multiplier: a distance between neighbours has no meaning inside sampling"}
		default:
			return &ParameterError{"poisson_sampled.mechanism.composed.events", "a " + m.Kind(),
				"gaussian only: several uses of one sample lose more than as many samples, and no pair is computed for them; report the mechanisms unsampled, or each with a batch of its own if it had one"}
		}
	}
	return nil
}

// checkInner checks the mechanism inside; allowed is what it takes in place of a
// distance.
func (p PoissonSampled) checkInner(adj Adjacency, distance float64, allowed string) error {
	const within = "poisson_sampled.mechanism."
	if distance != 0 {
		return &ParameterError{within + p.Mechanism.Kind() + ".distance", number(distance),
			allowed + ": a distance between neighbours has no meaning inside sampling"}
	}
	err := p.Mechanism.Check(adj)
	if pe, ok := err.(*ParameterError); ok && pe.Field != "adjacency" {
		pe.Field = within + pe.Field
	}
	return err
}

func (p PoissonSampled) checkRate() error {
	if p.SamplingProbability != 0 {
		if p.BatchSize != 0 || p.DatasetSize != 0 {
			return &ParameterError{"poisson_sampled.sampling_probability", number(p.SamplingProbability) + " together with sizes",
				"sampling_probability alone, or batch_size with dataset_size"}
		}
		return checkProbability("poisson_sampled.sampling_probability", p.SamplingProbability, false)
	}
	switch {
	case p.BatchSize == 0 && p.DatasetSize == 0:
		return &ParameterError{"poisson_sampled.sampling_probability", "missing or 0", "a number in (0, 1], or batch_size with dataset_size"}
	case p.DatasetSize == 0 || p.DatasetSize > MaxDatasetSize:
		return &ParameterError{"poisson_sampled.dataset_size", fmt.Sprint(p.DatasetSize), "a whole number from 1 to 2^53"}
	case p.BatchSize == 0 || p.BatchSize > p.DatasetSize:
		return &ParameterError{"poisson_sampled.batch_size", fmt.Sprint(p.BatchSize),
			fmt.Sprintf("a whole number from 1 to the dataset size %d", p.DatasetSize)}
	}
	return nil
}

// Probability is q, rounded up where the quotient of the sizes is not exact
// (privacy loss grows with q). It must have passed Check. See docs/math/README.md §0.3.
func (p PoissonSampled) Probability() float64 {
	if p.SamplingProbability != 0 {
		return p.SamplingProbability
	}
	n, d := float64(p.BatchSize), float64(p.DatasetSize)
	q := n / d
	if math.FMA(q, d, -n) < 0 {
		q = math.Nextafter(q, 2)
	}
	return q
}

func (p PoissonSampled) String() string {
	return fmt.Sprintf("poisson_sampled(q=%.6g, %v)", p.Probability(), p.Mechanism)
}

func (p PoissonSampled) exactMuSquared(adj Adjacency) *big.Rat {
	return ExactMuSquared(p.Mechanism, adj)
}

func (PoissonSampled) sealed() {}
