// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math/big"
)

// Ways to make batches other than a Poisson sample.

// FixedSizeSampled runs Mechanism once on BatchSize of DatasetSize records drawn
// without replacement, a fresh batch every time.
type FixedSizeSampled struct {
	// 1 … DatasetSize
	BatchSize uint64 `field:"1" role:"size" range:"1..2^53"`
	// 1 … MaxDatasetSize
	DatasetSize uint64    `field:"2" role:"size" range:"1..2^53"`
	Mechanism   Mechanism `field:"3" role:"inside"`
}

// Kind is "fixed_size_sampled".
func (FixedSizeSampled) Kind() string { return "fixed_size_sampled" }

func (FixedSizeSampled) number() int { return 26 }

// Check implements Mechanism: defined under REPLACE_ONE.
func (f FixedSizeSampled) Check(adj Adjacency) error {
	if err := checkSizes("fixed_size_sampled", f.BatchSize, f.DatasetSize); err != nil {
		return err
	}
	if err := checkPlace("fixed_size_sampled.mechanism", f.Mechanism, onFixedSizeSample,
		"the mechanism that is run on the batch"); err != nil {
		return err
	}
	if err := checkNoDistance("fixed_size_sampled.mechanism", f.Mechanism); err != nil {
		return err
	}
	if err := checkWithin("fixed_size_sampled.mechanism", f.Mechanism, ReplaceOne); err != nil {
		return err
	}
	if adj.Valid() && adj != ReplaceOne {
		return &AdjacencyError{"fixed_size_sampled", adj,
			"a batch of fixed size without a record holds another one in its place",
			"a ledger under REPLACE_ONE; or poisson_sampled, if that is what was run"}
	}
	return checkAdjacency(adj)
}

// Rate is BatchSize/DatasetSize, rounded up. It must have passed Check.
func (f FixedSizeSampled) Rate() float64 {
	return PoissonSampled{BatchSize: f.BatchSize, DatasetSize: f.DatasetSize}.Probability()
}

func (f FixedSizeSampled) String() string {
	return fmt.Sprintf("fixed_size_sampled(%d of %d, %v)", f.BatchSize, f.DatasetSize, f.Mechanism)
}

func (f FixedSizeSampled) exactMuSquared(adj Adjacency) *big.Rat {
	return ExactMuSquared(f.Mechanism, adj)
}

func (FixedSizeSampled) places() place { return nowhere }

// TruncatedPoissonSampled is PoissonSampled with samples of more than
// MaximumBatchSize records cut to that many. Either SamplingProbability or BatchSize
// is given, DatasetSize always.
type TruncatedPoissonSampled struct {
	// q in (0, 1)
	SamplingProbability float64 `field:"1" role:"probability" range:"(0,1)"`
	// expected sample, 1 … DatasetSize−1
	BatchSize uint64 `field:"2" role:"size" range:"1..2^53"`
	// 2 … MaxDatasetSize
	DatasetSize uint64 `field:"3" role:"size" range:"1..2^53"`
	// 1 … MaxDatasetSize
	MaximumBatchSize uint64    `field:"4" role:"size" range:"1..2^53"`
	Mechanism        Mechanism `field:"5" role:"inside"`
}

// Kind is "truncated_poisson_sampled".
func (TruncatedPoissonSampled) Kind() string { return "truncated_poisson_sampled" }

func (TruncatedPoissonSampled) number() int { return 27 }

// Check implements Mechanism: defined for every adjacency, for noise on a sum.
func (t TruncatedPoissonSampled) Check(adj Adjacency) error {
	const kind = "truncated_poisson_sampled"
	switch {
	case t.SamplingProbability != 0 && t.BatchSize != 0:
		return &ParameterError{kind + ".batch_size", "given together with sampling_probability",
			"exactly one of sampling_probability, batch_size"}
	case t.SamplingProbability == 0 && t.BatchSize == 0:
		return &ParameterError{kind + ".sampling_probability", "missing or 0", "a number in (0, 1), or batch_size"}
	case t.DatasetSize < 2 || t.DatasetSize > MaxDatasetSize:
		return &ParameterError{kind + ".dataset_size", countGiven(t.DatasetSize), "a whole number from 2 to 2^53"}
	case t.BatchSize >= t.DatasetSize:
		return &ParameterError{kind + ".batch_size", fmt.Sprint(t.BatchSize),
			fmt.Sprintf("a whole number from 1 to %d", t.DatasetSize-1)}
	case t.MaximumBatchSize == 0 || t.MaximumBatchSize > MaxDatasetSize:
		return &ParameterError{kind + ".maximum_batch_size", countGiven(t.MaximumBatchSize),
			"a whole number from 1 to 2^53"}
	}
	if t.SamplingProbability != 0 {
		if err := checkProbability(kind+".sampling_probability", t.SamplingProbability, true); err != nil {
			return err
		}
	}
	if err := checkPlace(kind+".mechanism", t.Mechanism, onTruncatedSample,
		"the mechanism that is run on the batch"); err != nil {
		return err
	}
	if err := checkNoDistance(kind+".mechanism", t.Mechanism); err != nil {
		return err
	}
	return checkWithin(kind+".mechanism", t.Mechanism, adj)
}

// Probability is q, rounded up where the quotient of the sizes is not exact. It must
// have passed Check.
func (t TruncatedPoissonSampled) Probability() float64 {
	return PoissonSampled{SamplingProbability: t.SamplingProbability, BatchSize: t.BatchSize,
		DatasetSize: t.DatasetSize}.Probability()
}

func (t TruncatedPoissonSampled) String() string {
	return fmt.Sprintf("truncated_poisson_sampled(q=%s, at most %d of %d, %v)", atMost(t.Probability()),
		t.MaximumBatchSize, t.DatasetSize, t.Mechanism)
}

func (TruncatedPoissonSampled) places() place { return nowhere }

// Shuffled is one epoch: every record in one of ⌈DatasetSize/BatchSize⌉ batches in a
// random order, and Mechanism on each.
type Shuffled struct {
	// 1 … DatasetSize
	BatchSize uint64 `field:"1" role:"size" range:"1..2^53"`
	// 1 … MaxDatasetSize
	DatasetSize uint64    `field:"2" role:"size" range:"1..2^53"`
	Mechanism   Mechanism `field:"3" role:"inside"`
}

// Kind is "shuffled".
func (Shuffled) Kind() string { return "shuffled" }

func (Shuffled) number() int { return 28 }

// Check implements Mechanism: defined for every adjacency, for Gaussian noise.
func (s Shuffled) Check(adj Adjacency) error {
	if err := checkSizes("shuffled", s.BatchSize, s.DatasetSize); err != nil {
		return err
	}
	if err := checkPlace("shuffled.mechanism", s.Mechanism, onShuffledBatch,
		"the mechanism that is run on each batch"); err != nil {
		return err
	}
	if err := checkNoDistance("shuffled.mechanism", s.Mechanism); err != nil {
		return err
	}
	return checkWithin("shuffled.mechanism", s.Mechanism, adj)
}

// Steps is the number of batches of the epoch.
func (s Shuffled) Steps() uint64 { return (s.DatasetSize-1)/s.BatchSize + 1 }

// Squares is the square of the largest distance between neighbours' sums of all
// batches, in units of the distance of one batch: 1, and 5 under ADD_OR_REMOVE_ONE
// if there are several batches (docs/math/shuffling.md §1.8.5).
func (s Shuffled) Squares(adj Adjacency) uint64 {
	if adj == AddOrRemoveOne && s.Steps() > 1 {
		return 5
	}
	return 1
}

func (s Shuffled) String() string {
	return fmt.Sprintf("shuffled(one epoch of %d, batches of %d, %v)", s.DatasetSize, s.BatchSize, s.Mechanism)
}

// exactMuSquared is that of all batches together (docs/math/shuffling.md §1.8.5).
func (s Shuffled) exactMuSquared(adj Adjacency) *big.Rat {
	squared := ExactMuSquared(s.Mechanism, adj)
	if squared == nil {
		return nil
	}
	return squared.Mul(squared, whole(s.Squares(adj)))
}

func (Shuffled) places() place { return inGroup }

func checkSizes(kind string, batch, dataset uint64) error {
	switch {
	case dataset == 0 || dataset > MaxDatasetSize:
		return &ParameterError{kind + ".dataset_size", countGiven(dataset), "a whole number from 1 to 2^53"}
	case batch == 0 || batch > dataset:
		return &ParameterError{kind + ".batch_size", countGiven(batch),
			fmt.Sprintf("a whole number from 1 to the dataset size %d", dataset)}
	}
	return nil
}
