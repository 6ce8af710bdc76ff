// SPDX-License-Identifier: Apache-2.0

// Package closed has the compositions whose privacy profile δ(ε) is known in closed form, or
// as a sum over few outcomes:
//   - one release whose loss has such a form (loss.CurveOf): Laplace noise, one step of the
//     Poisson-sampled Gaussian, and one mixture of Gaussians;
//   - randomized response of one ε0 in any number, which also dominates pure and approximate DP;
//   - partitions with few outcomes;
//   - one release of any mechanism whose dominating pair is known, which is a sum over its
//     outcomes (release.go), and several releases of Laplace noise (loss.RepeatedOf);
//   - exponential mechanisms, each chosen after the answers before (play.go).
//
// Every value is rounded to the safe side: bounds from above are never too low, bounds
// from below never too high.
package closed

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// lossless is the curve where nothing loses anything but by failing.
type lossless struct{}

func (lossless) LogDelta(float64) (loss.Bounds, float64) {
	return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}, 0
}

func (lossless) Epsilon(float64) loss.Bounds { return loss.Bounds{} }

// Of returns the privacy profile of c's finite losses where it has a closed form, or the reason why
// it has none. in, which may be nil, interrupts the profile wherever it is computed.
func Of(c loss.Composition, in *num.Interrupt) (loss.PrivacyCurve, string) {
	c = c.Losing()
	if len(c) == 0 {
		return lossless{}, ""
	}
	once, closed := loss.CurveOf(c[0].Loss, in)
	if closed && len(c) == 1 && c[0].Count == 1 {
		return once, ""
	}
	if l, ok := newFewOutcomes(c, in); ok {
		return l, ""
	}
	total := 0.0
	epsilon := c[0].Loss.Facts().Epsilon
	first, _ := loss.BucketsOf(c[0].Loss)
	for _, t := range c {
		buckets, ok := loss.BucketsOf(t.Loss)
		switch f := t.Loss.Facts(); {
		case !ok && closed && len(c) == 1:
			return nil, "more than one release of a " + f.Name + " has no closed form"
		case !ok:
			return nil, "a composition with a " + f.Name + " has no closed form"
		case f.Epsilon != epsilon:
			return nil, "guarantees or randomized response of different ε have no closed form"
		case buckets != first:
			return nil, "randomized response with different numbers of buckets has no closed form"
		}
		total += float64(t.Count)
	}
	return newResponses(c, first, total, in)
}
