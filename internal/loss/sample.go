package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// sample is a Poisson sample of rate q in (0, 1).
type sample struct {
	rate  float64
	batch batch
}

// batch is what is known of the two neighbours' batches.
type batch uint8

const (
	// without: the neighbour's batch is the same without the record: (P, Q) becomes
	// ((1−q)Q + qP, Q), and its mirror.
	without batch = iota
	// replaced: the record in it is another one: with the ratio X = P/Q under Q,
	// 1 − q + qX and 1 − q + qX', X' running against X.
	replaced
	// revealed: the output tells whether the record is in the batch: loss 0 with
	// probability 1 − q.
	// See docs/math/sampling.md §1.3.2.
	revealed
)

// sampleable is a loss of which the pair, atoms included, is known well enough to be sampled:
// what was run may run on a Poisson sample.
type sampleable interface {
	Loss

	// inBatch is what is known of neighbours' batches, with replaced records or without;
	// false if that is nothing.
	inBatch(replace bool) (batch, bool)

	// sampledOutcomes are the sampled pair's in the remove direction, fine enough for |s| =
	// size; nil where that takes too many, or out of range.
	sampledOutcomes(s sample, size float64) *outcomes

	// sampledPair is the sampled pair as masses; nil out of range.
	sampledPair(s sample, d Direction, side Side) Pair

	// sampledDecay is Decay of the sampled loss.
	sampledDecay(s sample, d Direction, theta float64, k Value) Decay

	// sampledWork is about what K(θ+it) at |s| = size costs, in units of a few nanoseconds.
	sampledWork(s sample, size float64) float64
}

// nodeWork is about what an outcome costs, in the units of sampledWork.
const nodeWork = 20

// mostInner bounds the inner ε0 for which K is computed; above it convexity
// bounds it.
const mostInner = 1000

// infinite is the probability of an infinite loss where the record is in P, for an inner one
// of m.
func (x sample) infinite(m float64) float64 {
	if m > 0 {
		return math.Max(num.MulUp(x.rate, m), math.SmallestNonzeroFloat64)
	}
	return 0
}

// above is ln(1 + q(e^{ε0} − 1)), rounded up.
func (x sample) above(e float64) float64 {
	if math.IsInf(e, 1) {
		return e
	}
	if e < 700 {
		return num.Log1pUp(num.MulUp(x.rate, num.Expm1Up(e)))
	}
	m := newMix(x.rate)
	return math.Min(e, num.UpBy(e+m.logRate+math.Log1p(m.odds*math.Exp(-e)), 8*num.Ulp*(e-m.logRate)))
}

// below is −ln(1 − q(1 − e^{−ε0})), rounded up.
func (x sample) below(e float64) float64 {
	fall := math.Min(1, num.Up(-num.Up(math.Expm1(-e))*(1+4*num.Ulp)))
	return -num.Down(math.Log1p(-math.Min(math.Nextafter(1, 0), num.MulUp(x.rate, fall))) * (1 + 4*num.Ulp))
}

// pair is the sampled pair of an inner one without a replaced record; nil if that is not
// known, or out of range.
func (x sample) pair(inner Loss, d Direction, side Side) Pair {
	if p, ok := PairOf(inner, d, side); ok && x.batch == without {
		return SampledPair(p, x.rate, d)
	}
	return nil
}

// point is an outcome of the inner pair: Q's mass e^{−half} and the loss u, which
// is within du Ulp.
type point struct {
	half, u, du float64
}

// missed is what Q has where P has nothing.
func (x sample) missed(mass float64) node {
	miss := math.Log1p(-x.rate)
	return node{half: -num.Log(mass), lp: miss, errP: -2*miss + 4*x.rate/(1-x.rate)}
}

// panels are as many as |s| = size needs, a power of 2 times as many as 0 does: their
// number and half width, and the |s| they serve.
func (x sample) panels(e0, size float64) (count int, h, reach float64) {
	steepest := mixShare(x.rate, e0) // of Λ over u
	count = max(1, int(math.Ceil(e0/mostPanel)))
	for {
		h = e0 / float64(count)
		if reach = 2/(h*steepest) - 1; reach >= size || count > maxNodes {
			return count, h, reach
		}
		count *= 2
	}
}

// laplaceCut bounds what the panels lose. In the ellipse of a panel around c with
// reach a, |Im| < π/2, so that |r(z)| ≥ r(Re z)/√2, |Λ'| ≤ √2·w(c+a), w the share of q·e^u
// in r, and |r(z)| ≤ r(c+a). With |E(x)|, |D(x)| ≤ |x|²/2·e^{|x|} that bounds H, and
// p^{1+s}·q^{−s} directly.
func (x sample) laplaceCut(e0 float64, count int, h float64) lostBy {
	m := newMix(x.rate)
	base := 0.0
	if x.batch == replaced {
		base, _, _ = m.logRatio(-e0, 0)
	}
	return func(s complex128, large bool, shift float64) float64 {
		size := math.Hypot(real(s), imag(s))
		var sum float64
		for i := range count {
			d := float64(2*i+1) * h
			a := legendreReach * h
			top, w, _ := m.logRatio(d-e0+a, 0)
			top = math.Max(0, top)
			middle, _, _ := m.logRatio(d-e0, 0)
			middle -= base
			wide := math.Sqrt2 * w * a
			largest := math.Abs(middle) + wide
			tilted := top + math.Abs(real(s)*middle) + size*wide
			if real(s)*middle < 0 && x.batch != replaced { // its mirror image has the other sign
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
		if x.batch == replaced {
			sum *= 2
		}
		return sum * h / 4 * legendreError * (1 + 1e-9)
	}
}

// panelWork is sampledWork where panels are added up.
func (x sample) panelWork(e0, size float64) float64 {
	if !(e0 <= mostInner) {
		return 3 * nodeWork
	}
	count, _, _ := x.panels(e0, size)
	return nodeWork * 16 * float64(count)
}
