// SPDX-License-Identifier: Apache-2.0

// Package contour computes the privacy profile δ(ε) of a composition by inverting the
// characteristic function of its privacy loss.
//
// The loss cumulant K(s) = ln E[e^{sL}] of a composition is the sum of its releases' cumulants,
// also at complex s, and δ(ε) is an integral of it over a line of the complex plane:
//
//	δ(ε) = (1/2πi)·∫ e^{K(s)−sε}/(s(s+1)) ds,  s = θ + it,  θ > 0.
//
// This is the inversion of a Laplace transform; with e^{K(θ+it)−K(θ)}, the characteristic
// function of the losses tilted by e^{θL}, it is also that of a Fourier transform. The line is
// called the contour. Every θ gives the same integral; the saddle point of the integrand is where
// it is least tall, so that no digits cancel (steer.go). The trapezoid rule takes nodes on the
// line, and what it errs by has certified bounds (inversion.go, docs/math/inversion.md §2).
//
// Few nodes are enough where the characteristic function decays: for Gaussians and for many steps
// on samples. It does not decay for losses with atoms; those are refused, with the reason.
package contour

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

const (
	rounds = 3
	// Aliases and truncation take a twentieth of the wanted gap each, and no more
	// than 1e−8: smaller costs little.
	shareOfGap                    = 0.05
	leastTolerance, mostTolerance = 1e-12, 1e-8
	roughTolerance                = 1e-3
)

func toleranceFor(relative float64) float64 {
	return math.Max(leastTolerance, math.Min(mostTolerance, shareOfGap*relative))
}

// Epsilon encloses ε of the finite losses at ln δ in [down, up], down < 0.
// δ is the larger of both directions', so is ε.
func Epsilon(c loss.Composition, down, up float64, w interval.Wanted) (loss.Bounds, string) {
	return answer(c, true, w, func(p *parts) (loss.Bounds, string) { return p.epsilon(c, down, up, w) })
}

// answer asks about the clusters of c's losses, where it has thousands, and if that is not as close as wanted
// about the losses themselves. What the clusters have proven holds beside it, also where the time ends before more
// is proven.
func answer(c loss.Composition, epsilon bool, w interval.Wanted,
	ask func(*parts) (loss.Bounds, string)) (loss.Bounds, string) {
	known, none := interval.Everything, "no clusters"
	b, reason := w.InTime(func() (loss.Bounds, string) {
		p, reason := split(c)
		if reason != "" {
			return interval.Everything, reason
		}
		if q, ok := p.clustered(w); ok {
			known, none = ask(&q)
			if none == "" && (w.Reached(epsilon, known) || w.Stopped()) {
				return known, ""
			}
		}
		return ask(&p)
	})
	return interval.Both(known, none, b, reason)
}

// epsilon is the larger of both directions', of which c has the one or two.
func (p *parts) epsilon(c loss.Composition, down, up float64, w interval.Wanted) (loss.Bounds, string) {
	b, theta, reason := p.epsilonOf(loss.Remove, down, up, w)
	if reason != "" || c.Symmetric() || p.smallerAdd(theta, b.Lower, down) {
		return b, reason
	}
	a, _, reason := p.epsilonOf(loss.Add, down, up, w)
	return interval.Larger(a, b), reason
}

// LogDelta encloses ln δ(ε) of the finite losses.
func LogDelta(c loss.Composition, epsilon float64, w interval.Wanted) (loss.Bounds, string) {
	return answer(c, false, w, func(p *parts) (loss.Bounds, string) { return p.logDelta(c, epsilon, w) })
}

// logDelta is epsilon for ln δ.
func (p *parts) logDelta(c loss.Composition, epsilon float64, w interval.Wanted) (loss.Bounds, string) {
	b, theta, reason := p.logDeltaOf(loss.Remove, epsilon, w)
	if reason != "" || c.Symmetric() || p.smallerAdd(theta, epsilon, b.Lower) {
		return b, reason
	}
	a, _, reason := p.logDeltaOf(loss.Add, epsilon, w)
	return interval.Larger(a, b), reason
}

// smallerAdd reports whether the add direction's δ(ε) is proven to be at most
// e^{logDelta}: by the largest loss, or by Chernoff's bound at some θ > 0.
func (p *parts) smallerAdd(theta, epsilon, logDelta float64) bool {
	if p.maxLoss(loss.Add) <= epsilon {
		return true
	}
	if !(theta > 0) {
		return false
	}
	proven := func(s float64) bool { return chernoffProves(p.cumulant(loss.Add, s), s, epsilon, logDelta) }
	if proven(theta) {
		return true
	}
	x := p.steer(loss.Add).forEpsilon(epsilon)
	return x.theta > 0 && x.logTail < logDelta && proven(x.theta)
}

// chernoffProves reports whether K(s) = k, s > 0, proves ln δ(ε) ≤ logDelta.
func chernoffProves(k loss.Value, s, epsilon, logDelta float64) bool {
	v := k.Upper() - s*epsilon + interval.LogChernoff(s)
	return num.UpBy(v, 8*num.Ulp*(math.Abs(k.K)+math.Abs(s*epsilon)+math.Abs(v)+8)) <= logDelta
}

// epsilonOf is Epsilon in one direction; it also returns θ.
func (p *parts) epsilonOf(d loss.Direction, down, up float64,
	w interval.Wanted) (b loss.Bounds, theta float64, reason string) {
	p.meter = newMeter(len(p.rest), w)
	st := p.steer(d)
	x := st.forDelta(down)
	if x.epsilon < 0 {
		x = st.forEpsilon(0)
	}
	at, logTail := math.Max(0, x.epsilon), x.logTail
	top := p.maxLoss(d)
	b = loss.Bounds{Lower: 0, Upper: top}
	tighter := 1.0
	for i := range rounds {
		pl := st.plan(x, at, logTail, toleranceFor(tighter*math.Abs(x.theta)*w.EpsilonGap(at)), top-at)
		if i == 0 && pl.skewed { // first find out where ε is
			pl = st.plan(x, at, logTail, roughTolerance, top-at)
			tighter *= 30
		}
		c, reason := newInversion(p, d, pl)
		if reason != "" {
			if i == 0 {
				return b, 0, reason
			}
			break
		}
		b, theta = interval.Meet(b, c.epsilon(down, up, at)), c.theta
		if w.Reached(true, b) || p.meter.out() || c.limited && i > 0 {
			break
		}
		if at = b.Lower + (b.Upper-b.Lower)/2; math.IsInf(at, 1) {
			at = b.Lower
		}
		if x = st.forEpsilon(at); x.theta > 0 {
			logTail = down
		} else {
			logTail = num.Log1mExp(-down)
		}
		tighter /= 30
	}
	return b, theta, ""
}

// logDeltaOf is LogDelta in one direction.
func (p *parts) logDeltaOf(d loss.Direction, epsilon float64,
	w interval.Wanted) (b loss.Bounds, theta float64, reason string) {
	b = loss.Bounds{Lower: math.Inf(-1), Upper: 0}
	top := p.maxLoss(d)
	if top <= epsilon {
		return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}, 0, ""
	}
	p.meter = newMeter(len(p.rest), w)
	st := p.steer(d)
	x := st.forEpsilon(epsilon)
	tighter, logTail := 1.0, x.logTail
	for i := range rounds {
		c, reason := newInversion(p, d, st.plan(x, epsilon, logTail, toleranceFor(tighter*w.LogGap()), top-epsilon))
		if reason != "" {
			if i == 0 {
				return b, 0, reason
			}
			break
		}
		at, _ := c.logDelta(epsilon)
		b, theta = interval.Meet(b, at), c.theta
		if w.Reached(false, b) || p.meter.out() || c.limited {
			break
		}
		if low, high, _ := c.tail(epsilon); high-low < 1 {
			logTail = high
		}
		tighter /= 30
	}
	return b, theta, ""
}
