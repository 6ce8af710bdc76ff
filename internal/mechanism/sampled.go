// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
	"math/big"
	"slices"
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

func (PoissonSampled) number() int { return 3 }

// Check implements Mechanism. Gaussian and Laplace noise can be sampled under
// every adjacency, if given by what one record contributes; randomized response
// where it is defined: a record outside the batch gives no answer. Discrete noise
// and truncated noise not under REPLACE_ONE. The declared guarantees and tables only
// under ADD_OR_REMOVE_ONE: elsewhere they say nothing of a batch without the record.
func (p PoissonSampled) Check(adj Adjacency) error {
	if err := p.checkRate(); err != nil {
		return err
	}
	const field = "poisson_sampled.mechanism"
	if err := checkPlace(field, p.Mechanism, onPoissonSample, "the mechanism that is run on the sample"); err != nil {
		return err
	}
	if err := firstError(checkNoDistance(field, p.Mechanism), checkWithin(field, p.Mechanism, adj)); err != nil {
		return err
	}
	if u, ok := p.Mechanism.(sampledUnder); ok {
		return u.checkSampledUnder(adj)
	}
	return nil
}

func (p PoissonSampled) checkRate() error {
	if p.SamplingProbability != 0 {
		if p.BatchSize != 0 || p.DatasetSize != 0 {
			return &ParameterError{"poisson_sampled.sampling_probability",
				number(p.SamplingProbability) + " together with sizes",
				"sampling_probability alone, or batch_size with dataset_size"}
		}
		return checkProbability("poisson_sampled.sampling_probability", p.SamplingProbability, false)
	}
	switch {
	case p.BatchSize == 0 && p.DatasetSize == 0:
		return &ParameterError{"poisson_sampled.sampling_probability", "missing or 0",
			"a number in (0, 1], or batch_size with dataset_size"}
	case p.DatasetSize == 0 || p.DatasetSize > MaxDatasetSize:
		return &ParameterError{"poisson_sampled.dataset_size", fmt.Sprint(p.DatasetSize),
			"a whole number from 1 to 2^53"}
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
	return fmt.Sprintf("poisson_sampled(q=%s, %v)", atMost(p.Probability()), p.Mechanism)
}

func (p PoissonSampled) exactMuSquared(adj Adjacency) *big.Rat {
	return ExactMuSquared(p.Mechanism, adj)
}

// places: a group of a sample takes noise whose members add up, and what has an ε.
func (p PoissonSampled) places() place {
	if p.Mechanism == nil || p.Mechanism.places().has(inSampledGroup) { // of nil its own Check says so
		return inGroup
	}
	return nowhere
}

func (p PoissonSampled) refusal(where place) *ParameterError {
	if where != inGroup {
		return nil
	}
	return &ParameterError{"poisson_sampled.mechanism", p.Mechanism.Kind(), allowedAt(inSampledGroup)}
}

func (p PoissonSampled) checkGroupSize(size uint64) error {
	if p.Mechanism != nil && p.Mechanism.places().has(asMixture) && size > MaxSampledGroup {
		return &ParameterError{"size", fmt.Sprint(size),
			fmt.Sprintf("at most %d with sampling: every number of members in the batch is a part of the mixture",
				MaxSampledGroup)}
	}
	return nil
}

func (p PoissonSampled) failsUnevenly() string {
	if _, ok := p.Mechanism.(interface{ failsUnevenlyOnSample() }); ok {
		return "poisson_sampled " + p.Mechanism.Kind()
	}
	return ""
}

// drawing is a kind that draws by chance who takes part in which step.
type drawing interface{ draws() }

func (PoissonSampled) draws()          {}
func (TruncatedPoissonSampled) draws() {}
func (FixedSizeSampled) draws()        {}
func (RandomAllocation) draws()        {}
func (SampledMatrix) draws()           {}
func (AllocatedMatrix) draws()         {}
func (MixtureOfGaussians) draws()      {} // how far a record moves it

// Drawn reports whether m, or what it runs, draws who takes part in which step: then it matters to a person with
// several rows whether these are drawn together.
func Drawn(m Mechanism) bool {
	return slices.ContainsFunc(Expand(m), func(p Part) bool {
		_, draws := p.Mechanism.(drawing)
		return draws || slices.ContainsFunc(Inside(p.Mechanism), Drawn)
	})
}
