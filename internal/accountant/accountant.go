// SPDX-License-Identifier: Apache-2.0

// Package accountant answers what a composition of mechanisms costs: it asks
// every analysis that applies and gives the least of their proven upper bounds,
// naming the winner.
//
// It keeps the promise of the whole service: no answer is below the truth. An
// analysis that cannot prove a bound says why and has no numbers.
package accountant

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Analysis names one way to bound a composition's privacy loss.
type Analysis string

// The analyses in the order they are listed, which is also the order in which
// a tie between equal bounds is decided.
const (
	GDP   Analysis = "gdp"   // exact curve, where everything is Gaussian
	PLD   Analysis = "pld"   // privacy loss distribution: the tightest where it applies
	RDP   Analysis = "rdp"   // Rényi differential privacy at the best order
	ZCDP  Analysis = "zcdp"  // zero-concentrated differential privacy
	Basic Analysis = "basic" // sums of ε and δ
)

// Question asks for ε at a δ or for δ at an ε: exactly one of the two is set.
type Question struct {
	Delta   *float64 // in [0, 1); 0 asks for pure differential privacy
	Epsilon *float64 // in nats; finite and ≥ 0

	// MaxGap is the wanted upper − lower, of ε in nats or of ln δ; finite and > 0.
	// Nil: each analysis's own, which is also what a wider one gets. It steers only how
	// much work is done: the bounds of the answer say what was reached. A narrower one
	// never gives wider bounds, unless Stop ends the work.
	MaxGap *float64

	// Stop, where it is not nil, is asked within long computations, every few
	// milliseconds. Once it returns true the best bound proven so far is the answer.
	Stop func() bool

	// Interim, where it is not nil, is called with what is proven so far before an
	// analysis that may take long: each a sound answer, no wider than the one before.
	Interim func(Answer)

	// rough: the usual width will do for few releases, too, as many such questions are asked.
	rough bool

	in *num.Interrupt // asks Stop
}

// AtDelta asks for ε at δ = delta.
func AtDelta(delta float64) Question { return Question{Delta: &delta} }

// AtEpsilon asks for δ at ε = epsilon.
func AtEpsilon(epsilon float64) Question { return Question{Epsilon: &epsilon} }

// Answer has what was asked and the proven bound on the rest.
type Answer struct {
	Delta   float64 // as asked, or the least proven upper bound; in [0, 1]
	Epsilon float64 // as asked, or the least proven upper bound; ≥ 0, maybe +Inf

	// LogDelta is ln δ of the upper bound where δ was asked for: it goes on
	// where δ underflows, and is −Inf for δ = 0. Otherwise 0.
	LogDelta float64

	// EpsilonLower (asked by δ) and DeltaLower (asked by ε) bound the truth from
	// below: from the same facts no accountant can prove less. Nil where no
	// analysis that applies knows one.
	EpsilonLower  *float64
	DeltaLower    *float64
	LogDeltaLower *float64 // ln of the lower bound on δ; set where DeltaLower is

	Analysis Analysis // the winner: the first in listing order with the least bound
	Analyses []Result // every analysis, in listing order

	// Stopped says that Stop ended some of the work: the bounds are proven, but with more
	// time they may be narrower.
	Stopped bool
}

// Result is one analysis's proven upper bound.
type Result struct {
	Analysis Analysis

	// Unsupported says why the analysis does not apply; then there are no
	// numbers. It is empty where there are.
	Unsupported string

	Epsilon float64 // where asked by δ; ≥ 0, maybe +Inf
	// Delta in [0, 1] and LogDelta, −Inf for δ = 0, where asked by ε: both bound δ.
	// One is what was proven and the other is rounded up from it.
	Delta, LogDelta float64

	Order float64 // the Rényi order α > 1 of the bound, maybe +Inf; 0 where there is none
}

// Check returns nil, or a *mechanism.ParameterError on what is not allowed.
func (q Question) Check() error {
	switch {
	case q.Delta == nil && q.Epsilon == nil:
		return &mechanism.ParameterError{Field: "delta", Value: "missing", Allowed: "exactly one of delta, epsilon"}
	case q.Delta != nil && q.Epsilon != nil:
		return &mechanism.ParameterError{Field: "epsilon", Value: "given together with delta",
			Allowed: "exactly one of delta, epsilon"}
	case q.Delta != nil && !(*q.Delta >= 0 && *q.Delta < 1):
		return &mechanism.ParameterError{Field: "delta", Value: number(*q.Delta), Allowed: "a number in [0, 1)"}
	case q.Epsilon != nil && (!(*q.Epsilon >= 0) || math.IsInf(*q.Epsilon, 1)):
		return &mechanism.ParameterError{Field: "epsilon", Value: number(*q.Epsilon), Allowed: "a finite number ≥ 0"}
	}
	return checkGap(q.MaxGap)
}

func checkGap(gap *float64) error {
	if gap != nil && (!(*gap > 0) || math.IsInf(*gap, 1)) {
		return &mechanism.ParameterError{Field: "max_gap", Value: number(*gap), Allowed: "a finite number > 0"}
	}
	return nil
}
