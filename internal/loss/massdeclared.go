package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// The conversion of ρ-zCDP at the best order, δ(ε) = min over s of
//
//	e^{ρs(s+1) − sε}·s^s/(1+s)^{1+s}   (Canonne–Kamath–Steinke 2020, Prop. 12),
//
// is the curve of a pair: with ε = ℓ(s) = (2s+1)ρ − ln(1+1/s), increasing, it is
// e^{−ρs²}/(1+s), and P(L > ℓ(s)) = e^{−ρs²}, Q(L > ℓ(s)) = e^{−ρ(s+1)²}. It holds in
// both directions, so that left of 0 the mirror image of the right is a better
// curve, and every curve lies below the chord (in e^ε) between both where it touches
// them, at ±ℓ(s*), e^{−ρs*²} + e^{−ρ(s*+1)²} = 1. That is declaredPair: it dominates
// every ρ-zCDP mechanism (docs/math.md §4.9).
type declaredPair struct {
	rho, least float64 // ρ, s*
}

// Masses of declared guarantees are computed for Σρ in this range.
const leastRho, mostRho = 1e-20, 600

// DeclaredPair is the pair above, the same in both directions, for the sum ρ of any
// number of zCDP guarantees; nil where ρ is out of range. It only dominates: a
// mechanism with the guarantee may lose nothing.
func DeclaredPair(rho float64) Pair {
	if !(rho >= leastRho && rho <= mostRho) {
		return nil
	}
	// With y = ρs*², e^{−y}·e^{−ρ(2s+1)} = 1 − e^{−y}.
	// Below it the masses add up to 1 at least, and the curve to more.
	s, _ := num.Crossing(func(s float64) (float64, float64) {
		return num.Log1mExp(rho*s*s) + rho*(s+1)*(s+1), 0
	}, 0, 2/math.Sqrt(rho)+1, 1/math.Sqrt(rho), 1e-15, 200)
	if !(s > 0) {
		return nil
	}
	return declaredPair{rho, s}
}

// DeclaredLogDelta returns an upper bound on ln δ(ε) of ρ-zCDP by the chord, δ = e^{−ρs*²}
// − e^{ε − ρ(s*+1)²}, where that is below the conversion: for 0 ≤ ε < ℓ(s*).
func DeclaredLogDelta(rho, epsilon float64) (logDelta float64, ok bool) {
	p, _ := DeclaredPair(rho).(declaredPair)
	if !(p.rho > 0 && epsilon >= 0 && epsilon < p.loss(p.least)) {
		return 0, false
	}
	s := p.least
	l := (2*s + 1) * rho
	v := num.Log1mExp(l-epsilon) - rho*s*s
	return math.Min(0, num.UpBy(v, 16*num.Ulp*(1+math.Abs(v)+(1+s)*(l+epsilon)))), true
}

// DeclaredEpsilon is its inverse: an upper bound on ε at ln δ, where the chord gives
// it.
func DeclaredEpsilon(rho, logDelta float64) (epsilon float64, ok bool) {
	p, _ := DeclaredPair(rho).(declaredPair)
	if !(p.rho > 0) {
		return 0, false
	}
	s := p.least
	l, z := (2*s+1)*rho, -logDelta-rho*s*s
	if !(z > 0) {
		return 0, logDelta < 0 // above δ(0)
	}
	v := l + num.Log1mExp(z)
	e := num.UpBy(v, 16*num.Ulp*(1+l+math.Abs(v)+(rho*s*s-logDelta)/math.Expm1(z)))
	return math.Max(0, e), e < p.loss(s)
}

// Declared splits what is known by a ρ-zCDP guarantee alone off a composition: Σ
// n_j·ρ_j, rounded up, 0 where there is none.
func (c Composition) Declared() (rest Composition, rho float64) {
	for _, t := range c {
		if f := t.Loss.Facts(); f.BoundOnly {
			rho = num.AddUp(rho, num.MulUp(num.Count(t.Count), f.Rho))
		} else {
			rest = append(rest, t)
		}
	}
	return rest, rho
}

// loss is ℓ(s).
func (p declaredPair) loss(s float64) float64 { return (2*s+1)*p.rho - math.Log1p(1/s) }

// lossErr bounds the error of loss.
func (p declaredPair) lossErr(s float64) float64 {
	return num.Ulp * (4*(2*s+1)*p.rho + 4*math.Log1p(1/s))
}

// at is ℓ's inverse from a start below it, and |ℓ(s) − l|. ℓ is concave, so that
// Newton's steps rise to it; ℓ(s) ≤ ln s + (2s+1)ρ gives a better start.
func (p declaredPair) at(l, from float64) (s, off float64) {
	if math.IsInf(l, 1) {
		return l, 0
	}
	s = math.Max(math.Max(from, (l-p.rho)/(2*p.rho)), math.Min(math.Exp(l-p.rho-1), 1/(2*p.rho)))
	for range 60 {
		d := l - p.loss(s)
		next := s + d/(2*p.rho+1/(s*(s+1)))
		if !(next > s*(1+num.Ulp)) {
			break
		}
		s = next
	}
	return s, math.Abs(l - p.loss(s))
}

func (p declaredPair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	s := math.Max(p.least, math.Sqrt(math.Max(0, -logAbove)/p.rho))
	t := math.Max(p.least, math.Sqrt(math.Max(0, -logBelow)/p.rho)-1)
	return -p.loss(t), p.loss(s)
}

// Cells: the right half by s; the left half mirrored.
func (p declaredPair) Cells(edges []float64, cells []Mass) (slack float64) {
	n := len(cells)
	slack = p.right(edges, cells)
	back, mirror := make([]float64, n+1), make([]Mass, n)
	for i, e := range edges {
		back[n-i] = -e
	}
	slack = math.Max(slack, p.right(back, mirror))
	for i := range cells {
		cells[i] = together(cells[i], exchanged(mirror[n-1-i]))
	}
	return slack
}

// right fills the cells with what lies above ℓ(s*).
func (p declaredPair) right(edges []float64, cells []Mass) (slack float64) {
	slack = p.lossErr(p.least)
	from := p.least
	rise := func(l float64) float64 {
		if !(l > p.loss(from)) {
			return from
		}
		s, off := p.at(l, from)
		if !math.IsInf(s, 1) {
			slack = math.Max(slack, off+p.lossErr(s))
		}
		return s
	}
	from = rise(edges[0])
	for i := range cells {
		s := rise(edges[i+1])
		cells[i] = p.cell(from, s)
		from = s
	}
	return slack
}

// cell is the set of outcomes with s in (a, b].
func (p declaredPair) cell(a, b float64) Mass {
	if !(a < b) {
		return nothing()
	}
	log := -p.rho * a * a
	l := p.rho * (2*a + 1) // ln of e^{−ρa²}/e^{−ρ(a+1)²}
	if math.IsInf(b, 1) {
		return Mass{LogP: log, Loss: l, LogErr: num.Ulp * 4 * -log, LossErr: num.Ulp * 4 * l}
	}
	d := p.rho * (b - a)
	x, y := d*(a+b), d*(a+b+2)
	first, second := num.Log1mExp(x), num.Log1mExp(y)
	ratio := first - second // ≤ 0
	if y < 1 {              // nothing cancels
		ratio = num.Log(math.Expm1(-x) / math.Expm1(-y))
	}
	return Mass{
		LogP: log + first, Loss: l + ratio,
		LogErr:  num.Ulp * (16 + 8*math.Abs(log) + 8*math.Abs(first)),
		LossErr: num.Ulp * (32 + 8*l + 8*math.Abs(ratio)),
	}
}

func (declaredPair) Atoms() []Mass     { return nil }
func (declaredPair) Infinite() float64 { return 0 }
func (declaredPair) Null() float64     { return 0 }
func (declaredPair) Anchor() float64   { return 0 }
