// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
)

// Noise that is correlated over the steps of a run: each is one Gaussian release of
// the whole run.

// MaxBands bounds the coefficients of a banded matrix.
const MaxBands = 4096

// Participation is in which of a run's steps one record may take part: at most
// Participations of Steps, MinimumSeparation steps or more apart. 0 stands for 1 in
// both.
type Participation struct {
	// 1 … 2^53
	Steps uint64 `role:"size" range:">=1"`
	// 1 … Steps
	Participations uint64 `role:"size" range:">=1"`
	// 1 … 2^53
	MinimumSeparation uint64 `role:"size" range:">=1"`
}

func (p Participation) check(kind string) error {
	switch {
	case p.Steps == 0 || p.Steps > MaxDatasetSize:
		return &ParameterError{kind + ".steps", countGiven(p.Steps), "a whole number from 1 to 2^53"}
	case p.Participations > p.Steps:
		return &ParameterError{kind + ".participations", fmt.Sprint(p.Participations),
			fmt.Sprintf("a whole number from 1 to the %d steps", p.Steps)}
	case p.MinimumSeparation > MaxDatasetSize:
		return &ParameterError{kind + ".minimum_separation", fmt.Sprint(p.MinimumSeparation),
			"a whole number from 1 to 2^53"}
	}
	return nil
}

// Most is the largest number of participations that fit, and their least distance.
func (p Participation) Most() (participations, separation uint64) {
	separation = max(p.MinimumSeparation, 1)
	return min(max(p.Participations, 1), (p.Steps-1)/separation+1), separation
}

func (p Participation) String() string {
	m, s := p.Most()
	return fmt.Sprintf("%d steps, %d participations %d apart", p.Steps, m, s)
}

// TreeAggregation releases the complete nodes of one binary tree over the steps, with
// Gaussian noise on each. Either StandardDeviation comes with Sensitivity, or
// NoiseMultiplier alone.
type TreeAggregation struct {
	// σ of each node
	StandardDeviation float64 `field:"1" role:"scale" range:">0"`
	// Δ of one record's contribution to one step
	Sensitivity float64 `field:"2" role:"norm" range:">0"`
	// σ/Δ
	NoiseMultiplier float64 `field:"3" role:"scale" range:">0"`
	Participation   `field:"4"`
}

// Kind is "tree_aggregation".
func (TreeAggregation) Kind() string { return "tree_aggregation" }

func (TreeAggregation) number() int { return 30 }

func (TreeAggregation) aliases() []string { return []string{"tree", "binarytree"} }

// Check implements Mechanism: defined for every adjacency.
func (t TreeAggregation) Check(adj Adjacency) error {
	return firstError(checkStepNoise("tree_aggregation", t.StandardDeviation, t.Sensitivity, t.NoiseMultiplier),
		t.check("tree_aggregation"), checkAdjacency(adj))
}

// Ratio is Gaussian.Ratio of one node.
func (t TreeAggregation) Ratio(adj Adjacency) (sigma, distance float64) {
	return Gaussian{StandardDeviation: t.StandardDeviation, Sensitivity: t.Sensitivity,
		NoiseMultiplier: t.NoiseMultiplier}.Ratio(adj)
}

func (t TreeAggregation) String() string {
	return fmt.Sprintf("tree_aggregation(%s, %v)",
		stepNoise(t.StandardDeviation, t.Sensitivity, t.NoiseMultiplier), t.Participation)
}

func (TreeAggregation) places() place { return inGroup }

// BandedMatrix releases C·x + z with Gaussian z and the lower-triangular Toeplitz
// matrix C[i][i−j] = Coefficients[j]. Its noise is given as a TreeAggregation's.
type BandedMatrix struct {
	// σ of z
	StandardDeviation float64 `field:"1" role:"scale" range:">0"`
	// Δ of one record's contribution to one step
	Sensitivity float64 `field:"2" role:"norm" range:">0"`
	// σ/Δ
	NoiseMultiplier float64 `field:"3" role:"scale" range:">0"`
	// 1 … MaxBands, finite, the first not 0
	Coefficients  Numbers `field:"4" role:"shape" most:"4096"`
	Participation `field:"5"`
}

// Kind is "banded_matrix".
func (BandedMatrix) Kind() string { return "banded_matrix" }

func (BandedMatrix) number() int { return 31 }

func (BandedMatrix) aliases() []string { return []string{"matrix", "matrixfactorization"} }

// Check implements Mechanism: defined for every adjacency.
func (b BandedMatrix) Check(adj Adjacency) error {
	if err := firstError(checkStepNoise("banded_matrix", b.StandardDeviation, b.Sensitivity, b.NoiseMultiplier),
		b.check("banded_matrix")); err != nil {
		return err
	}
	n := b.Coefficients.Len()
	if n == 0 || n > MaxBands {
		return &ParameterError{"banded_matrix.coefficients", fmt.Sprintf("%d numbers", n),
			fmt.Sprintf("1 to %d numbers", MaxBands)}
	}
	return firstError(checkShape("banded_matrix.coefficients", b.Coefficients), checkAdjacency(adj))
}

// Ratio is Gaussian.Ratio with one step's contribution as the distance.
func (b BandedMatrix) Ratio(adj Adjacency) (sigma, distance float64) {
	return Gaussian{StandardDeviation: b.StandardDeviation, Sensitivity: b.Sensitivity,
		NoiseMultiplier: b.NoiseMultiplier}.Ratio(adj)
}

func (b BandedMatrix) String() string {
	return fmt.Sprintf("banded_matrix(%s, %d bands, %v)",
		stepNoise(b.StandardDeviation, b.Sensitivity, b.NoiseMultiplier), b.Coefficients.Len(), b.Participation)
}

func (BandedMatrix) places() place { return inGroup }

// checkStepNoise takes noise_multiplier alone, or standard_deviation with sensitivity.
func checkStepNoise(kind string, sigma, sensitivity, multiplier float64) error {
	if multiplier != 0 {
		if sigma != 0 || sensitivity != 0 {
			return &ParameterError{kind + ".noise_multiplier", number(multiplier) + " together with other noise",
				"noise_multiplier alone, or standard_deviation with sensitivity"}
		}
		return checkPositive(kind+".noise_multiplier", multiplier)
	}
	if sigma == 0 {
		return &ParameterError{kind + ".standard_deviation", "missing or 0", positive + ", or noise_multiplier alone"}
	}
	return firstError(checkPositive(kind+".standard_deviation", sigma), checkPositive(kind+".sensitivity", sensitivity))
}

func stepNoise(sigma, sensitivity, multiplier float64) string {
	if multiplier != 0 {
		return fmt.Sprintf("noise multiplier %s", atLeast(multiplier))
	}
	return fmt.Sprintf("σ=%s, Δ=%s", atLeast(sigma), atMost(sensitivity))
}
