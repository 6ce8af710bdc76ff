// SPDX-License-Identifier: Apache-2.0

package closed

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// walk goes down the losses of responses from a starting point. Masses are in units of
// e^{shift}, rescaled as they grow. See docs/math/curves.md §4.4.
type walk struct {
	l     responses
	v     float64 // the point
	steps int
	shift float64

	mass, above float64 // P_v, P_{v−1}
	b, delta    float64 // b_v, δ(l_v)

	decay   float64 // e^{−g}
	rise    float64 // 1 − e^{−g}
	logTail float64 // ln of a bound on the mass above the starting point
	err     float64 // the largest relative error of the mass at an anchor: b and delta have summed all
	since   int     // steps since then
}

// Every anchorEvery steps a binomial mass is computed afresh.
const anchorEvery = 4096

// stepWork is about what a step takes, in nanoseconds.
const stepWork = 25

func (l responses) newWalk(exponent float64) *walk {
	w := &walk{l: l, decay: math.Exp(-l.stride * l.e0), rise: -math.Expm1(-l.stride * l.e0)}
	w.v, w.logTail = l.start(exponent)
	w.shift, w.err = l.logMass(w.v)
	w.mass = 1
	if w.v > 0 && l.buckets > 2 {
		above, err := l.logMass(w.v - 1)
		w.above = math.Exp(above - w.shift)
		w.err = math.Max(w.err, err)
	}
	w.b = w.mass
	return w
}

// down takes the step from v to v+1.
func (w *walk) down() {
	l := &w.l
	if w.steps%anchorEvery == 0 {
		l.in.Spend(stepWork * anchorEvery)
	}
	w.delta += w.b * w.rise
	var next float64
	if l.buckets == 2 {
		i := l.n - w.v
		next = w.mass * (i / (w.v + 1)) * l.small
	} else {
		// Coefficients of (1 + γy + βy²)^n, which all are positive up to v = n:
		// (v+1)·C_{v+1} = γ(n−v)·C_v + β(2n−v+1)·C_{v−1}.
		next = ((l.buckets-2)*l.small*(l.n-w.v)*w.mass + l.small*(2*l.n-w.v+1)*w.above) / (w.v + 1)
	}
	w.above, w.mass = w.mass, next
	w.v++
	w.steps++
	if w.since++; w.since == anchorEvery && l.buckets == 2 {
		m, err := l.logMass(w.v)
		w.mass, w.since = math.Exp(m-w.shift), 0
		w.err = math.Max(w.err, err+4*num.Ulp*(math.Abs(m)+math.Abs(w.shift)))
	}
	w.b = w.mass + w.decay*w.b
	if w.b > 0x1p600 || w.delta > 0x1p600 {
		const scale = 0x1p-600
		w.mass *= scale
		w.above *= scale
		w.b *= scale
		w.delta *= scale
		w.shift += 600 * math.Ln2
	}
}

// relative bounds the relative error of mass, b and delta: at most 10 Ulp a
// step for the recurrences, less between anchors.
func (w *walk) relative() float64 {
	drift := 10 * float64(w.since)
	if w.l.buckets == 2 {
		drift = 10 * math.Min(float64(w.steps), anchorEvery)
	}
	return w.err + num.Ulp*(64+drift+6*float64(w.steps)+4*math.Abs(w.shift))
}

// logBounds encloses the logarithm of a positive combination x of b and delta,
// with what lies above the starting point.
func (w *walk) logBounds(x float64) (low, high float64) {
	mid, e := w.shift+num.Log(x), w.relative()
	slack := e + 8*num.Ulp*(math.Abs(w.shift)+math.Abs(mid))
	lower := slack
	if w.l.rounded {
		// ln P(m) moves with ε0 by at most about twice the distance of m from its
		// mean.
		_, mean := w.l.tilt(0)
		m := w.l.n - w.l.stride*w.v
		lower += 16 * num.Ulp * w.l.e0 * (2*math.Abs(m-w.l.n*mean) + 40*math.Sqrt(w.l.n) + 10)
	}
	return num.DownBy(mid, lower), num.UpBy(num.LogAddExp(mid, w.logTail), slack)
}

// bounds is logBounds without the logarithm.
func (w *walk) bounds(x float64) (low, high float64) {
	if x == 0 {
		return 0, num.ExpUp(w.logTail)
	}
	a, b := w.logBounds(x)
	return num.ExpDown(a), num.ExpUp(b)
}

// logMass returns ln P_v with a bound on its error.
func (l responses) logMass(v float64) (value, err float64) {
	p, q := 1/(1+l.small), l.small/(1+l.small)
	if l.buckets == 2 {
		return num.LogBinomialMass(l.n-v, l.n, p, q)
	}
	top := -math.Log1p((l.buckets - 1) * l.small) // ln of the probability of +ε0
	if v == 0 {
		return l.n * top, 4 * num.Ulp * l.n * -top
	}
	// Given j losses other than 0, they are binomial: a sum over j = m, m+2, … of
	// log-concave terms.
	m := l.n - v
	moved := (1 + l.small) / (1 + (l.buckets-1)*l.small)
	still := (l.buckets - 2) * l.small / (1 + (l.buckets-1)*l.small)
	term := func(i float64) (float64, float64) {
		j := m + 2*i
		a, ea := num.LogBinomialMass(j, l.n, moved, still)
		b, eb := num.LogBinomialMass(m+i, j, p, q)
		return a + b, ea + eb
	}
	most := math.Floor((l.n - m) / 2)
	lo, hi := 0.0, most
	for lo < hi {
		mid := math.Floor((lo + hi) / 2)
		a, _ := term(mid)
		b, _ := term(mid + 1)
		if a < b {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	peak, worst := term(lo)
	sum := num.LogSum{}
	sum.Add(peak)
	for _, side := range []float64{-1, 1} {
		for i := lo + side; i >= 0 && i <= most; i += side {
			v, e := term(i)
			sum.Add(v)
			worst = math.Max(worst, e)
			if v < peak-60 { // log-concave: the rest is below its last term times the range
				break
			}
		}
	}
	value = sum.Log()
	return value, worst + num.Ulp*(16+4*math.Abs(value)) + 1e-20
}
