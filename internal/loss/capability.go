// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// Beside what every Loss has, a kind may have more. Each of these capabilities is an
// interface that the kind implements, and whoever can use it asks for the interface: nobody
// asks which kind a loss is.

// Gaussian is a loss whose pair is (N(μ,1), N(0,1)).
type Gaussian interface {
	// Mu is μ ≥ 0; it is 0 only where what was reported underflows.
	Mu() float64
}

// MuOf returns the μ of a Gaussian loss; false for every other loss.
func MuOf(l Loss) (mu float64, ok bool) {
	if g, ok := l.(Gaussian); ok {
		return g.Mu(), true
	}
	return 0, false
}

// NormalTail is a loss that (N(μ,1), N(0,1)) dominates for some μ, if it has no largest loss: a loss of which the
// tail says what μ is (docs/math/gaussian-dp.md §4.13).
type NormalTail interface {
	// NormalMu bounds the least μ of count releases together.
	NormalMu(count uint64) NormalMu
}

// NormalMu bounds the least μ ≥ 0 of Gaussian DP.
type NormalMu struct {
	Upper float64 // rounded up; +Inf where none is known
	Lower float64 // ≥ Tail, rounded down

	// Tail: the large losses are at least as likely as those of N(Tail, 1), but for a constant factor and for what
	// is small beside ln of the probability. So the squares of independent losses add up. It is 0 where what was
	// reported need not have such a tail.
	Tail float64
}

// NormalMuOf is the NormalMu of count releases; it knows nothing where l is no NormalTail.
func NormalMuOf(l Loss, count uint64) NormalMu {
	if n, ok := l.(NormalTail); ok {
		return n.NormalMu(count)
	}
	return NormalMu{Upper: math.Inf(1)}
}

// NormalMuOfTail has the bounds of count releases of which each is mu-Gaussian DP and has a tail of that kind.
func NormalMuOfTail(mu, tail float64, count uint64) NormalMu {
	root := num.SqrtUp(num.Count(count))
	least := math.Max(0, num.Down(root*tail*(1-8*num.Ulp)))
	return NormalMu{Upper: num.MulUp(root, mu), Lower: least, Tail: least}
}

// PureMu is the μ of pure DP, which is no worse than randomized response: α = β = 1/(1 + e^ε) at its corner. It is
// rounded up (docs/math/conversions.md §4.5.5).
func PureMu(epsilon float64) float64 {
	if !(epsilon > 0) {
		return 0
	}
	corner := -epsilon - math.Log1p(math.Exp(-epsilon))
	mu := num.Up(-2 * (num.LogNormalQuantile(corner-1e-12*(1+epsilon)) * (1 + 1e-12)))
	if epsilon < 1e-3 { // 2Φ⁻¹(½ + tanh(ε/2)/2) ≤ √(2π)·(ε/2)·(1 + ε²), where the corner has few digits
		mu = math.Min(mu, num.Up(num.Up(math.Sqrt(2*math.Pi)/2*(1+epsilon*epsilon))*epsilon*(1+8*num.Ulp)))
	}
	return mu
}

// TailOnly is what remains of m where the pair is dominated by that of m, and has the tail, but no more is known of it.
func (m NormalMu) TailOnly() NormalMu { return NormalMu{Upper: m.Upper, Lower: m.Tail, Tail: m.Tail} }

// Response is a loss that is exactly k-ary randomized response with the Epsilon and the
// InfinityMass of its Facts. Every pure or approximate DP guarantee is one with k = 2.
type Response interface {
	// Buckets is k, a whole number ≥ 2.
	Buckets() float64
}

// BucketsOf returns the k of a Response; false for every other loss.
func BucketsOf(l Loss) (buckets float64, ok bool) {
	if r, ok := l.(Response); ok {
		return r.Buckets(), true
	}
	return 0, false
}

// PrivacyCurve encloses the curve ln δ(ε) of finite losses, for ε ≥ 0.
type PrivacyCurve interface {
	// LogDelta also approximates −d ln δ/dε; −Inf stands for δ = 0.
	LogDelta(epsilon float64) (b Bounds, slope float64)
	// Epsilon encloses the least ε ≥ 0 with δ(ε) ≤ delta, for delta in (0, 1).
	Epsilon(delta float64) Bounds
}

// Closed is a loss of which one release may have its privacy curve in closed form.
type Closed interface {
	// Curve is the larger one of both directions; nil if it has no closed form.
	Curve(in *num.Interrupt) PrivacyCurve
}

// CurveOf returns the closed form of one release's privacy curve; false if there is none.
func CurveOf(l Loss, in *num.Interrupt) (PrivacyCurve, bool) {
	if c, ok := l.(Closed); ok {
		curve := c.Curve(in)
		return curve, curve != nil
	}
	return nil, false
}

// Reaching is a loss with a pair that leaves out what is too rare to matter to most questions: it counts as an infinite
// loss.
type Reaching interface {
	// Reach is the same loss, of which the pair may leave out so much more as infinite.
	Reach(lost float64) Loss
}

// Repeated is a loss of which several releases may have their privacy curve as a sum.
type Repeated interface {
	// Repeat is the larger one of both directions for count ≥ 2 releases; nil if it is not known as a sum, or the
	// sum is long. Where δ is tiny its bounds may be wide.
	Repeat(count float64, in *num.Interrupt) PrivacyCurve
}

// RepeatedOf returns the privacy curve of count ≥ 2 releases as a sum; false if there is none.
func RepeatedOf(l Loss, count float64, in *num.Interrupt) (PrivacyCurve, bool) {
	if r, ok := l.(Repeated); ok {
		curve := r.Repeat(count, in)
		return curve, curve != nil
	}
	return nil, false
}

// Tabled is a loss of which K is bounded at some orders, and between them by convexity
// (docs/math/conversions.md §4.5.2).
type Tabled interface {
	// Last is the largest s at which a bound on K is known; +Inf if there is no such s.
	Last() float64
	// Corners are the last corner of the bound up to s, or 0, and the first beyond, or +Inf.
	Corners(s float64) (below, above float64)
}

// Failing is a loss that is 0 if it is finite.
type Failing interface{ FailsOnly() }

// Ranked is a loss of which K is known better than that of its pair: one that stands for a class
// of mechanisms of which no single one has the cumulant of the pair that dominates them all, or
// one with a pair that is cut.
type Ranked interface {
	// Renyi bounds the largest K of any of them at s > 0.
	Renyi(d Direction, s float64, in *num.Interrupt) Value
}

// Nearly is a loss without a pair, of outputs P and Q that are nearly made of others.
type Nearly interface {
	// Nearly returns the loss of P′ and Q′, a shift λ and ln c such that P ≤ c·P′ and Q ≥ c·e^{−λ}·Q′, whichever
	// mechanism the loss stands for; false if it knows of no such pair.
	Nearly() (l Loss, shift, factor float64, ok bool)
}

// Chosen is the loss of the best of a random number of runs, of which the privacy curve of one run says more than
// bounds on K do (docs/math/best-of.md §1.6.8).
type Chosen interface {
	// Runs are the losses of one run.
	Runs() Composition
	// Mean is how many runs there are on average, rounded up.
	Mean() float64
	// LogShare bounds ln of what an output counts for, of 1 for the best one, u being the probability that a run
	// has a better output. It falls.
	LogShare(u float64) Bounds
	// Published are the probabilities that the best output is each outcome of a run, and at last that it is none of
	// them, given those of a run from the best outcome on; of the first run above a threshold only so many are good.
	// They have small relative errors.
	Published(run []float64, good int) []float64
	// Threshold reports whether the first run above a threshold is published.
	Threshold() bool
	// ByCurve are bounds on K in a direction, given an upper bound on ln δ(ε), ε > 0, of a run in the opposite one.
	ByCurve(d Direction, curve func(epsilon float64) float64, in *num.Interrupt) []Knot
}

// BoundOnly is what a loss has of which nothing but a bound on K is known: neither a pair
// nor a characteristic function.
type BoundOnly struct{}

func (BoundOnly) Pair(Direction, Side, *num.Interrupt) Pair             { return nil }
func (BoundOnly) Decay(Direction, float64, Value, *num.Interrupt) Decay { return Undecayed }
