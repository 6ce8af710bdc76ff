// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math/big"

	"github.com/dpaccountant/accountant/internal/num"
)

// AboveThreshold is one run of the sparse vector technique (Lyu–Su–Li 2017, arXiv
// 1603.01699, Alg. 7 without numeric answers): of each of a stream of queries it tells
// whether it is above a threshold, both with Laplace noise, until Positives were.
// Either both ε are given, or both scales with Sensitivity and Positives.
type AboveThreshold struct {
	// ε1 > 0
	ThresholdEpsilon float64 `field:"1" role:"loss" range:">0"`
	// ε2 > 0
	QueryEpsilon float64 `field:"2" role:"loss" range:">0"`
	// b1 of the threshold's noise, in units of the queries; > 0
	ThresholdScale float64 `field:"3" role:"scale" range:">0"`
	// b2 of each query's noise, in units of the queries; > 0
	QueryScale float64 `field:"4" role:"scale" range:">0"`
	// Δ: the most one record contributes to a query; > 0
	Sensitivity float64 `field:"5" role:"norm" range:">0"`
	// c, 1 … MaxPositives
	Positives uint64 `field:"6" role:"shape" range:"1..2^32"`
	// a record's contributions have one sign
	Monotone bool `field:"7" role:"choice"`
}

// MaxPositives bounds Positives.
const MaxPositives = 1 << 32

// Kind is "above_threshold".
func (AboveThreshold) Kind() string { return "above_threshold" }

func (AboveThreshold) number() int { return 14 }

func (AboveThreshold) aliases() []string {
	return []string{"svt", "sparsevector", "sparsevectortechnique"}
}

// Check implements Mechanism: defined for every adjacency.
func (a AboveThreshold) Check(adj Adjacency) error {
	scaled := a.ThresholdScale != 0 || a.QueryScale != 0 || a.Sensitivity != 0 || a.Positives != 0 || a.Monotone
	if a.ThresholdEpsilon != 0 || a.QueryEpsilon != 0 {
		if scaled {
			return &ParameterError{"above_threshold.threshold_epsilon",
				number(a.ThresholdEpsilon) + " together with other parameters",
				"threshold_epsilon with query_epsilon alone, or threshold_scale, query_scale, sensitivity and " +
					"positives"}
		}
		return firstError(checkPositive("above_threshold.threshold_epsilon", a.ThresholdEpsilon),
			checkPositive("above_threshold.query_epsilon", a.QueryEpsilon), checkAdjacency(adj))
	}
	if !scaled {
		return &ParameterError{"above_threshold.threshold_epsilon", "missing or 0",
			positive + " with query_epsilon, or the scales"}
	}
	if a.Positives == 0 || a.Positives > MaxPositives {
		return &ParameterError{"above_threshold.positives", fmt.Sprint(a.Positives), "a whole number from 1 to 2^32"}
	}
	return firstError(checkPositive("above_threshold.threshold_scale", a.ThresholdScale),
		checkPositive("above_threshold.query_scale", a.QueryScale),
		checkPositive("above_threshold.sensitivity", a.Sensitivity), checkAdjacency(adj))
}

// Quotient is Times·Over/Under, the first a whole number.
type Quotient struct{ Times, Over, Under float64 }

// Parts returns ε1 = d/b1 and ε2 = 2cd/b2, d the most by which a query can differ
// between neighbours; ε2 = cd/b2 where all of them differ in the same direction. The
// mechanism is (ε1 + ε2)-DP. It must have passed Check.
//
// A replaced record's contributions of one sign still make queries differ by at most
// Δ, but in either direction. See docs/math/noise.md §1.4.7.
func (a AboveThreshold) Parts(adj Adjacency) (threshold, queries Quotient) {
	if a.ThresholdEpsilon != 0 {
		return Quotient{1, a.ThresholdEpsilon, 1}, Quotient{1, a.QueryEpsilon, 1}
	}
	d, each := a.Sensitivity, 2.0
	switch {
	case a.Monotone && adj != ReplaceOne:
		each = 1
	case !a.Monotone:
		d *= adj.distanceFactor()
	}
	return Quotient{1, d, a.ThresholdScale}, Quotient{each * float64(a.Positives), d, a.QueryScale}
}

func (a AboveThreshold) String() string {
	if a.ThresholdEpsilon != 0 {
		return fmt.Sprintf("above_threshold(ε=%s + %s)", atMost(a.ThresholdEpsilon), atMost(a.QueryEpsilon))
	}
	s := fmt.Sprintf("above_threshold(scales %s and %s, Δ=%s, %d positives", atLeast(a.ThresholdScale),
		atLeast(a.QueryScale), atMost(a.Sensitivity), a.Positives)
	if a.Monotone {
		s += ", monotone"
	}
	return s + ")"
}

// exactGroupEpsilon is ε1 + ε2.
func (a AboveThreshold) exactGroupEpsilon(size uint64, adj Adjacency) *big.Rat {
	threshold, queries := a.Parts(adj)
	first, second := num.DecimalQuotient(threshold.Over, threshold.Under),
		num.DecimalQuotient(queries.Over, queries.Under)
	if first == nil || second == nil {
		return nil
	}
	second.Mul(second, num.Decimal(queries.Times))
	return times(size, first.Add(first, second))
}

func (AboveThreshold) HasNoOneNoise() string {
	return "has two noises: that of the threshold and that of the queries"
}

func (AboveThreshold) places() place { return inGroup }
