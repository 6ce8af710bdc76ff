// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
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
}

// ofMixture takes the c_i rounded up; two parts of which one is 0 are a sampled
// Gaussian.
func ofMixture(m mechanism.MixtureOfGaussians, x loss.Maker) (loss.Loss, error) {
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
	return newMixture(parts, x.Adjacency == mechanism.ReplaceOne, 8+float64(n)), nil
}

// binomialMixture is a group of k records of which each is in the batch with
// probability q, and moves the sum by μ there: Σ_j Bin(k, q)(j)·N(jμ) (Ganesh 2024,
// arXiv 2401.10294v2, Thm 3.2). q is rounded up by 2 Ulp at most. Parts below
// 10^−300 of the likeliest one are moved up, which only raises the curve.
func binomialMixture(mu, rate float64, k uint64, replace bool) loss.Loss {
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
	return newMixture(parts, replace, 16+8*float64(n))
}

type part struct{ shift, weight float64 }

// newMixture merges equal shifts.
func newMixture(parts []part, replace bool, weightErr float64) loss.Loss {
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
		mu := top.shift
		if replace {
			mu *= 2
		}
		return pairs.NewGaussian(mu)
	case len(merged) == 2 && merged[0].shift == 0:
		return sampledGaussian{mu: top.shift, rate: math.Min(math.Nextafter(1, 0),
			num.UpBy(top.weight, weightErr*num.Ulp*top.weight)), replace: replace}
	}
	shifts, weights := make([]float64, len(merged)), make([]float64, len(merged))
	for i, p := range merged {
		shifts[i], weights[i] = p.shift, p.weight
	}
	return gaussianMixture{mechanism.NumbersOf(shifts...), mechanism.NumbersOf(weights...), replace, weightErr}
}

// Facts: the Rényi divergence is quasi-convex, so the ρ of the largest shift serves.
func (g gaussianMixture) Facts() loss.Facts {
	top := g.top()
	if g.replace {
		top *= 2
	}
	return loss.Facts{
		Name: "mixture of Gaussians", Rho: pairs.NewGaussian(top).Facts().Rho, Epsilon: math.Inf(1),
		Symmetric: g.replace,
	}
}

// Curve is the larger one of both directions; with a replaced record it has no closed form.
func (g gaussianMixture) Curve(in *num.Interrupt) loss.PrivacyCurve {
	if g.replace {
		return nil
	}
	return mixtureCurve{g.parts(loss.Dominating), in}
}

func (g gaussianMixture) top() float64 { return g.shifts.At(g.shifts.Len() - 1) }

// NormalMu is that of the largest shift alone, as of sampledGaussian; of a record that is replaced, that of the
// largest sum of two shifts, of which one is large where the other one is small.
func (g gaussianMixture) NormalMu(count uint64) loss.NormalMu {
	mu := g.top()
	if g.replace {
		mu = g.opposite()
	}
	return loss.NormalMuOfTail(mu, g.top(), count)
}

// opposite is the largest F⁻¹(u) + F⁻¹(1−u), F the distribution function of the shifts, rounded up: F from below for
// the second, as its weights have errors. See docs/math/gaussian-dp.md §4.13.7.
func (g gaussianMixture) opposite() float64 {
	n := g.shifts.Len()
	slack := num.Ulp * (g.weightErr + 2*float64(n))
	sums := make([]float64, n+1) // of the weights before each
	for i := range n {
		sums[i+1] = sums[i] + g.weights.At(i)
	}
	var most float64
	j := n - 1
	for i := range n { // u in (sums[i], sums[i+1]], 1 − u < 1 − sums[i]
		for j > 0 && sums[j] > 1-sums[i]+4*slack {
			j--
		}
		most = math.Max(most, num.AddUp(g.shifts.At(i), g.shifts.At(j)))
	}
	return most
}

// zero is the p_i of c_i = 0.
func (g gaussianMixture) zero() float64 {
	if g.shifts.At(0) == 0 {
		return g.weights.At(0)
	}
	return 0
}

// MaxLoss: where the record is missing from P, L = −ln r < −ln p_0.
func (g gaussianMixture) MaxLoss(d loss.Direction) float64 {
	if p := g.zero(); d == loss.Add && !g.replace && p > 0 {
		return num.UpBy(-num.Log(p), num.Ulp*(2+g.weightErr-2*num.Log(p)))
	}
	return math.Inf(1)
}

func (g gaussianMixture) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	return g.directed(d, in).Cumulant(s)
}

func (g gaussianMixture) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return g.directed(d, in).Line(theta)
}

func (g gaussianMixture) directed(d loss.Direction, in *num.Interrupt) quadrature.Directed {
	return func(flip bool) quadrature.Pair { return g.pair(d, flip, in) }
}

// Steps takes them on the quadrature's nodes.
func (g gaussianMixture) Steps(d loss.Direction, theta float64, in *num.Interrupt) loss.Steps {
	return g.directed(d, in).Steps(theta)
}

// Decay is that of cells of the line.
func (g gaussianMixture) Decay(d loss.Direction, theta float64, k loss.Value, in *num.Interrupt) loss.Decay {
	return g.directed(d, in).Decay(theta, k)
}

// Estimate is the quadrature at a coarse step.
func (g gaussianMixture) Estimate(d loss.Direction, in *num.Interrupt) loss.Estimate {
	return quadrature.EstimateOf(g, d, g.pair(d, false, in), in)
}

// pair is the direction's pair, or with flip the other direction's. Its μ is the
// largest shift, its rate the chance of a shift other than 0.
func (g gaussianMixture) pair(d loss.Direction, flip bool, in *num.Interrupt) quadrature.Pair {
	m := g.parts(loss.Dominating)
	p := quadrature.Pair{Mu: g.top(), Rate: 1, Mixture: m, Kind: quadrature.RemovePair, In: in}
	if zero := g.zero(); zero > 0 {
		p.Rate = math.Min(1, num.UpBy(1-zero, num.Ulp*(4+m.WeightErr*zero)))
		p.Odds = zero / p.Rate
	}
	p.LogRate = num.Log(p.Rate)
	switch {
	case g.replace:
		p.Kind = quadrature.ReplacePair
	case (d == loss.Add) != flip:
		p.Kind = quadrature.AddPair
	}
	return p
}

func (g gaussianMixture) parts(side loss.Side) *quadrature.Mixture {
	m := &quadrature.Mixture{Shift: g.shifts.Values(), Weight: g.weights.Values(), WeightErr: g.weightErr}
	for i := range m.Shift {
		m.Shift[i] = loss.Sided(m.Shift[i], side)
	}
	return m
}

// Covers: only itself is known to be covered.
func (g gaussianMixture) Covers(loss.Loss) bool { return false }

// Grouped: of several records' sensitivities together nothing is told.
func (g gaussianMixture) Grouped(uint64) (loss.Loss, error) { return nil, nil }

func (g gaussianMixture) Order() [4]float64 {
	replace := 0.0
	if g.replace {
		replace = 1
	}
	return [4]float64{g.top(), g.weights.At(g.weights.Len() - 1), float64(g.shifts.Len()), replace}
}
