// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// mixtureCurve is the curve of one mixture of Gaussians under ADD_OR_REMOVE_ONE or
// ZERO_OUT, the larger of both directions. With G_c the Gaussian pair's curve at c,
// ln r(z) the loss and u_i = c_i·z − c_i²/2,
//
//	remove: δ(ε) = Σ p_i·G_{c_i}(u_i)              at ln r(z) = ε
//	add:    δ(ε) = Σ p_i·e^{ε+u_i}·G_{c_i}(−u_i)   at ln r(z) = −ε; 0 where r > e^{−ε}
//
// (docs/math/curves.md §4.3.4): as a function of z either is the curve at ε = ±ln r(z), so that
// a z on the safe side gives a bound.
type mixtureCurve struct {
	m  *quadrature.Mixture
	in *num.Interrupt
}

// curveWork is about what one part of a mixture takes of the curve, in nanoseconds.
const curveWork = 500

// logRatio is ln r(z).
func (m mixtureCurve) logRatio(z float64) (l, slope, err float64) {
	m.in.Spend(quadrature.PartWork * len(m.m.Shift))
	return m.m.LogRatio(z)
}

func (m mixtureCurve) LogDelta(epsilon float64) (loss.Bounds, float64) {
	b, slope := m.remove(epsilon)
	a := m.add(epsilon)
	return loss.Bounds{Lower: math.Max(a.Lower, b.Lower), Upper: math.Max(a.Upper, b.Upper)}, slope
}

func (m mixtureCurve) Epsilon(delta float64) loss.Bounds {
	shifts, _, _ := m.m.Parts()
	return loss.Inverse(m.LogDelta, delta, loss.GaussianTop(shifts[len(shifts)-1], delta))
}

// around encloses the z with ln r(z) = l, within a few units in the last place;
// false where there is none. r increases: the ends were computed to be on their side.
func (m mixtureCurve) around(l float64) (below, above float64, ok bool) {
	side := func(z float64) int {
		v, _, err := m.logRatio(z)
		switch off := num.Ulp * (err + math.Abs(l)); {
		case v+off < l:
			return -1
		case v-off > l:
			return 1
		}
		return 0
	}
	below, above = -1, 1
	for side(below) >= 0 {
		if below *= 2; below < -1e9 {
			return 0, 0, false
		}
	}
	for side(above) <= 0 {
		if above *= 2; above > 1e9 {
			return 0, 0, false
		}
	}
	lo, hi := below, above // between what is known and what is too near to tell
	for range 100 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		switch side(mid) {
		case -1:
			lo, below = mid, mid
		case 1:
			hi, above = mid, mid
		default: // close in on either end of what cannot be told
			return m.edge(below, mid, -1, side), m.edge(above, mid, 1, side), true
		}
	}
	return below, above, true
}

// edge moves from, where side is s, towards to, where it is not.
func (m mixtureCurve) edge(from, to float64, s int, side func(float64) int) float64 {
	for range 60 {
		mid := from + (to-from)/2
		if mid == from || mid == to || math.Abs(to-from) <= 4*num.Ulp*math.Abs(to) {
			break
		}
		if side(mid) == s {
			from = mid
		} else {
			to = mid
		}
	}
	return from
}

func (m mixtureCurve) remove(epsilon float64) (loss.Bounds, float64) {
	below, above, ok := m.around(epsilon)
	if !ok {
		return loss.Bounds{Lower: math.Inf(-1), Upper: 0}, 0
	}
	upper, _ := m.sum(below, 1, 0, true)
	lower, slope := m.sum(above, 1, 0, false)
	// dδ/dε = −e^ε·Q(z > z*); the slope by ε is that by z over (ln r)'.
	_, w, _ := m.logRatio(above)
	shifts, _, _ := m.m.Parts()
	return loss.Bounds{Lower: lower, Upper: math.Min(0, upper)}, slope / (w * shifts[len(shifts)-1])
}

func (m mixtureCurve) add(epsilon float64) loss.Bounds {
	shifts, weights, weightErr := m.m.Parts()
	if shifts[0] == 0 && -epsilon < num.Log(weights[0])-num.Ulp*(weightErr+4-4*num.Log(weights[0])) {
		return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	}
	below, above, ok := m.around(-epsilon)
	if !ok { // near the largest loss; δ is at most its value at an ε below
		far := -64.0
		v, _, err := m.logRatio(far)
		if v+num.Ulp*err > -epsilon { // e^ε' with ε' = −ln r(far) < ε
			upper, _ := m.sum(far, -1, -v, true)
			return loss.Bounds{Lower: math.Inf(-1), Upper: math.Min(0, upper)}
		}
		return loss.Bounds{Lower: math.Inf(-1), Upper: 0}
	}
	// The curve falls with ε = −ln r(z): it rises with z.
	value := func(z float64, up bool) float64 {
		v, _, err := m.logRatio(z)
		e := num.UpBy(-v, num.Ulp*err)
		if !up {
			e = num.DownBy(-v, num.Ulp*err)
		}
		s, _ := m.sum(z, -1, e, up)
		return s
	}
	return loss.Bounds{Lower: value(below, false), Upper: math.Min(0, value(above, true))}
}

// sum is ln Σ p_i·e^{ε+u_i}·G_{c_i}(−u_i), or for sign = 1 ln Σ p_i·G_{c_i}(u_i),
// rounded to the side up says, and approximates its slope over −z.
func (m mixtureCurve) sum(z, sign, epsilon float64, up bool) (value, slope float64) {
	shifts, weights, weightErr := m.m.Parts()
	m.in.Spend(curveWork * len(shifts))
	var total num.LogSum
	var steep, worst float64
	for i, c := range shifts {
		if c == 0 {
			continue
		}
		u := c * (z - c/2)
		off := num.Ulp * (8*math.Abs(c*z) + 8*c*c)
		if up {
			off = -off
		}
		b, s := loss.GaussianLogDelta(c, sign*u+off)
		v := b.Lower
		if up {
			v = b.Upper
		}
		if sign < 0 {
			v += epsilon + u
			worst = math.Max(worst, 3*math.Abs(u)+8*math.Abs(c*z)+8*c*c)
		}
		v += num.Log(weights[i])
		total.Add(v)
		steep += math.Exp(v) * s * c
		worst = math.Max(worst, 4*math.Abs(num.Log(weights[i]))+math.Abs(v))
	}
	value = total.Log()
	slack := num.Ulp * (16 + weightErr + 4*float64(len(shifts)) + worst + 4*math.Abs(epsilon) + 2*math.Abs(value))
	if !up {
		slack = -slack
	}
	return value + slack, steep / math.Exp(value)
}
