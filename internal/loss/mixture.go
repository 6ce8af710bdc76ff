package loss

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// gaussianMixture is normal noise on a query that one record moves by c_i with
// probability p_i, in units of the noise: the pair (r·N, N) and its mirror, with
//
//	r(z) = Σ p_i·e^{c_i·z − c_i²/2},  z ~ N(0,1),  c_i ≥ 0;
//
// under REPLACE_ONE (r(z)·N, r(−z)·N). L = ln r increases with z (Choquette-Choo,
// Ganesh, Steinke and Thakurta 2024, arXiv 2310.15526v2; docs/math/groups.md §1.7).
type gaussianMixture struct {
	shifts, weights mechanism.Numbers // c_i, increasing, and p_i, adding up to 1
	replace         bool
	weightErr       float64 // bound on the relative error of each p_i, in Ulp

	in *num.Interrupt // of its integrals
}

// ofMixture takes the c_i rounded up; two parts of which one is 0 are a sampled
// Gaussian.
func ofMixture(m mechanism.MixtureOfGaussians, x Maker) (Loss, error) {
	n := m.Sensitivities.Len()
	var sum num.Sum
	parts := make([]part, n)
	for i := range n {
		parts[i] = part{m.Sensitivities.At(i), m.Probabilities.At(i)}
		if c := parts[i].shift; c > 0 {
			parts[i].shift = num.DivUp(c, m.StandardDeviation)
		} else {
			parts[i].shift = 0 // maybe −0
		}
		sum.Add(parts[i].weight)
	}
	for i := range parts {
		parts[i].weight /= sum.Value()
	}
	return newMixture(parts, x.Adjacency == mechanism.ReplaceOne, 8+float64(n), x.In), nil
}

// binomialMixture is a group of k records of which each is in the batch with
// probability q, and moves the sum by μ there: Σ_j Bin(k, q)(j)·N(jμ) (Ganesh 2024,
// arXiv 2401.10294v2, Thm 3.2). q is rounded up by 2 Ulp at most. Parts below
// 10^−300 of the likeliest one are moved up, which only raises the curve.
func binomialMixture(mu, rate float64, k uint64, replace bool, in *num.Interrupt) Loss {
	n := int(k)
	odds := rate / (1 - rate)
	mode := min(n, int(float64(n+1)*rate))
	parts := make([]part, n+1)
	v := 1.0
	for j := mode; j >= 0; j-- {
		parts[j] = part{num.MulUp(float64(j), mu), v}
		v *= float64(j) / (float64(n-j+1) * odds)
	}
	v = 1
	for j := mode + 1; j <= n; j++ {
		v *= float64(n-j+1) / float64(j) * odds
		parts[j] = part{num.MulUp(float64(j), mu), v}
	}
	const least = 1e-300
	var sum num.Sum
	for j := range parts {
		if p := &parts[j]; p.weight < least {
			if j < mode {
				p.weight = 0
			} else {
				p.weight = least
			}
		}
		sum.Add(parts[j].weight)
	}
	for j := range parts {
		parts[j].weight /= sum.Value()
	}
	return newMixture(parts, replace, 16+8*float64(n), in)
}

type part struct{ shift, weight float64 }

// newMixture merges equal shifts.
func newMixture(parts []part, replace bool, weightErr float64, in *num.Interrupt) Loss {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.shift, b.shift) })
	merged := parts[:0]
	for _, p := range parts {
		switch last := len(merged) - 1; {
		case p.weight == 0:
		case last >= 0 && merged[last].shift == p.shift:
			merged[last].weight += p.weight
		default:
			merged = append(merged, p)
		}
	}
	top := merged[len(merged)-1]
	switch {
	case len(merged) == 1:
		g := gaussian{mu: top.shift}
		if replace {
			g.mu *= 2
		}
		return g
	case len(merged) == 2 && merged[0].shift == 0:
		return sampledGaussian{mu: top.shift, rate: math.Min(math.Nextafter(1, 0), num.UpBy(top.weight, weightErr*num.Ulp*top.weight)), replace: replace, in: in}
	}
	shifts, weights := make([]float64, len(merged)), make([]float64, len(merged))
	for i, p := range merged {
		shifts[i], weights[i] = p.shift, p.weight
	}
	return gaussianMixture{mechanism.NumbersOf(shifts...), mechanism.NumbersOf(weights...), replace, weightErr, in}
}

// Facts: the Rényi divergence is quasi-convex, so the ρ of the largest shift serves.
func (g gaussianMixture) Facts() Facts {
	top := g.top()
	if g.replace {
		top *= 2
	}
	return Facts{
		Name: "mixture of Gaussians", Rho: gaussian{mu: top}.Facts().Rho, Epsilon: math.Inf(1),
		Symmetric: g.replace,
	}
}

// Curve is the larger one of both directions; with a replaced record it has no closed form.
func (g gaussianMixture) Curve() PrivacyCurve {
	if g.replace {
		return nil
	}
	return mixtureCurve{g.parts(Dominating), g.in}
}

func (g gaussianMixture) top() float64 { return g.shifts.At(g.shifts.Len() - 1) }

// zero is the p_i of c_i = 0.
func (g gaussianMixture) zero() float64 {
	if g.shifts.At(0) == 0 {
		return g.weights.At(0)
	}
	return 0
}

// MaxLoss: where the record is missing from P, L = −ln r < −ln p_0.
func (g gaussianMixture) MaxLoss(d Direction) float64 {
	if p := g.zero(); d == Add && !g.replace && p > 0 {
		return num.UpBy(-num.Log(p), num.Ulp*(2+g.weightErr-2*num.Log(p)))
	}
	return math.Inf(1)
}

func (g gaussianMixture) Cumulant(d Direction, s float64) Value {
	return g.directed(d).cumulant(s)
}

func (g gaussianMixture) Line(d Direction, theta float64) Line {
	return g.directed(d).line(theta)
}

func (g gaussianMixture) directed(d Direction) directedPair {
	return func(flip bool) sampledPair { return g.pair(d, flip) }
}

// Steps takes them on the quadrature's nodes.
func (g gaussianMixture) Steps(d Direction, theta float64) Steps { return g.directed(d).steps(theta) }

// Decay is that of cells of the line.
func (g gaussianMixture) Decay(d Direction, theta float64, k Value) Decay {
	return g.directed(d).decay(theta, k)
}

// Estimate is the quadrature at a coarse step.
func (g gaussianMixture) Estimate(d Direction) Estimate { return estimateOf(g, d, g.pair(d, false)) }

// pair is the direction's pair, or with flip the other direction's. Its μ is the
// largest shift, its rate the chance of a shift other than 0.
func (g gaussianMixture) pair(d Direction, flip bool) sampledPair {
	m := g.parts(Dominating)
	p := sampledPair{mu: g.top(), rate: 1, parts: m, kind: removePair, in: g.in}
	if zero := g.zero(); zero > 0 {
		p.rate = math.Min(1, num.UpBy(1-zero, num.Ulp*(4+m.weightErr*zero)))
		p.odds = zero / p.rate
	}
	p.logRate = num.Log(p.rate)
	switch {
	case g.replace:
		p.kind = replacePair
	case (d == Add) != flip:
		p.kind = addPair
	}
	return p
}

func (g gaussianMixture) parts(side Side) *Mixture {
	m := &Mixture{shift: g.shifts.Values(), weight: g.weights.Values(), weightErr: g.weightErr}
	for i := range m.shift {
		m.shift[i] = sided(m.shift[i], side)
	}
	return m
}

// Covers: only itself is known to be covered.
func (g gaussianMixture) Covers(Loss) bool { return false }

// Grouped: of several records' sensitivities together nothing is told.
func (g gaussianMixture) Grouped(uint64) (Loss, error) { return nil, nil }

func (g gaussianMixture) Order() [4]float64 {
	replace := 0.0
	if g.replace {
		replace = 1
	}
	return [4]float64{g.top(), g.weights.At(g.weights.Len() - 1), float64(g.shifts.Len()), replace}
}

// Mixture is r(z) = Σ p_i·e^{c_i·z − c_i²/2} with 0 ≤ c_1 < c_2 < … and Σ p_i = 1.
type Mixture struct {
	shift, weight []float64
	weightErr     float64 // relative, in Ulp
}

// Parts are the c_i, the p_i and a bound on the relative error of the p_i, in Ulp.
func (m *Mixture) Parts() (shifts, weights []float64, weightErr float64) {
	return m.shift, m.weight, m.weightErr
}

// LogRatio returns ln r(z), its derivative g over the largest shift, in (0, 1], and
// a bound on the error of ln r in units of Ulp.
func (m *Mixture) LogRatio(z float64) (l, w, err float64) {
	l, w, _, err = m.at(z)
	return l, w, err
}

// at also returns (ln r)″ over the largest shift's square, in [0, w(1−w)].
func (m *Mixture) at(z float64) (l, w, bend, err float64) {
	n := len(m.shift)
	most := math.Inf(-1)
	for _, c := range m.shift {
		most = math.Max(most, c*(z-c/2))
	}
	shift := 0.0
	if most > 700 || most < -700 {
		shift = most
	}
	top := m.shift[n-1]
	var sum, excess, size, first, moved float64
	for i, c := range m.shift {
		u, p := c*(z-c/2), m.weight[i]
		x := u - shift
		e := p * math.Exp(x)
		y := e - p
		if x > -0.5 && x < 0.5 {
			y = p * math.Expm1(x)
		}
		sum += e
		excess += y
		size += math.Abs(y)
		first += e * (c / top)
		moved += e * (4*(math.Abs(c*z)+c*c) + math.Abs(shift))
	}
	w = math.Min(1, first/sum)
	var second float64
	for i, c := range m.shift {
		u := c*(z-c/2) - shift
		d := c/top - w
		second += m.weight[i] * math.Exp(u) * d * d
	}
	bend = math.Min(second/sum, w*(1-w))
	each := 12 + m.weightErr + float64(n)
	if shift != 0 || excess < -0.5 {
		// Sums of positive terms keep relative precision.
		l = math.Log(sum)
		return l + shift, w, bend, moved/sum + each + 2*math.Abs(l) + 2*math.Abs(shift)
	}
	l = math.Log1p(excess)
	return l, w, bend, moved/sum + each*size/(1+excess) + 2*math.Abs(l)
}
