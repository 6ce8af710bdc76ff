package mechanism

import (
	"fmt"
	"math"
)

// PoissonSampled runs Mechanism on a batch that holds each record independently
// with the sampling probability q. Either SamplingProbability is given, or
// BatchSize (the expected one) with DatasetSize; both sizes must be public.
type PoissonSampled struct {
	SamplingProbability float64 // q in (0, 1]
	BatchSize           uint64  // expected batch size, 1 … DatasetSize
	DatasetSize         uint64  // number of records
	Mechanism           Mechanism
}

// MaxDatasetSize bounds DatasetSize so that batch/dataset is one correctly
// rounded division of exact numbers.
const MaxDatasetSize = 1 << 53

// Kind is "poisson_sampled".
func (PoissonSampled) Kind() string { return "poisson_sampled" }

// Check implements Mechanism: a Gaussian given by its sensitivity or noise
// multiplier can be sampled, under every adjacency.
func (p PoissonSampled) Check(adj Adjacency) error {
	if err := p.checkRate(); err != nil {
		return err
	}
	switch m := p.Mechanism.(type) {
	case nil:
		return &ParameterError{"poisson_sampled.mechanism", "missing", "the mechanism that is run on the sample: gaussian"}
	case Gaussian:
		if m.Distance != 0 {
			return &ParameterError{"poisson_sampled.mechanism.gaussian.distance", number(m.Distance),
				"sensitivity or noise_multiplier: a distance between neighbours has no meaning inside sampling"}
		}
		if err := m.Check(adj); err != nil {
			if pe, ok := err.(*ParameterError); ok && pe.Field != "adjacency" {
				pe.Field = "poisson_sampled.mechanism." + pe.Field
			}
			return err
		}
		return nil
	default:
		return &ParameterError{"poisson_sampled.mechanism", m.Kind(), "gaussian"}
	}
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
// (privacy loss grows with q). It must have passed Check.
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

func (PoissonSampled) sealed() {}
