// Package pld answers a composition from the distribution of its privacy loss
// itself: exactly, from above and from below.
//
// It knows the closed forms: one Laplace release, one Poisson-sampled Gaussian
// step, and randomized response, pure and approximate DP of one ε0 in any
// number. What it cannot compute it refuses, with the reason.
package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
)

// curve encloses ln δ(ε) of a composition's finite losses, for ε ≥ 0.
type curve interface {
	// logDelta also approximates −d ln δ/dε; −Inf stands for δ = 0.
	logDelta(epsilon float64) (b loss.Bounds, slope float64)
	// epsilon encloses the least ε ≥ 0 with δ(ε) ≤ delta, for delta in (0, 1).
	epsilon(delta float64) loss.Bounds
}

// Epsilon encloses ε at δ in (0, 1): +Inf where δ is below δ_∞.
func Epsilon(c loss.Composition, delta float64) (e loss.Bounds, reason string) {
	if len(c) == 0 {
		return loss.Bounds{}, ""
	}
	f, reason := closedForm(c)
	if reason != "" {
		return loss.Bounds{}, reason
	}
	low, high := c.Atom()
	if e.Upper = math.Inf(1); loss.Finite(delta, high) > 0 {
		e.Upper = f.epsilon(loss.Finite(delta, high)).Upper
	}
	if e.Lower = math.Inf(1); delta > low {
		e.Lower = f.epsilon(math.Min(loss.FiniteUp(delta, low), math.Nextafter(1, 0))).Lower
	}
	return e, ""
}

// LogDelta encloses ln δ at ε ≥ 0, −Inf for δ = 0.
func LogDelta(c loss.Composition, epsilon float64) (logDelta loss.Bounds, reason string) {
	none := loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	if len(c) == 0 {
		return none, ""
	}
	f, reason := closedForm(c)
	if reason != "" {
		return loss.Bounds{}, reason
	}
	low, high := c.Atom()
	finite, _ := f.logDelta(epsilon)
	return loss.Bounds{Lower: loss.LogTotalDown(finite.Lower, low), Upper: loss.LogTotal(finite.Upper, high)}, ""
}

// closedForm returns the curve of c's finite losses where one is known.
func closedForm(c loss.Composition) (curve, string) {
	facts := c.Facts()
	if len(c) == 1 && c[0].Count == 1 {
		switch f := facts[0]; {
		case f.Laplace > 0:
			return laplace{f.Laplace}, ""
		case f.Rate > 0 && f.Symmetric:
			return newReplaced(f.SampledMu, f.Rate), ""
		case f.Rate > 0:
			return sampled{mu: f.SampledMu, rate: f.Rate}, ""
		}
	}
	total := 0.0
	for i, f := range facts {
		if f.Buckets == 0 {
			if f.Laplace > 0 && len(c) == 1 {
				return nil, "more than one Laplace release has no closed form"
			}
			if f.Rate > 0 && len(c) == 1 {
				return nil, "more than one Poisson-sampled step has no closed form"
			}
			return nil, "a composition with a " + f.Name + " has no closed form"
		}
		if f.Epsilon != facts[0].Epsilon {
			return nil, "guarantees or randomized response of different ε have no closed form"
		}
		if f.Buckets != facts[0].Buckets {
			return nil, "randomized response with different numbers of buckets has no closed form"
		}
		total += float64(c[i].Count)
	}
	return newLattice(c, total)
}
