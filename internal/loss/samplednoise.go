package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// sampledSloped has the atoms of cut-off Laplace noise, its density by panels as
// sampledLaplace has the whole one, and what only Q has, which becomes ln(1−q); nil out
// of range, and where the bound is so near the distance that nothing is known of the
// atoms.
func (l sampledLoss) sampledSloped(inner paired, size float64) *outcomes {
	p, ok := inner.Pair(Remove, Dominating).(slopedPair)
	if t, cut := inner.(truncated); !ok || cut && !(t.bound-t.e0 > 1e-9) {
		return nil
	}
	count, h, reach := l.panels(size)
	if !(count <= maxNodes/32) {
		return nil
	}
	m := newMix(l.rate)
	whole := l.laplaceCut(p.reach, count, h)
	more := 2 * math.Exp(p.log) * (1 + 1e-9) // the density over the Laplace one
	// The atom is within 200 Ulp, the rest as much as that leaves.
	rest := 256 / (1 - p.infinite)
	o := &outcomes{
		weightErr: 64 + 10*p.reach + p.logErr/num.Ulp + 2*math.Abs(p.log) + rest, reach: reach,
		lostP: l.Facts().Atom, lostErr: 256 * num.Ulp * l.Facts().Atom,
		cut: func(s complex128, large bool, shift float64) float64 { return more * whole(s, large, shift) },
	}
	add := func(half, u, du float64) {
		lp, _, err := m.logRatio(u, du)
		o.nodes = append(o.nodes, node{half: half, lp: lp, errP: err})
	}
	for _, end := range p.ends {
		add(end.Loss-end.LogP, end.Loss, 8*p.reach)
		o.weightErr = math.Max(o.weightErr, 16+end.LogErr/num.Ulp+10*p.reach+2*math.Abs(end.LogP)+rest)
	}
	for i := range count {
		middle := float64(2*i+1) * h // of u + reach
		for j, x := range legendrePoints {
			log := num.Log(h*legendreWeights[j]/2) + p.log
			for _, d := range [2]float64{middle - h*x, middle + h*x} {
				add(d/2-log, d-p.reach, 10*p.reach)
			}
		}
	}
	o.nodes = append(o.nodes, l.missed(p.infinite))
	return o
}

// missed is what Q has where P has nothing.
func (l sampledLoss) missed(mass float64) node {
	miss := math.Log1p(-l.rate)
	return node{half: -num.Log(mass), lp: miss, errP: -2*miss + 4*l.rate/(1-l.rate)}
}

// sampledTable has the losses of a table, and what is missing of Q, which becomes
// ln(1−q). What P's masses are from adding up to what is left moves each of them, and
// its loss, by no more than off Ulp; what is missing is known within an absolute bound,
// which cut multiplies with what such a mass adds: H, or large, relative to Q.
func (l sampledLoss) sampledTable(inner lossTable) *outcomes {
	m := newMix(l.rate)
	off := 16 + 16/(1-inner.infinite)
	o := &outcomes{weightErr: off, lostP: l.Facts().Atom, lostErr: 16 * num.Ulp * l.Facts().Atom, reach: math.Inf(1)}
	for i, p := range inner.masses.Values() {
		u, log := inner.losses.At(i), num.Log(p)
		lp, _, err := m.logRatio(u, off)
		o.nodes = append(o.nodes, node{half: u - log, lp: lp, errP: err})
		o.weightErr = math.Max(o.weightErr, off+8+2*math.Abs(log)+2*math.Abs(u))
	}
	missing := inner.missing()
	if !(missing.Upper > 0) {
		return o
	}
	miss := l.missed((missing.Lower + missing.Upper) / 2)
	o.nodes = append(o.nodes, miss)
	half, x := (missing.Upper-missing.Lower)/2*(1+1e-9), miss.lp
	o.cut = func(s complex128, large bool, shift float64) float64 {
		theta, size := real(s), math.Hypot(real(s), imag(s))
		direct := (1 + theta) * x
		if large {
			return half * math.Exp(direct-shift)
		}
		// |E(z)| ≤ |z|²/2·e^{max(0, Re z)}, and D(x) ≤ x²/2 for x ≤ 0.
		bound := math.Exp(x+math.Max(0, theta*x))*size*size*x*x/2 + size*x*x/2
		return half * math.Min(bound, math.Exp(direct)+1+size)
	}
	return o
}

// Sampled discrete Gaussians are added up from where Q is below e^{−84}.
const normalReach = 13

// sampledNormal has the whole numbers around 0 and d, as far as they matter to s with
// −½ ≤ Re s ≤ size, or −1−s; nil where they are too many, or out of range.
func (l sampledLoss) sampledNormal(inner discreteNormal, size float64) *outcomes {
	p, ok := inner.Pair(Remove, Dominating).(discreteNormalPair)
	if !ok {
		return nil
	}
	first, last := l.normalEnds(inner, size)
	if !(last-first < mostDiscreteNodes) {
		return nil
	}
	m := newMix(l.rate)
	o := &outcomes{weightErr: 32 + p.allErr/num.Ulp + 2*math.Abs(p.all), cut: l.normalCut(p, first, last), reach: math.Inf(1)}
	for x := first; x <= last; x++ {
		u, far := p.kappa*(2*x-p.d), x/p.sigma
		lp, _, err := m.logRatio(u, 4*math.Abs(u))
		o.nodes = append(o.nodes, node{half: far*far/2 + p.all, lp: lp, errP: err})
	}
	return o
}

// normalEnds: r^{1+s} gathers around (1+s)d at most; mirrored it is at most
// (1−q)^{−s}, and gathers around −sd at least.
func (l sampledLoss) normalEnds(inner discreteNormal, size float64) (first, last float64) {
	wide := normalReach * inner.sigma
	low := math.Min(inner.sigma*math.Sqrt(normalReach*normalReach-2*size*math.Log1p(-l.rate)), size*inner.d+wide)
	return -math.Ceil(low), math.Ceil((1+size)*inner.d + wide)
}

// normalCut bounds what is left out. With r ≤ e^L where r ≥ 1, r ≥ e^L where r ≤ 1, and
// Q·e^{mL} = e^{m(m−1)μ²/2}·N(md), N(c) the unnormalised Gaussian around c over Z, for Re s
// = θ ≥ −½
//
//	Σ_{x>last} Q·r^{1+θ} ≤ e^{θ(θ+1)μ²/2}·N((1+θ)d)(x > last),  Σ_{x<first} Q·r^{1+θ} ≤ Q(x < first),
//
// and mirrored, θ = −1−m, Σ_{x>last} Q·r^{−m} ≤ P(x > last) + Q(x > last) and Σ_{x<first}
// Q·r^{−m} ≤ min{(1−q)^{−m}·Q(x < first), e^{m(m+1)μ²/2}·N(−md)(x < first)}.
// See docs/math/sampling.md §1.3.3.
func (l sampledLoss) normalCut(p discreteNormalPair, first, last float64) lostBy {
	// ln N(x ≥ c + y): a geometric sum bounds it.
	tail := func(y float64) float64 {
		if !(y > 0) {
			return math.Inf(1)
		}
		far := y / p.sigma
		return -far*far/2 + math.Log1p(p.sigma/far) - p.all
	}
	mu := p.d / p.sigma
	below, above := tail(1-first), tail(last+1-p.d) // above bounds Q's too
	return func(s complex128, large bool, shift float64) float64 {
		theta, size := real(s), math.Hypot(real(s), imag(s))
		low, high := below, above+math.Ln2
		if theta >= -0.5 {
			high = math.Max(high, theta*(theta+1)*mu*mu/2+tail(last+1-(1+theta)*p.d))
		} else if m := -1 - theta; m > 0 {
			low = math.Min(below-m*math.Log1p(-l.rate), m*(m+1)*mu*mu/2+tail(1-first-m*p.d))
		}
		if large {
			return (math.Exp(low-shift) + math.Exp(high-shift)) * (1 + 1e-9)
		}
		linear := 2 * (1 + size) * (math.Exp(below) + math.Exp(above)) // of Q and P
		return (math.Exp(low) + math.Exp(high) + linear) * (1 + 1e-9)
	}
}
