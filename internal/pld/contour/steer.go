// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

// What is in this file steers: it chooses where to put the contour. Nothing
// here is proven, and nothing needs to be: every θ gives a valid certificate.

// saddle is a point of the real axis and what the saddle-point approximation
// says there: the ε it serves best, and ln δ (θ > 0) or ln(1−δ) (θ < 0) at it.
type saddle struct {
	theta, k, slope, curvature float64
	epsilon, logTail           float64
	bend                       float64 // second derivative of K(θ) − θε − ln|θ| − ln(1+θ)
}

// steerer estimates one direction's K.
type steerer struct {
	variance float64
	counts   []float64
	rest     []loss.Estimate
	last     float64 // the last saddle, a good place to start
	meter    *meter
}

func (p *parts) steer(d loss.Direction) *steerer {
	s := &steerer{variance: p.variance, meter: p.meter}
	for _, t := range p.terms {
		s.counts = append(s.counts, t.count)
		s.rest = append(s.rest, loss.EstimateOf(t.loss, d, p.meter.in))
	}
	return s
}

// cumulant estimates K, K', K".
func (s *steerer) cumulant(theta float64) (k, slope, curvature float64) {
	k, slope, curvature = theta*(theta+1)*s.variance/2, (theta+0.5)*s.variance, s.variance
	s.meter.spend(estimateWork * float64(len(s.rest)))
	for i, n := range s.counts {
		s.meter.in.Spend(termWork)
		a, b, c := s.rest[i](theta)
		k += n * a
		slope += n * b
		curvature += n * math.Max(0, c)
	}
	return k, slope, curvature
}

// saddle takes the ε for which θ is the saddle: K'(θ) − ε − 1/θ − 1/(1+θ) = 0.
func (s *steerer) saddle(theta float64) saddle {
	x := saddle{theta: theta}
	x.k, x.slope, x.curvature = s.cumulant(theta)
	x.epsilon = x.slope - 1/theta - 1/(1+theta)
	x.bend = x.curvature + 1/(theta*theta) + 1/((1+theta)*(1+theta))
	x.logTail = x.k - theta*x.epsilon - math.Log(math.Abs(theta)) - math.Log1p(theta) - math.Log(2*math.Pi*x.bend)/2
	return x
}

const (
	leastTheta, mostTheta = 1e-12, 1e12
	steerSteps            = 60
	steerTolerance        = 0.05 // what the exponent loses by a θ beside the saddle, doubled
)

// forDelta returns the saddle at which the curve is about δ, given ln δ < 0.
func (s *steerer) forDelta(logDelta float64) saddle {
	if logDelta > -math.Ln2 {
		rest := math.Log(-math.Expm1(logDelta))
		return s.search(false, func(x saddle) float64 { return rest - x.logTail })
	}
	return s.search(true, func(x saddle) float64 { return logDelta - x.logTail })
}

// forEpsilon returns the saddle for ε, of δ or of 1 − δ, whichever is smaller.
func (s *steerer) forEpsilon(epsilon float64) saddle {
	f := func(x saddle) float64 { return x.theta * (x.epsilon - epsilon) }
	x := s.search(true, f)
	if x.logTail > -math.Ln2 {
		return s.search(false, f)
	}
	return x
}

// search finds the zero of f, which increases with |θ|, on either side of 0: with
// θ = e^x, or θ = −1/(1+e^{−x}). Its slope in x is about θ²·bend, times 1+θ on the
// negative side. Where f is large it grows like an exponential, so that Newton's
// step is taken on its logarithm.
func (s *steerer) search(positive bool, f func(saddle) float64) saddle {
	lo, hi := math.Log(leastTheta), math.Log(mostTheta)
	point := math.Exp
	if !positive {
		lo, hi = -30, 30
		point = func(x float64) float64 { return -1 / (1 + math.Exp(-x)) }
	}
	x := s.start(positive)
	var best saddle
	for range steerSteps {
		best = s.saddle(point(x))
		v := f(best)
		if v >= 0 || math.IsNaN(v) { // NaN: K overflowed, θ is too large
			hi = x
		} else {
			lo = x
		}
		slope := best.theta * best.theta * best.bend * math.Min(1, 1+best.theta)
		step := v / slope
		if math.Abs(step*v) < steerTolerance || hi-lo < 1e-3 || s.meter.out() {
			break
		}
		if v > 1 {
			step *= (1 + v) / v * math.Log1p(v)
		}
		next := x - math.Max(-2, math.Min(2, step))
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
		}
		x = next
	}
	if positive {
		s.last = best.theta
	}
	return best
}

func (s *steerer) start(positive bool) float64 {
	switch {
	case !positive:
		return 0
	case s.last > 0:
		return math.Log(s.last)
	}
	k, _, _ := s.cumulant(1)
	guess := math.Sqrt(12 / (k / 2)) // K = θ(θ+1)κ and δ = e^{−12}
	if guess > leastTheta && guess < mostTheta {
		return math.Log(guess)
	}
	return 0
}

// plan is a place for a contour.
type plan struct {
	x            saddle
	tolerance    float64
	need         float64 // −ln of the alias allowed, in units of e^{K(θ)−θε}
	above, below float64 // the points of the real axis for the aliases m > 0, m < 0
	width        float64 // W
	nodes        float64 // about W·T: 2π times as many as are needed
	skewed       bool    // rare large losses: the saddle's estimates are far off
}

// plan chooses θ for ε, near where ln δ(ε), or ln(1−δ), is about logTail, and what
// the aliases need to be below a fraction tolerance of that. θ is at the saddle
// x or below: where rare large losses make the saddle's spread large, it is much
// below (the number of nodes is about W·T/2π).
func (s *steerer) plan(x saddle, epsilon, logTail, tolerance, span float64) plan {
	if x.theta < 0 {
		return s.planAt(x, x, epsilon, logTail, tolerance, span)
	}
	low := s.saddle(x.theta / 2)
	best := s.planAt(x, low, epsilon, logTail, tolerance, span)
	best.skewed = low.curvature < 0.5*x.curvature
	if !best.skewed { // the saddle is as good as any
		return best
	}
	const golden = 0.381966
	lo, hi := 0.2, 1.0
	try := func(f float64) plan {
		return s.planAt(s.saddle(f*x.theta), low, epsilon, logTail, tolerance, span)
	}
	a, b := lo+golden*(hi-lo), hi-golden*(hi-lo)
	pa, pb := try(a), try(b)
	for hi-lo > 0.06 && !s.meter.out() {
		if pa.nodes < pb.nodes {
			hi, b, pb = b, a, pa
			a = lo + golden*(hi-lo)
			pa = try(a)
		} else {
			lo, a, pa = a, b, pb
			b = hi - golden*(hi-lo)
			pb = try(b)
		}
	}
	if pb.nodes < pa.nodes {
		pa = pb
	}
	if pa.nodes < best.nodes {
		best = pa
	}
	best.skewed = true
	return best
}

// planAt plans a contour through x; bulk has the curvature without rare losses,
// which decides how far the contour must go. span is how far
// the largest loss is above ε, maybe +Inf: beyond it δ = 0.
func (s *steerer) planAt(x, bulk saddle, epsilon, logTail, tolerance, span float64) plan {
	p := plan{x: x, tolerance: tolerance, need: -math.Log(tolerance) - (logTail - x.k + x.theta*epsilon)}
	var above, below float64
	p.above, above = s.reach(x, 1, epsilon, p.need)
	p.below, below = s.reach(x, -1, epsilon, p.need)
	if x.theta > 0 {
		above = math.Min(above, math.Max(0, span))
	}
	p.width = math.Max(above, below) * 1.01
	p.nodes = p.width * math.Sqrt(2*p.need/math.Min(bulk.curvature, x.curvature))
	if !(p.nodes > 0) {
		p.nodes = math.Inf(1)
	}
	return p
}

// reach chooses a point θ' = θ ± a of the real axis for an alias bound, side = +1
// or −1, such that the width W that it asks for is least:
//
//	W(a) = (need + K(θ') − K(θ) ∓ aε + ln c(θ'))/a.
func (s *steerer) reach(x saddle, side, epsilon, need float64) (point, width float64) {
	limit, end := math.Inf(1), math.Inf(1) // of a and θ': c is finite from −1 to 0 and from 0 on
	switch {
	case x.theta < 0 && side > 0, x.theta > 0 && side < 0:
		limit, end = math.Abs(x.theta), 0
	case x.theta < 0:
		limit, end = 1+x.theta, -1
	}
	width = math.Inf(1)
	lo, hi := 0.0, limit
	a := math.Sqrt(2 * need / math.Max(x.curvature, 1e-300))
	for range 24 {
		to := x.theta + side*a
		if a >= limit {
			a, to = limit, end
		}
		k, slope, curvature := s.cumulant(to)
		total := need + k - x.k - side*a*epsilon + interval.LogChernoff(to)
		if w := total / a; w < width {
			point, width = to, w
		}
		// W'(a) = 0 where a·(±(K' − ε)) = total; the left side grows faster.
		balance := a*side*(slope-epsilon) - total
		if balance > 0 || math.IsNaN(balance) {
			hi = a
		} else {
			lo = a
		}
		step := balance / (a * a * curvature) // in ln a
		if lo >= limit || hi-lo < 1e-3*hi || math.Abs(balance*step) < 0.05*total || s.meter.out() {
			break
		}
		if r := balance / total; r > 0.5 {
			step *= (1 + r) / r * math.Log1p(r)
		}
		next := a * math.Exp(-math.Max(-1, math.Min(1, step)))
		if !(next > lo && (next < hi || next >= limit && lo < limit && hi == limit)) {
			next = lo + (hi-lo)/2
			if math.IsInf(hi, 1) {
				next = 2 * a
			}
		}
		a = next
	}
	return point, width
}
