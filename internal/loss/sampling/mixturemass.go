// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

func (g gaussianMixture) Pair(d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	m := g.parts(side)
	if first := m.Shift[0]; !(g.top() <= pairs.MostMu && (first == 0 || first >= pairs.LeastMu) &&
		m.Shift[1] >= pairs.LeastMu) {
		return nil
	}
	return mixturePair{m: m, add: d == loss.Add && !g.replace, replace: g.replace, zero: g.zero(), in: in}
}

// mixturePair is the pair of a gaussianMixture: with replace P has the weight r(z)
// and Q r(−z), otherwise one of them r(z), the other 1. z runs so that the loss
// increases: backwards with add. See docs/math/groups.md §1.7.5.
type mixturePair struct {
	m            *quadrature.Mixture
	add, replace bool
	zero         float64 // p_i of c_i = 0
	in           *num.Interrupt
}

// loss is L(z) with z running forwards, before the sign of add, and its derivative.
func (p mixturePair) loss(z float64) (l, slope, err float64) {
	p.in.Spend(quadrature.PartWork * len(p.m.Shift))
	top := p.m.Shift[len(p.m.Shift)-1]
	l, w, err := p.m.LogRatio(z)
	if p.replace {
		back, v, e := p.m.LogRatio(-z)
		return l - back, top * (w + v), err + e + math.Abs(l-back)
	}
	return l, top * w, err
}

// inverse is a point where L is l, within off: −Inf below all losses, +Inf above. It
// starts at from.
func (p mixturePair) inverse(l, from float64) (z, off float64) {
	if math.IsInf(l, 0) {
		return l, 0
	}
	if !p.replace && p.zero > 0 && l <= num.Log(p.zero) {
		return math.Inf(-1), num.Ulp * (p.m.WeightErr + 4 - 2*num.Log(p.zero))
	}
	z = from
	v, slope, err := p.loss(z)
	lo, hi := math.Inf(-1), math.Inf(1)
	for range 200 {
		if v < l {
			lo = z
		} else {
			hi = z
		}
		next := z - (v-l)/slope
		if math.Abs(next-z) <= 2*num.Ulp*math.Abs(z) {
			break
		}
		if !(next > lo && next < hi) || math.Abs(next-z) > 1+math.Abs(z) {
			switch {
			case math.IsInf(hi, 1):
				next = lo + 1 + math.Abs(lo)
			case math.IsInf(lo, -1):
				next = hi - 1 - math.Abs(hi)
			default:
				if next = lo + (hi-lo)/2; next <= lo || next >= hi {
					return z, math.Abs(v-l) + num.Ulp*err
				}
			}
		}
		z = next
		v, slope, err = p.loss(z)
	}
	return z, math.Abs(v-l) + num.Ulp*err
}

func (p mixturePair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	top := p.m.Shift[len(p.m.Shift)-1]
	switch {
	case p.replace: // P is left of N(top) and right of N(0)
		hi, _, _ = p.loss(top + pairs.Reach(logAbove))
		lo, _, _ = p.loss(-pairs.Reach(logBelow))
	case p.add: // P is N(0), the loss falls with z
		lo, _, _ = p.loss(pairs.Reach(logBelow))
		hi, _, _ = p.loss(-pairs.Reach(logAbove))
		lo, hi = -lo, -hi
	default:
		lo, _, _ = p.loss(-pairs.Reach(logBelow))
		hi, _, _ = p.loss(top + pairs.Reach(logAbove))
	}
	return lo, hi
}

func (p mixturePair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	n := len(cells)
	start := 0.0
	edge := func(i int) float64 {
		l := edges[i]
		if p.add { // from the other end
			l = -edges[n-i]
		}
		z, off := p.inverse(l, start)
		slack = math.Max(slack, off)
		if !math.IsInf(z, 0) {
			start = z
		}
		return z
	}
	from := edge(0)
	for i := range n {
		to := math.Max(from, edge(i+1))
		at := i
		if p.add {
			at = n - 1 - i
		}
		cells[at] = p.cell(pairs.Interval{A: from, B: to})
		from = to
	}
	return slack
}

// cell is the set of outcomes with z in v: with ρ_i = N(c_i)/N(0) of the set, P has
// N(0)·Σ p_i·ρ_i.
func (p mixturePair) cell(v pairs.Interval) loss.Mass {
	if !(v.A < v.B) {
		return loss.Nothing()
	}
	p.in.Spend(4 * quadrature.PartWork * len(p.m.Shift))
	base, baseErr := v.LogMass()
	f, err := logShare(p.m, v, base, baseErr, 1)
	if p.add {
		return loss.Mass{LogP: base, Loss: -f, LogErr: baseErr, LossErr: err}
	}
	m := loss.Mass{LogP: base + f, Loss: f, LogErr: baseErr + err + 2*num.Ulp*math.Abs(base), LossErr: err}
	if p.replace {
		g, other := logShare(p.m, v, base, baseErr, -1)
		m.Loss -= g
		m.LossErr += other + num.Ulp*math.Abs(m.Loss)
	}
	return m
}

// logShare is ln Σ p_i·ρ_i, with ρ_i of N(sign·c_i), and a bound on its error. ρ_i is a mean of
// e^{±c_i·z − c_i²/2} over v, and between its values at the ends.
func logShare(m *quadrature.Mixture, v pairs.Interval, base, baseErr, sign float64) (f, err float64) {
	c, w := (v.A+v.B)/2, (v.B-v.A)/2
	n := len(m.Shift)
	from, to := m.Counting(v.A, v.B)
	if sign < 0 {
		from, to = m.Counting(-v.B, -v.A)
	}
	logs, errs := make([]float64, to-from), make([]float64, to-from)
	most := math.Inf(-1)
	var middle, middleSize float64
	narrow := v.Narrow()
	if narrow {
		var i float64
		i, middleSize = pairs.Series(c, w)
		middle = math.Log1p(i)
	}
	for i := range logs {
		d := m.Shift[from+i] * sign
		switch {
		case d == 0:
		case narrow && (math.Abs(c)+math.Abs(d))*w <= 1:
			j, size := pairs.Series(c-d, w)
			logs[i] = d*(c-d/2) + math.Log1p(j) - middle
			errs[i] = num.Ulp * (4*(math.Abs(d*c)+d*d) + 24*(middleSize+size))
		default:
			a, off := pairs.Interval{A: v.A - d, B: v.B - d}.LogMass()
			z := math.Max(math.Abs(num.Finite(v.A)), math.Abs(num.Finite(v.B))) + math.Abs(d)
			logs[i], errs[i] = a-base, baseErr+off+num.Ulp*5*z*(2+z)
		}
		most = math.Max(most, logs[i])
	}
	shift := 0.0
	if most > 0.5 || most < -700 {
		shift = most
	}
	rest := m.Outside(from, to)
	sum, excess, size, worst := 0.0, -rest, rest, 0.0
	for i, x := range logs {
		p := m.Weight[from+i]
		e := p * math.Exp(x-shift)
		y := e - p
		if x > -0.5 && x < 0.5 {
			y = p * math.Expm1(x)
		}
		sum += e
		excess += y
		size += math.Abs(y)
		if x > most-745 {
			worst = math.Max(worst, errs[i])
		}
	}
	each := 12 + m.WeightErr + float64(n) + quadrature.NegligibleErr*float64(n-to+from)
	if shift != 0 || excess < -0.5 {
		l := math.Log(sum)
		f = shift + l
		return f, worst + num.Ulp*(each+2*math.Abs(l)+4*math.Abs(shift)+math.Abs(f))
	}
	f = math.Log1p(excess)
	return f, worst + num.Ulp*(each*size/(1+excess)+2*math.Abs(f))
}

// PartCount is how many normal distributions a cell looks at.
func (p mixturePair) PartCount() int {
	if p.replace {
		return 2 * len(p.m.Shift)
	}
	return len(p.m.Shift)
}

func (mixturePair) Atoms() []loss.Mass { return nil }
func (mixturePair) Infinite() float64  { return 0 }
func (mixturePair) Null() float64      { return 0 }

// Anchor is the loss at P's mean of z.
func (p mixturePair) Anchor() float64 {
	if p.replace {
		return 0
	}
	l, _, _ := p.loss(0)
	if p.add {
		return -l
	}
	return l
}
