// SPDX-License-Identifier: Apache-2.0

// Package poisson is what a Poisson sample makes of a loss, whatever its kind: of its pair as
// masses (pair.go), of its outcomes (sample.go) and of how its characteristic function decays
// (decay.go). A kind that can be sampled implements Sampleable.
package poisson

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// Sample is a Poisson sample of rate q in (0, 1).
type Sample struct {
	Rate  float64
	Batch Batch
}

// Batch is what is known of the two neighbours' batches.
type Batch uint8

const (
	// Without: the neighbour's batch is the same without the record: (P, Q) becomes
	// ((1−q)Q + qP, Q), and its mirror.
	Without Batch = iota
	// Replaced: the record in it is another one: with the ratio X = P/Q under Q,
	// 1 − q + qX and 1 − q + qX', X' running against X.
	Replaced
	// Revealed: the output tells whether the record is in the batch: loss 0 with
	// probability 1 − q.
	// See docs/math/sampling.md §1.3.2.
	Revealed
)

// Sampleable is a loss of which the pair, atoms included, is known well enough to be sampled:
// what was run may run on a Poisson sample.
type Sampleable interface {
	loss.Loss

	// InBatch returns what is known of the two neighbours' batches, if one record is replaced or if
	// it is there or not. It returns false if nothing is known.
	InBatch(replace bool) (Batch, bool)

	// SampledOutcomes returns the outcomes of the sampled pair in the remove direction, in steps
	// that are fine enough for |s| = size. It returns nil if there would be too many, or if the
	// parameters are out of range.
	SampledOutcomes(s Sample, size float64) *quadrature.Outcomes

	// SampledPair returns the sampled pair as masses, or nil if the parameters are out of range.
	SampledPair(s Sample, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair

	// SampledDecay is the method Decay of the sampled loss.
	SampledDecay(s Sample, d loss.Direction, theta float64, k loss.Value) loss.Decay

	// SampledWork is about what K(θ+it) at |s| = size costs, in units of a few nanoseconds.
	SampledWork(s Sample, size float64) float64
}

// NodeWork is about what an outcome costs, in the units of SampledWork.
const NodeWork = 20

// MostInner bounds the inner ε0 for which K is computed; above it convexity
// bounds it.
const MostInner = 1000

// InfiniteMass is the probability of an infinite loss where the record is in P, for an inner one
// of m.
func (x Sample) InfiniteMass(m float64) float64 {
	if m > 0 {
		return math.Max(num.MulUp(x.Rate, m), math.SmallestNonzeroFloat64)
	}
	return 0
}

// Amplified is ln(1 + q(e^{ε0} − 1)), rounded up.
func (x Sample) Amplified(e float64) float64 {
	if math.IsInf(e, 1) {
		return e
	}
	if e < 700 {
		return num.Log1pUp(num.MulUp(x.Rate, num.Expm1Up(e)))
	}
	m := quadrature.NewMix(x.Rate)
	return math.Min(e, num.UpBy(e+m.LogRate+math.Log1p(m.Odds*math.Exp(-e)), 8*num.Ulp*(e-m.LogRate)))
}

// AmplifiedBelow is −ln(1 − q(1 − e^{−ε0})), rounded up.
func (x Sample) AmplifiedBelow(e float64) float64 {
	fall := math.Min(1, num.Up(-num.Up(math.Expm1(-e))*(1+4*num.Ulp)))
	return -num.Down(math.Log1p(-math.Min(math.Nextafter(1, 0), num.MulUp(x.Rate, fall))) * (1 + 4*num.Ulp))
}

// Pair is the sampled pair of an inner one without a replaced record; nil if that is not
// known, or out of range.
func (x Sample) Pair(inner loss.Loss, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	if p, ok := loss.PairOf(inner, d, side, in); ok && x.Batch == Without {
		return SampledPair(p, x.Rate, d)
	}
	return nil
}

// Point is an outcome of the inner pair: Q's mass e^{−half} and the loss u, which
// is within du Ulp.
type Point struct {
	Half, U, Du float64
}

// Missed is what Q has where P has nothing.
func (x Sample) Missed(mass float64) quadrature.Node {
	miss := math.Log1p(-x.Rate)
	return quadrature.Node{Half: -num.Log(mass), LogP: miss, ErrP: -2*miss + 4*x.Rate/(1-x.Rate)}
}

// Panels are as many as |s| = size needs, a power of 2 times as many as 0 does: their
// number and half width, and the |s| they serve.
func (x Sample) Panels(e0, size float64) (count int, h, reach float64) {
	steepest := quadrature.MixShare(x.Rate, e0) // of Λ over u
	count = max(1, int(math.Ceil(e0/quadrature.MostPanel)))
	for {
		h = e0 / float64(count)
		if reach = 2/(h*steepest) - 1; reach >= size || count > quadrature.MaxNodes {
			return count, h, reach
		}
		count *= 2
	}
}

// PanelError bounds what the panels lose. In the ellipse of a panel around c with
// reach a, |Im| < π/2, so that |r(z)| ≥ r(Re z)/√2, |Λ'| ≤ √2·w(c+a), w the share of q·e^u
// in r, and |r(z)| ≤ r(c+a). With |E(x)|, |D(x)| ≤ |x|²/2·e^{|x|} that bounds H, and
// p^{1+s}·q^{−s} directly.
func (x Sample) PanelError(e0 float64, count int, h float64) quadrature.CutError {
	m := quadrature.NewMix(x.Rate)
	base := 0.0
	if x.Batch == Replaced {
		base, _, _ = m.LogRatio(-e0, 0)
	}
	return func(s complex128, large bool, shift float64) float64 {
		size := math.Hypot(real(s), imag(s))
		var sum float64
		for i := range count {
			d := float64(2*i+1) * h
			a := quadrature.LegendreReach * h
			top, w, _ := m.LogRatio(d-e0+a, 0)
			top = math.Max(0, top)
			middle, _, _ := m.LogRatio(d-e0, 0)
			middle -= base
			wide := math.Sqrt2 * w * a
			largest := math.Abs(middle) + wide
			tilted := top + math.Abs(real(s)*middle) + size*wide
			if real(s)*middle < 0 && x.Batch != Replaced { // its mirror image has the other sign
				tilted = top + real(s)*middle + size*wide
			}
			var bound float64
			if large {
				bound = math.Exp(tilted - shift)
			} else {
				square := largest * largest / 2
				bound = math.Min(
					math.Exp(top)*(size*size*square*math.Exp(size*largest)+size*square*math.Exp(largest)),
					math.Exp(tilted)+math.Exp(top)*(1+2*size))
			}
			sum += math.Exp(-(d-a)/2) * bound
		}
		if x.Batch == Replaced {
			sum *= 2
		}
		return sum * h / 4 * quadrature.LegendreError * (1 + 1e-9)
	}
}

// PanelWork is sampledWork where panels are added up.
func (x Sample) PanelWork(e0, size float64) float64 {
	if !(e0 <= MostInner) {
		return 3 * NodeWork
	}
	count, _, _ := x.Panels(e0, size)
	return NodeWork * 16 * float64(count)
}
