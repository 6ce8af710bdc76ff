// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
	"math/big"
)

// DPSGD is one training run by DP-SGD (Abadi et al. 2016, arXiv 1607.00133,
// Alg. 1): every step draws a batch that holds each record independently with
// probability BatchSize·Accumulation/DatasetSize, clips every record's gradient to
// an ℓ2 norm of MaxGradNorm and adds normal noise of standard deviation
// NoiseMultiplier·MaxGradNorm once to their sum. It costs what its steps cost when
// reported one by one as PoissonSampled.
//
// A batch that is made by shuffling is not a Poisson sample and has no such
// guarantee (Chua et al. 2024, arXiv 2403.17673): this is not its descriptor.
type DPSGD struct {
	// σ/Δ, without units; > 0
	NoiseMultiplier float64 `field:"1" role:"scale" range:">0" need:"required"`
	// Δ, the clipping norm; > 0, or 0 where it is not told: it does not matter
	MaxGradNorm float64 `field:"2" role:"norm" range:">0"`
	// passes over the dataset; > 0, or 0 with Steps
	Epochs float64 `field:"5" role:"size" range:">0"`
	// expected number of records drawn at once, or in one piece of a step's batch; ≥ 1
	BatchSize uint64 `field:"3" role:"size" range:"1..2^53"`
	// number of records, 1 … MaxDatasetSize
	DatasetSize uint64 `field:"4" role:"size" range:"1..2^53"`
	// number of times that noise is added, 1 … 2³² − 1; 0 with Epochs
	Steps uint64 `field:"6" role:"size" range:">=1"`
	// pieces of one batch before noise is added once; 0 stands for 1
	Accumulation uint64 `field:"7" role:"size" range:">=1"`
}

// Kind is "dp_sgd".
func (DPSGD) Kind() string { return "dp_sgd" }

func (DPSGD) number() int { return 32 }

func (DPSGD) aliases() []string { return []string{"sgd"} }

// Check implements Mechanism: defined for every adjacency.
func (d DPSGD) Check(adj Adjacency) error {
	if err := checkPositive("dp_sgd.noise_multiplier", d.NoiseMultiplier); err != nil {
		return err
	}
	if d.MaxGradNorm != 0 {
		if err := checkPositive("dp_sgd.max_grad_norm", d.MaxGradNorm); err != nil {
			return err
		}
	}
	switch {
	case d.DatasetSize == 0 || d.DatasetSize > MaxDatasetSize:
		return &ParameterError{"dp_sgd.dataset_size", fmt.Sprint(d.DatasetSize), "a whole number from 1 to 2^53"}
	case d.BatchSize == 0 || d.BatchSize > d.DatasetSize:
		return &ParameterError{"dp_sgd.batch_size", fmt.Sprint(d.BatchSize),
			fmt.Sprintf("a whole number from 1 to the dataset size %d", d.DatasetSize)}
	case d.Accumulation > d.DatasetSize/d.BatchSize:
		return &ParameterError{"dp_sgd.accumulation", fmt.Sprint(d.Accumulation),
			fmt.Sprintf("a whole number from 1 to %d: dataset_size/batch_size", d.DatasetSize/d.BatchSize)}
	}
	switch {
	case d.Epochs == 0 && d.Steps == 0:
		return &ParameterError{"dp_sgd.epochs", "missing", "exactly one of epochs, steps"}
	case d.Epochs != 0 && d.Steps != 0:
		return &ParameterError{"dp_sgd.steps", "given together with epochs", "exactly one of epochs, steps"}
	case d.Steps > maxApplications:
		return &ParameterError{"dp_sgd.steps", fmt.Sprint(d.Steps), "a whole number from 1 to 4294967295"}
	case d.Epochs != 0:
		if err := checkPositive("dp_sgd.epochs", d.Epochs); err != nil {
			return err
		}
		if d.stepCount() == 0 {
			return &ParameterError{"dp_sgd.epochs", number(d.Epochs), "epochs of at most 4294967295 steps in all"}
		}
	}
	return checkAdjacency(adj)
}

// stepCount is the number of times that noise is added: Steps, or Epochs times the
// steps of an epoch, ⌈DatasetSize/(BatchSize·Accumulation)⌉, both rounded up, as
// data loaders that end with a smaller batch do. 0 where it is more than 2³² − 1.
func (d DPSGD) stepCount() uint64 {
	if d.Steps != 0 {
		return d.Steps
	}
	batch := d.batch()
	each := d.DatasetSize / batch
	if d.DatasetSize%batch != 0 {
		each++
	}
	epochs, ok := new(big.Rat).SetString(number(d.Epochs)) // the decimal that was written
	if !ok {
		return 0
	}
	epochs.Mul(epochs, new(big.Rat).SetInt(new(big.Int).SetUint64(each)))
	n, rest := new(big.Int).QuoRem(epochs.Num(), epochs.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	if !n.IsUint64() || n.Uint64() > math.MaxUint32 {
		return 0
	}
	return n.Uint64()
}

// batch is the expected size of the batch of one step, at most DatasetSize.
func (d DPSGD) batch() uint64 { return d.BatchSize * max(1, d.Accumulation) }

// steps is the run as steps.
func (d DPSGD) steps() Part {
	return Part{
		Mechanism: PoissonSampled{BatchSize: d.batch(), DatasetSize: d.DatasetSize,
			Mechanism: Gaussian{NoiseMultiplier: d.NoiseMultiplier}},
		Count: d.stepCount(),
	}
}

func (d DPSGD) String() string {
	return fmt.Sprintf("dp_sgd(noise multiplier %s, batches of %d of %d, %d steps)", atLeast(d.NoiseMultiplier),
		d.batch(), d.DatasetSize, d.stepCount())
}

func (DPSGD) places() place { return nowhere }

func (d DPSGD) refusal(where place) *ParameterError {
	if where != inGroup {
		return nil
	}
	return &ParameterError{"", d.Kind(), "its steps: a group of poisson_sampled with gaussian inside, counted once a " +
		"step"}
}

func (d DPSGD) expand() []Part { return []Part{d.steps()} }
