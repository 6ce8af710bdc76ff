// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// GaussianDP is the least μ for which a composition is μ-Gaussian DP: each test of neighbouring
// datasets is at least as hard as one of N(0, 1) against N(μ, 1) (Dong, Roth and Su 2022, Def. 2.6).
type GaussianDP struct {
	Mu      float64 // a proven upper bound on the least μ; ≥ 0, +Inf where none is known
	MuLower float64 // from below: no smaller μ holds

	// Reason says why no finite μ is known; otherwise it is empty.
	Reason string

	Stopped bool // as in Answer
}

// muGap is how near to each other the bounds on μ are to be, relative to μ.
const muGap = 1e-6

// mostMuPoints bounds the ε at which the curve is asked.
const mostMuPoints = 100

// askGaussianDP returns the least μ for which c is μ-GDP, from above and from below. stop, which may
// be nil, ends the work. See docs/math/gaussian-dp.md §4.13.
func askGaussianDP(c mechanism.Composition, stop func() bool) (GaussianDP, error) {
	q := AtEpsilon(0)
	q.Stop = stop
	losses, err := q.losses(c)
	if err != nil {
		return GaussianDP{}, err
	}
	var normal, tails num.Sum // Σμ²
	var attained float64
	var bounded loss.Composition
	for _, t := range losses {
		if stop != nil && stop() {
			return GaussianDP{}, ErrStopped
		}
		f, mu := t.Loss.Facts(), loss.NormalMuOf(t.Loss, t.Count)
		switch largest := math.Max(t.Loss.MaxLoss(loss.Remove), t.Loss.MaxLoss(loss.Add)); {
		case f.Failing().InfinityMass > 0:
			return GaussianDP{Mu: math.Inf(1),
				Reason: "a " + f.Name + " loses everything with a positive probability"}, nil
		case mu.Upper < math.Inf(1):
			normal.Add(mu.Upper * mu.Upper)
			tails.Add(mu.Tail * mu.Tail)
			attained = math.Max(attained, mu.Lower)
		case largest < math.Inf(1):
			bounded = append(bounded, t)
		default:
			return GaussianDP{Mu: math.Inf(1), Reason: "nothing is known of the tail of a " + f.Name}, nil
		}
	}
	out := GaussianDP{MuLower: math.Max(attained, math.Sqrt(tails.Value())*(1-1e-12))}
	rest := muCurve{q: q, c: bounded}
	if len(bounded) > 0 {
		rest.search()
		if rest.stopped && math.IsInf(rest.upper, 1) {
			return GaussianDP{}, ErrStopped
		}
	}
	out.MuLower = math.Max(out.MuLower, rest.lower)
	out.Mu = num.Up(math.Sqrt(normal.Value()+rest.upper*rest.upper) * (1 + 1e-12))
	if normal.Value() == 0 { // nothing was added
		out.Mu = rest.upper
	}
	if _, mu := RhoAndMu(c); mu < out.Mu { // exact sums of decimals
		out.Mu = mu
	}
	out.MuLower = math.Min(out.MuLower, out.Mu)
	out.Stopped = rest.stopped
	return out, nil
}

// muCurve finds the least μ of losses that have a largest one, from their privacy curve.
type muCurve struct {
	q            Question
	c            loss.Composition
	upper, lower float64
	stopped      bool

	points []muPoint // by increasing ε: 0 … the largest loss
}

// muPoint is a bound on ln δ at ε from above.
type muPoint struct{ epsilon, logDelta float64 }

// search asks the curve where the bound on μ says that it matters, until both bounds are near.
func (m *muCurve) search() {
	m.upper = math.Inf(1)
	top := math.Max(m.c.MaxLoss(loss.Remove), m.c.MaxLoss(loss.Add))
	if top == 0 {
		m.upper = 0
		return
	}
	m.points = []muPoint{{top, math.Inf(-1)}}
	most := loss.PureMu(top)
	next := 0.0
	for range mostMuPoints {
		switch added, ok := m.ask(next); {
		case !ok:
			m.stopped = true
			return
		case !added:
			return
		}
		var at muVertex
		m.upper, at = m.bound()
		m.upper = math.Min(m.upper, most)
		if !(m.upper > m.lower*(1+muGap)) {
			return
		}
		if next = at.touch(); !m.isNew(next, at) {
			if next = at.from + (at.to-at.from)/2; !m.isNew(next, at) {
				return
			}
		}
	}
}

// isNew reports whether ε is between the points of the vertex and at none of them.
func (m *muCurve) isNew(epsilon float64, at muVertex) bool {
	least := 1e-9 * (at.to - at.from)
	return !slices.ContainsFunc(m.points, func(p muPoint) bool { return math.Abs(p.epsilon-epsilon) <= least }) &&
		epsilon > at.from && epsilon < at.to
}

// ask takes one more point of the curve, and what it says of μ from below. A point at which δ is that of
// another but for rounding is not added. ok is false once the time is over.
func (m *muCurve) ask(epsilon float64) (added, ok bool) {
	q := m.q
	q.Epsilon = &epsilon
	a := q.all(m.c, func() bound { return q.rdp(m.c) }, func() bound { return q.pld(m.c) })
	if a.Stopped {
		return false, false
	}
	if l := a.LogDeltaLower; l != nil && *l > math.Inf(-1) {
		m.lower = math.Max(m.lower, leastMu(epsilon, *l))
	}
	if slices.ContainsFunc(m.points, func(p muPoint) bool {
		return math.Abs(p.logDelta-a.LogDelta) < 1e-9*(1+math.Abs(a.LogDelta))
	}) {
		return false, true
	}
	m.points = append(m.points, muPoint{epsilon, a.LogDelta})
	slices.SortFunc(m.points, func(a, b muPoint) int { return cmp.Compare(a.epsilon, b.epsilon) })
	return true, true
}

// leastMu is at most the μ of the Gaussian with the ln δ that is given, at ε.
func leastMu(epsilon, logDelta float64) float64 {
	lo, hi := 0.0, 1.0
	fits := func(mu float64) bool {
		b, _ := loss.GaussianLogDelta(mu, epsilon)
		return b.Upper <= logDelta
	}
	for fits(hi) && hi < 1e9 {
		lo, hi = hi, 2*hi
	}
	for range 60 {
		if middle := lo + (hi-lo)/2; fits(middle) {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo
}

// muVertex is a corner (α, 1 − power) of a trade-off function, where the lines of two ε meet.
type muVertex struct {
	from, to     float64 // the two ε
	level, power float64 // Φ⁻¹ of α from below, and of 1 − β from above
}

func (v muVertex) mu() float64 { return num.Up(v.power - v.level) }

// touch is the ε whose line touches the Gaussian's trade-off function at the vertex.
func (v muVertex) touch() float64 { return (v.level - v.power) * (v.level + v.power) / 2 }

// bound is the least μ whose trade-off function is at most that of the points, at each corner of it.
func (m *muCurve) bound() (mu float64, worst muVertex) {
	// The lower convex hull of the points in the plane of e^ε and δ: slopes −α that rise.
	hull := []muPoint{}
	for _, p := range m.points {
		for n := len(hull); n > 1 && logSlope(hull[n-1], p) >= logSlope(hull[n-2], hull[n-1]); n = len(hull) {
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	for i := 1; i < len(hull); i++ {
		if v := meeting(hull[i-1], hull[i]); v.mu() > mu || i == 1 {
			mu, worst = v.mu(), v
		}
	}
	return math.Max(mu, 0), worst
}

// logSlope is ln α, α = (δ_a − δ_b)/(e^b − e^a); −Inf where δ does not fall.
func logSlope(a, b muPoint) float64 {
	if !(b.logDelta < a.logDelta) {
		return math.Inf(-1)
	}
	fall := a.logDelta
	if b.logDelta > math.Inf(-1) {
		fall += num.Log1mExp(a.logDelta - b.logDelta)
	}
	return fall - b.epsilon - num.Log1mExp(b.epsilon-a.epsilon)
}

// meeting is where the lines of a and b meet. Its α is rounded down and its power δ_a + e^a·α up, so
// that what is proven of it holds of the true corner.
func meeting(a, b muPoint) muVertex {
	log := logSlope(a, b)
	slack := 1e-13 * (1 + math.Abs(log) + b.epsilon)
	if fall := a.logDelta - b.logDelta; fall < 1 { // δ_a − δ_b cancels
		slack += 1e-15 * (1 + math.Abs(a.logDelta)) / fall
	}
	if !(slack < 1e-3) { // nothing is left of it: the corner has α = 0
		return muVertex{from: a.epsilon, to: b.epsilon, level: math.Inf(-1), power: math.Inf(1)}
	}
	power := num.LogAddExp(a.logDelta, a.epsilon+log+slack) + slack
	v := muVertex{from: a.epsilon, to: b.epsilon, level: num.LogNormalQuantile(log - slack)}
	if power < -math.Ln2 {
		v.power = num.LogNormalQuantile(power)
	} else {
		v.power = -num.LogNormalQuantile(math.Log(-math.Expm1(math.Min(0, power))) - 1e-13)
	}
	v.level -= 1e-12 * (1 + math.Abs(v.level))
	v.power += 1e-12 * (1 + math.Abs(v.power))
	return v
}
