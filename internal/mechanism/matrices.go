// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
)

// Matrix mechanisms beside the banded one: of any lower-triangular matrix, and of banded ones
// whose batches are drawn at random.

const (
	// maxMatrixSteps bounds the steps of a matrix that a generating function defines.
	maxMatrixSteps = 1 << 17
	// maxDenseSteps bounds the steps of a matrix that is given entry by entry.
	maxDenseSteps = 256
)

// StepNoise is normal noise on sums over steps. Either StandardDeviation comes with Sensitivity,
// or NoiseMultiplier alone.
type StepNoise struct {
	StandardDeviation float64 `role:"scale" range:">0"` // σ
	Sensitivity       float64 `role:"norm" range:">0"`  // Δ of one record's contribution to one step
	NoiseMultiplier   float64 `role:"scale" range:">0"` // σ/Δ
}

func (s StepNoise) checkNoise(kind string) error {
	return checkStepNoise(kind, s.StandardDeviation, s.Sensitivity, s.NoiseMultiplier)
}

// Ratio is Gaussian.Ratio with one step's contribution as the distance.
func (s StepNoise) Ratio(adj Adjacency) (sigma, distance float64) {
	return Gaussian{StandardDeviation: s.StandardDeviation, Sensitivity: s.Sensitivity,
		NoiseMultiplier: s.NoiseMultiplier}.Ratio(adj)
}

func (s StepNoise) noise() string {
	return stepNoise(s.StandardDeviation, s.Sensitivity, s.NoiseMultiplier)
}

// GeneralMatrix releases C·x + z with Gaussian z and any lower-triangular matrix C: by its
// Entries, or Toeplitz with the coefficients of Coefficients(x)/Denominator(x)^Exponent.
type GeneralMatrix struct {
	StepNoise    `field:"1"`
	Entries      Numbers `field:"4" role:"shape" most:"32896"` // row by row, each up to the diagonal
	Coefficients Numbers `field:"5" role:"shape" most:"4096"`
	Denominator  Numbers `field:"6" role:"shape" most:"17"`
	Exponent     float64 `field:"7" role:"shape" range:"(0,1]"` // 1 if absent
	// Of these, Period stands in the place of Participations and MinimumSeparation.
	Participation `field:"8"`
	Period        uint64 `field:"11" role:"size" range:"1..2^53"`
}

// Kind is "general_matrix".
func (GeneralMatrix) Kind() string { return "general_matrix" }

func (GeneralMatrix) number() int { return 40 }

func (GeneralMatrix) aliases() []string { return []string{"toeplitz", "densematrix"} }

// Check implements Mechanism: defined for every adjacency.
func (g GeneralMatrix) Check(adj Adjacency) error {
	const kind = "general_matrix"
	if err := firstError(g.checkNoise(kind), g.Participation.check(kind), checkAdjacency(adj)); err != nil {
		return err
	}
	n := int(min(g.Steps, maxMatrixSteps))
	switch dense, d := g.Entries.Len() > 0, g.Denominator; {
	case dense == (g.Coefficients.Len() > 0):
		return &ParameterError{kind + ".entries", "missing, or given together with coefficients",
			"exactly one of entries, coefficients"}
	case dense && (g.Steps > maxDenseSteps || g.Entries.Len() != n*(n+1)/2):
		return &ParameterError{kind + ".entries", fmt.Sprintf("%d numbers for %d steps", g.Entries.Len(), g.Steps),
			fmt.Sprintf("steps·(steps + 1)/2 numbers, for at most %d steps", maxDenseSteps)}
	case dense && (d.Len() > 0 || g.Exponent != 0):
		return &ParameterError{kind + ".denominator", "given together with entries", "coefficients with a denominator"}
	case g.Steps > maxMatrixSteps:
		return &ParameterError{kind + ".steps", fmt.Sprint(g.Steps), "a whole number from 1 to 131072; banded_matrix " +
			"takes more"}
	case g.Exponent != 0 && !(g.Exponent >= 1e-3 && g.Exponent <= 1 && d.Len() == 2 && d.At(0) == 1):
		return &ParameterError{kind + ".exponent", number(g.Exponent),
			"a number from 0.001 to 1, with a denominator of two numbers of which the first is 1"}
	case g.Period > MaxDatasetSize:
		return &ParameterError{kind + ".period", fmt.Sprint(g.Period), "a whole number from 1 to 2^53"}
	case g.Period != 0 && (g.Participations != 0 || g.MinimumSeparation != 0):
		return &ParameterError{kind + ".period", "given together with participations or minimum_separation",
			"period alone: a record then takes part once in every period"}
	}
	for i := range n { // the diagonal
		if g.Entries != "" && g.Entries.At(i*(i+3)/2) == 0 {
			return &ParameterError{fmt.Sprintf("%s.entries[%d]", kind, i*(i+3)/2), "0", "a diagonal without 0"}
		}
	}
	return firstError(checkShape(kind+".entries", g.Entries), checkShape(kind+".coefficients", g.Coefficients),
		checkShape(kind+".denominator", g.Denominator))
}

// checkShape takes the numbers of a matrix, of which the first is not 0.
func checkShape(field string, c Numbers) error {
	for i := range c.Len() {
		v := c.At(i)
		// Squares and their sums must not leave the range of float64.
		if v != 0 && !(math.Abs(v) >= 1e-100 && math.Abs(v) <= 1e100) || i == 0 && v == 0 {
			return &ParameterError{fmt.Sprintf("%s[%d]", field, i), number(v),
				"a number of modulus 1e-100 to 1e100; 0 after the first"}
		}
	}
	return nil
}

func (g GeneralMatrix) String() string {
	shape := fmt.Sprintf("%d entries", g.Entries.Len())
	if g.Entries == "" {
		shape = fmt.Sprintf("%d coefficients, %d below", g.Coefficients.Len(), g.Denominator.Len())
	}
	if g.Period != 0 {
		return fmt.Sprintf("general_matrix(%s, %s, %d steps, once in every %d)", g.noise(), shape, g.Steps, g.Period)
	}
	return fmt.Sprintf("general_matrix(%s, %s, %v)", g.noise(), shape, g.Participation)
}

func (GeneralMatrix) places() place { return inGroup }

// SampledMatrix is a BandedMatrix on Poisson samples: the records are parted into Groups, which
// take turns, and each step's batch holds each record of the group with SamplingProbability.
type SampledMatrix struct {
	StepNoise           `field:"1"`
	Coefficients        Numbers `field:"4" role:"shape" most:"4096"`
	Steps               uint64  `field:"5" role:"size" range:">=1" need:"required"`
	Groups              uint64  `field:"6" role:"size" range:">=1"` // len(Coefficients) if absent
	SamplingProbability float64 `field:"7" role:"probability" range:"(0,1]" need:"required"`
}

// Kind is "sampled_matrix".
func (SampledMatrix) Kind() string { return "sampled_matrix" }

func (SampledMatrix) number() int { return 41 }

func (SampledMatrix) aliases() []string { return []string{"bandmf"} }

// Check implements Mechanism: defined for every adjacency.
func (s SampledMatrix) Check(adj Adjacency) error {
	const kind = "sampled_matrix"
	return firstError(s.checkNoise(kind), checkBands(kind, "groups", s.Coefficients, s.Steps, s.Turns()),
		checkProbability(kind+".sampling_probability", s.SamplingProbability, false), checkAdjacency(adj))
}

// Turns is the number of groups, of which each has one step of so many.
func (s SampledMatrix) Turns() uint64 {
	if s.Groups == 0 {
		return uint64(s.Coefficients.Len())
	}
	return s.Groups
}

// checkBands takes as many bands as one turn has steps.
func checkBands(kind, turn string, c Numbers, steps, turns uint64) error {
	switch {
	case c.Len() == 0 || c.Len() > MaxBands:
		return &ParameterError{kind + ".coefficients", fmt.Sprintf("%d numbers", c.Len()),
			fmt.Sprintf("1 to %d numbers", MaxBands)}
	case steps == 0 || steps > maxApplications:
		return &ParameterError{kind + ".steps", countGiven(steps), "a whole number from 1 to 4294967295"}
	case turns < uint64(c.Len()) || turns > maxApplications:
		return &ParameterError{kind + "." + turn, fmt.Sprint(turns),
			fmt.Sprintf("a whole number from %d, the number of coefficients, to 4294967295: for more bands no "+
				"amplification is proven", c.Len())}
	}
	return checkShape(kind+".coefficients", c)
}

func (s SampledMatrix) String() string {
	return fmt.Sprintf("sampled_matrix(%s, %d bands, %d steps, %d groups, q=%s)", s.noise(), s.Coefficients.Len(),
		s.Steps, s.Turns(), atMost(s.SamplingProbability))
}

func (SampledMatrix) places() place { return nowhere }

func (s SampledMatrix) assumes(Adjacency) string {
	if s.Turns() == 1 {
		return ""
	}
	return "Which of the groups of sampled_matrix a record is in does not depend on other records, and a record that " +
		"replaces it is in the same group."
}

// AllocatedMatrix is a BandedMatrix on batches that are dealt: every record takes part in one of
// the first Period steps, chosen uniformly, independently of all others and hidden, and again
// in every Period-th step after it.
type AllocatedMatrix struct {
	StepNoise    `field:"1"`
	Coefficients Numbers `field:"4" role:"shape" most:"4096"`
	Steps        uint64  `field:"5" role:"size" range:">=1" need:"required"`
	Period       uint64  `field:"6" role:"size" range:">=1" need:"required"`
}

// Kind is "allocated_matrix".
func (AllocatedMatrix) Kind() string { return "allocated_matrix" }

func (AllocatedMatrix) number() int { return 42 }

// Check implements Mechanism: defined where a record is compared with its absence.
func (a AllocatedMatrix) Check(adj Adjacency) error {
	const kind = "allocated_matrix"
	if err := firstError(a.checkNoise(kind), checkBands(kind, "period", a.Coefficients, a.Steps, a.Period),
		checkAdjacency(adj)); err != nil || adj != ReplaceOne {
		return err
	}
	return &AdjacencyError{kind, adj,
		"a record and its replacement may take part in different steps, for which no bound is proven",
		"a ledger under ADD_OR_REMOVE_ONE or ZERO_OUT; or general_matrix with period, which has no amplification"}
}

// Choices is among how many steps the choice stays hidden if what else is told of it keeps
// different steps' columns apart; each is used at most Uses times (docs/math/matrices.md §1.8.9).
func (a AllocatedMatrix) Choices() uint64 { return min(a.Period, a.Steps) / a.bands() }

func (a AllocatedMatrix) bands() uint64 { return min(uint64(a.Coefficients.Len()), a.Period, a.Steps) }

// Uses is explained at Choices.
func (a AllocatedMatrix) Uses() uint64 { return (a.Steps-1)/a.Period + 1 }

func (a AllocatedMatrix) String() string {
	return fmt.Sprintf("allocated_matrix(%s, %d bands, %d steps, one of %d in turn)", a.noise(), a.Coefficients.Len(),
		a.Steps, a.Period)
}

func (AllocatedMatrix) places() place { return nowhere }
