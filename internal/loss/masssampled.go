package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

func (g sampledGaussian) Pair(d Direction, side Side) Pair {
	mu, rate := sided(g.mu, side), sided(g.rate, side)
	if g.replace {
		return newReplacedPair(mu, rate)
	}
	inner := GaussianPair(mu)
	if inner == nil {
		return nil
	}
	return SampledPair(inner, rate, d)
}

// SampledPair is the pair of a mechanism on a Poisson sample of rate q in (0, 1),
// from the pair (P, Q) that dominates it for the same direction:
//
//	remove: ((1−q)Q + qP, Q),  L' = ln(1 − q + q·e^L)
//	add:    (P, (1−q)P + qQ),  L' = −ln(1 − q + q·e^{−L})
//
// (Zhu–Dong–Wang 2022, Thm 11). The inner infinite losses stay so with
// probability q in the remove direction; in the other they become finite, and
// what only Q has becomes so in the first. It grows with q: a smaller q is
// post-processing. Nil where q is out of range. See docs/math/sampling.md §1.3.
func SampledPair(inner Pair, rate float64, d Direction) Pair {
	if !(rate >= 1e-15 && rate < 1) {
		return nil
	}
	return samplePair{
		inner: inner, rate: rate, logRate: num.Log(rate), miss: math.Log1p(-rate), add: d == Add,
	}
}

type samplePair struct {
	inner               Pair
	rate, logRate, miss float64 // q, ln q, ln(1−q)
	add                 bool
}

// outer maps a loss of the inner pair, inner one of this back: −Inf and +Inf
// outside the range.
func (p samplePair) outer(l float64) float64 {
	if p.add {
		l = -l
	}
	v := p.miss
	if !math.IsInf(l, -1) {
		v = logMix(p.rate, p.logRate, l)
	}
	if p.add {
		return -v
	}
	return v
}

func (p samplePair) back(l float64) float64 {
	if p.add {
		l = -l
	}
	v := math.Inf(-1)
	switch {
	case l <= p.miss:
	case l > 30:
		v = l - p.logRate + math.Log1p(-(1-p.rate)*math.Exp(-l))
	case l < -1:
		if r := math.Exp(l) - (1 - p.rate); r > 0 {
			v = num.Log(r / p.rate)
		}
	default:
		if x := math.Expm1(l) / p.rate; x > -1 {
			v = math.Log1p(x)
		}
	}
	if p.add {
		return -v
	}
	return v
}

func (p samplePair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	lo, hi = p.inner.Ends(logBelow, logAbove)
	hi = math.Max(0, hi) // where L > 0, Q is rarer than P
	if !p.add {
		// P's part below may come from Q, of which little is known there.
		return p.miss, p.outer(hi)
	}
	if p.inner.Infinite() > 0 {
		return p.outer(lo), -p.miss
	}
	return p.outer(lo), p.outer(hi)
}

func (p samplePair) Cells(edges []float64, cells []Mass) (slack float64) {
	inner := make([]float64, len(edges))
	for i, e := range edges {
		inner[i] = p.back(e)
		if i > 0 { // rounding must not make cells overlap
			inner[i] = math.Max(inner[i], inner[i-1])
		}
		// ln(1 + (e^l − 1)/q) is within 4 Ulp of both l and itself.
		if !math.IsInf(inner[i], 0) {
			slack = math.Max(slack, num.Ulp*(8*math.Abs(e)+4*p.share(inner[i])*math.Abs(inner[i])))
		}
	}
	if p.miss < -1 {
		slack += 8 * num.Ulp
	}
	slack += p.inner.Cells(inner, cells)
	for i := range cells {
		cells[i] = p.sample(cells[i])
	}
	return slack
}

// share is the derivative of outer.
func (p samplePair) share(l float64) float64 {
	if p.add {
		l = -l
	}
	return mixShare(p.rate, l)
}

// sample is what a set of the inner pair's outcomes becomes.
func (p samplePair) sample(m Mass) Mass {
	if math.IsInf(m.LogP, -1) {
		return m
	}
	l := p.outer(m.Loss)
	w := p.share(m.Loss)
	lossErr := w*m.LossErr + num.Ulp*(8*math.Abs(l)+2*w*math.Abs(m.Loss))
	if p.add {
		return Mass{LogP: m.LogP, Loss: l, LogErr: m.LogErr, LossErr: lossErr}
	}
	// P' = Q·e^{L'}
	q := m.LogP - m.Loss
	return Mass{
		LogP: q + l, Loss: l, LossErr: lossErr,
		LogErr: m.LogErr + (1-w)*m.LossErr + num.Ulp*(8*math.Abs(l)+2*math.Abs(q)+2*w*math.Abs(m.Loss)),
	}
}

// Atoms are the inner ones and what becomes finite: in the remove direction what
// only Q has, at ln(1−q); in the other what only P has, at −ln(1−q).
func (p samplePair) Atoms() []Mass {
	var atoms []Mass
	if n := p.inner.Null(); n > 0 && !p.add {
		atoms = append(atoms, Mass{LogP: num.Log(n) + p.miss, Loss: p.miss, LogErr: num.Ulp * 4 * (1 - num.Log(n) - p.miss), LossErr: num.Ulp * 2 * -p.miss})
	}
	for _, a := range p.inner.Atoms() {
		atoms = append(atoms, p.sample(a))
	}
	if m := p.inner.Infinite(); m > 0 && p.add {
		atoms = append(atoms, Mass{LogP: num.Log(m), Loss: -p.miss, LogErr: num.Ulp * 2 * -num.Log(m), LossErr: num.Ulp * 2 * -p.miss})
	}
	return atoms
}

func (p samplePair) Infinite() float64 {
	if p.add {
		return 0
	}
	return p.rate * p.inner.Infinite()
}

func (p samplePair) Null() float64 {
	if p.add {
		return p.rate * p.inner.Null()
	}
	return 0
}

// Anchor is where the inner P and Q overlap most: for a small q the losses
// gather there.
func (p samplePair) Anchor() float64 {
	if a := p.Atoms(); len(a) > 0 {
		return atomicPair{atoms: a}.Anchor()
	}
	if p.add {
		return p.outer(p.inner.Anchor())
	}
	return p.outer(-p.inner.Anchor())
}

// replacedPair is the Poisson-sampled Gaussian's pair under REPLACE_ONE: P is
// (1−q)N(0) + qN(μ) and Q its mirror, so L(z) = ln r(z) − ln r(−z) increases.
type replacedPair struct {
	mu, rate, logRate float64
	logOdds           float64 // ln((1−q)/q)
}

func newReplacedPair(mu, rate float64) Pair {
	if !(rate >= 1e-15 && rate < 1) || GaussianPair(mu) == nil {
		return nil
	}
	return replacedPair{mu: mu, rate: rate, logRate: num.Log(rate), logOdds: math.Log1p(-rate) - num.Log(rate)}
}

func (p replacedPair) mix(x float64) float64 { return logMix(p.rate, p.logRate, x) }

// loss is L(z).
func (p replacedPair) loss(z float64) float64 {
	h := p.mu * p.mu / 2
	return p.mix(p.mu*z-h) - p.mix(-p.mu*z-h)
}

// at is L's inverse: μz = l/2 + asinh[(1−q)/q·sinh(l/2)·e^{μ²/2}].
func (p replacedPair) at(l float64) float64 {
	if l < 0 {
		return -p.at(-l)
	}
	if l == 0 || math.IsInf(l, 1) {
		return l
	}
	log := p.logOdds + p.mu*p.mu/2 + l/2 + num.Log1mExp(l) - math.Ln2 // of asinh's argument
	v := log + math.Ln2
	if log < 30 {
		v = math.Asinh(math.Exp(log))
	}
	return (l/2 + v) / p.mu
}

func (p replacedPair) Ends(_, logAbove float64) (lo, hi float64) {
	// Both parts of P are below N(μ) above μ, and Q's mirror below.
	z := p.mu + reach(logAbove)
	return p.loss(-z), p.loss(z)
}

// Cells: z's own error counts with L' = μ·(w(z) + w(−z)), w the share of the
// second part; the argument of asinh moves L by at most its relative error
// times tanh(l/2)·2.
func (p replacedPair) Cells(edges []float64, cells []Mass) (slack float64) {
	h := p.mu * p.mu / 2
	a := p.at(edges[0])
	for i := range cells {
		b := math.Max(a, p.at(edges[i+1]))
		cells[i] = p.cell(interval{a, b})
		if !math.IsInf(b, 0) {
			u := math.Abs(p.mu * b)
			w := mixShare(p.rate, u-h) + mixShare(p.rate, -u-h)
			relative := 16 + 8*h + 4*math.Abs(p.logOdds) + 4*math.Abs(edges[i+1])
			slack = math.Max(slack, num.Ulp*(w*(8*u+relative*math.Min(1, u))+4*math.Abs(edges[i+1])))
		}
		a = b
	}
	return slack
}

// cell is the set of outcomes with z in v. With ρ± = N(±μ)/N(0) of the set both
// masses are N(0)·(1 − q + qρ).
func (p replacedPair) cell(v interval) Mass {
	if !(v.a < v.b) {
		return nothing()
	}
	up, down := interval{v.a - p.mu, v.b - p.mu}, interval{v.a + p.mu, v.b + p.mu}
	c, w := (v.a+v.b)/2, (v.b-v.a)/2
	base, baseErr := v.log()
	var x, y, err float64 // ln ρ±
	if v.narrow() && (math.Abs(c)+p.mu)*w <= 1 {
		i, s0 := series(c, w)
		j, s1 := series(c-p.mu, w)
		k, s2 := series(c+p.mu, w)
		mid := math.Log1p(i)
		x = p.mu*(c-p.mu/2) + math.Log1p(j) - mid
		y = -p.mu*(c+p.mu/2) + math.Log1p(k) - mid
		err = num.Ulp * (4*(math.Abs(p.mu*c)+p.mu*p.mu) + 24*(s0+s1+s2))
	} else {
		a, ea := up.log()
		b, eb := down.log()
		z := math.Max(math.Abs(num.Finite(v.a)), math.Abs(num.Finite(v.b))) + p.mu
		x, y, err = a-base, b-base, baseErr+ea+eb+num.Ulp*5*z*(2+z)
	}
	f, g := p.mix(x), p.mix(y)
	wx, wy := mixShare(p.rate, x), mixShare(p.rate, y)
	own := num.Ulp * (8*(math.Abs(f)+math.Abs(g)) + 2*(wx*math.Abs(x)+wy*math.Abs(y)))
	return Mass{
		LogP: base + f, Loss: f - g,
		LogErr: baseErr + wx*err + own + 2*num.Ulp*math.Abs(base), LossErr: (wx+wy)*err + own,
	}
}

func (replacedPair) Atoms() []Mass     { return nil }
func (replacedPair) Infinite() float64 { return 0 }
func (replacedPair) Null() float64     { return 0 }
func (replacedPair) Anchor() float64   { return 0 }
