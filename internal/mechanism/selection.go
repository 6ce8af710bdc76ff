// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math/big"

	"github.com/dpaccountant/accountant/internal/num"
)

// The selections: an output is chosen by scores or queries, of which one record
// contributes at most Sensitivity to each.

// Exponential reports a candidate with probability ∝ exp(score/Scale) (McSherry–Talwar
// 2007). Either Epsilon is given, or Scale with Sensitivity.
type Exponential struct {
	// ε0 > 0
	Epsilon float64 `field:"1" role:"loss" range:">0"`
	// in units of the score; > 0
	Scale float64 `field:"2" role:"scale" range:">0"`
	// Δ: the most one record contributes to a score; > 0
	Sensitivity float64 `field:"3" role:"norm" range:">0"`
	// a record's contributions have one sign
	Monotone bool `field:"4" role:"choice"`
}

// Kind is "exponential".
func (Exponential) Kind() string { return "exponential" }

func (Exponential) number() int { return 12 }

// Check implements Mechanism: defined for every adjacency.
func (e Exponential) Check(adj Adjacency) error {
	return checkSelection("exponential", e.Epsilon, e.Scale, e.Sensitivity, e.Monotone, adj)
}

// Range returns numbers whose quotient is ε0: the mechanism is ε0-DP and the width
// of the range of its losses is at most ε0. It must have passed Check.
// See docs/math/noise.md §1.4.7.
func (e Exponential) Range(adj Adjacency) (spread, scale float64) {
	return selectionRange(e.Epsilon, e.Scale, e.Sensitivity, e.Monotone, adj)
}

func (e Exponential) String() string {
	return describeSelection("exponential(", e.Epsilon, e.Scale, e.Sensitivity, e.Monotone)
}

func (e Exponential) exactGroupEpsilon(size uint64, adj Adjacency) *big.Rat {
	return times(size, num.DecimalQuotient(e.Range(adj)))
}

func (e Exponential) exactGroupRho(size uint64, adj Adjacency) *big.Rat {
	return rangeRho(e.exactGroupEpsilon(size, adj))
}

func (Exponential) places() place { return inGroup }

// MaxNoise is the noise that ReportNoisyMax adds to scores.
type MaxNoise uint8

const (
	// noMaxNoise is the zero value, refused.
	noMaxNoise MaxNoise = iota
	// LaplaceMax has density exp(−|x|/b)/(2b).
	LaplaceMax
	// ExponentialMax has density exp(−x/b)/b, x ≥ 0: permute-and-flip.
	ExponentialMax
	// GumbelMax has P(noise ≤ x) = exp(−exp(−x/b)): the exponential mechanism.
	GumbelMax
)

// String is the API's spelling: "LAPLACE".
func (n MaxNoise) String() string {
	if n <= GumbelMax {
		return [...]string{"DISTRIBUTION_UNSPECIFIED", "LAPLACE", "EXPONENTIAL", "GUMBEL"}[n]
	}
	return fmt.Sprintf("MaxNoise(%d)", uint8(n))
}

// ReportNoisyMax reports the candidate whose score plus noise is the largest.
// Either Epsilon is given, or Scale with Sensitivity.
type ReportNoisyMax struct {
	Distribution MaxNoise `field:"1" role:"choice" need:"required"`
	// ε0 > 0
	Epsilon float64 `field:"2" role:"loss" range:">0"`
	// b, in units of the score; > 0
	Scale float64 `field:"3" role:"scale" range:">0"`
	// Δ: the most one record contributes to a score; > 0
	Sensitivity float64 `field:"4" role:"norm" range:">0"`
	// a record's contributions have one sign
	Monotone bool `field:"5" role:"choice"`
}

// Kind is "report_noisy_max".
func (ReportNoisyMax) Kind() string { return "report_noisy_max" }

func (ReportNoisyMax) number() int { return 13 }

func (ReportNoisyMax) aliases() []string { return []string{"noisymax", "noisyargmax"} }

// Check implements Mechanism: defined for every adjacency.
func (r ReportNoisyMax) Check(adj Adjacency) error {
	if r.Distribution == noMaxNoise || r.Distribution > GumbelMax {
		value := "missing"
		if r.Distribution != noMaxNoise {
			value = r.Distribution.String()
		}
		return &ParameterError{"report_noisy_max.distribution", value, "LAPLACE, EXPONENTIAL or GUMBEL"}
	}
	return checkSelection("report_noisy_max", r.Epsilon, r.Scale, r.Sensitivity, r.Monotone, adj)
}

// Range returns numbers whose quotient is ε0. It must have passed Check.
func (r ReportNoisyMax) Range(adj Adjacency) (spread, scale float64) {
	return selectionRange(r.Epsilon, r.Scale, r.Sensitivity, r.Monotone, adj)
}

func (r ReportNoisyMax) String() string {
	return describeSelection("report_noisy_max("+r.Distribution.String()+", ", r.Epsilon, r.Scale,
		r.Sensitivity, r.Monotone)
}

func (r ReportNoisyMax) exactGroupEpsilon(size uint64, adj Adjacency) *big.Rat {
	return times(size, num.DecimalQuotient(r.Range(adj)))
}

// exactGroupRho is that of the exponential mechanism, which Gumbel noise makes.
func (r ReportNoisyMax) exactGroupRho(size uint64, adj Adjacency) *big.Rat {
	if r.Distribution != GumbelMax {
		return nil
	}
	return rangeRho(r.exactGroupEpsilon(size, adj))
}

func (ReportNoisyMax) places() place { return inGroup }

// InverseSensitivity is the exponential mechanism with the score −len, the number of
// neighbouring steps to a dataset with that output, at ε0/2 (Asi–Duchi 2020, arXiv
// 2005.10630).
type InverseSensitivity struct {
	// ε0 > 0
	Epsilon float64 `field:"1" role:"loss" range:">0" need:"required"`
}

// Kind is "inverse_sensitivity".
func (InverseSensitivity) Kind() string { return "inverse_sensitivity" }

func (InverseSensitivity) number() int { return 15 }

// Check implements Mechanism: defined for every adjacency, in whose steps len is
// counted.
func (i InverseSensitivity) Check(adj Adjacency) error {
	return firstError(checkPositive("inverse_sensitivity.epsilon", i.Epsilon), checkAdjacency(adj))
}

func (i InverseSensitivity) String() string {
	return fmt.Sprintf("inverse_sensitivity(ε=%s)", atMost(i.Epsilon))
}

func (i InverseSensitivity) exactGroupEpsilon(size uint64, _ Adjacency) *big.Rat {
	return times(size, num.Decimal(i.Epsilon))
}

func (i InverseSensitivity) exactGroupRho(size uint64, adj Adjacency) *big.Rat {
	return rangeRho(i.exactGroupEpsilon(size, adj))
}

func (InverseSensitivity) places() place { return inGroup }

func checkSelection(kind string, epsilon, scale, sensitivity float64, monotone bool, adj Adjacency) error {
	if epsilon != 0 {
		if scale != 0 || sensitivity != 0 || monotone {
			return &ParameterError{kind + ".epsilon", number(epsilon) + " together with other parameters",
				"epsilon alone, the guarantee, or scale with sensitivity"}
		}
		return firstError(checkPositive(kind+".epsilon", epsilon), checkAdjacency(adj))
	}
	if scale == 0 {
		return &ParameterError{kind + ".epsilon", "missing or 0", positive + ", or scale with sensitivity"}
	}
	return firstError(checkPositive(kind+".scale", scale),
		checkPositive(kind+".sensitivity", sensitivity), checkAdjacency(adj))
}

// selectionRange: with contributions in [−Δ, Δ] the scores of neighbours differ by
// amounts within a range of width 2Δ, in [0, Δ] of width Δ; a replaced record
// contributes twice. Multiplying by 2 and 4 is exact, short of overflow to +∞.
func selectionRange(epsilon, scale, sensitivity float64, monotone bool, adj Adjacency) (spread, unit float64) {
	if epsilon != 0 {
		return epsilon, 1
	}
	spread = sensitivity * adj.distanceFactor()
	if !monotone {
		spread *= 2
	}
	return spread, scale
}

func describeSelection(name string, epsilon, scale, sensitivity float64, monotone bool) string {
	switch {
	case epsilon != 0:
		return fmt.Sprintf("%sε=%s)", name, atMost(epsilon))
	case monotone:
		return fmt.Sprintf("%sscale %s, Δ=%s, monotone)", name, atLeast(scale), atMost(sensitivity))
	}
	return fmt.Sprintf("%sscale %s, Δ=%s)", name, atLeast(scale), atMost(sensitivity))
}
