// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// sampledGaussian is the Gaussian mechanism on a Poisson sample of rate q, in
// units of the noise: with r(z) = 1 − q + q·e^{μz − μ²/2} under z ~ N(0,1), the
// pair is (r·N, N) and its mirror; under REPLACE_ONE it is (r(z)·N, r(−z)·N)
// (Mironov–Talwar–Zhang 2019; Zhu–Dong–Wang 2022, Thm 11; docs/math/sampled-gaussian.md §1.2).
type sampledGaussian struct {
	mu      float64 // Δ/σ of one record, before any factor of the adjacency
	rate    float64 // q in (0, 1)
	replace bool
}

// ofPoissonSampled takes q rounded up; q = 1 is the unsampled mechanism. Inside the sample a
// record moves the output by Δ under every adjacency; that it may move there both ways is the
// replaced pair's business.
func ofPoissonSampled(m mechanism.PoissonSampled, x loss.Maker) (loss.Loss, error) {
	q := m.Probability()
	inside := x
	if q < 1 {
		inside = x.Under(mechanism.ZeroOut)
	}
	terms, err := inside.Terms(m.Mechanism)
	if err != nil {
		return nil, err
	}
	inner, ok := oneOf(terms)
	class := inner
	if l, err := inside.Loss(m.Mechanism); err == nil && loss.BoundOf(l) != l {
		if q == 1 {
			return l, nil
		}
		class, inner, ok = l, loss.BoundOf(l), true
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("poisson_sampled: no privacy loss is known for a sampled %s", m.Mechanism.Kind())
	case q == 1:
		return inner, nil
	}
	if f := inner.Facts(); f.BoundOnly && f.Symmetric && f.InfinityMass == 0 && x.Adjacency != mechanism.ReplaceOne {
		return onSample(class, inner, q, x.In), nil
	}
	return poissonSampled(inner, q, x.Adjacency)
}

// poissonSampled is the inner loss, of one record's contribution, on a sample of rate q < 1.
func poissonSampled(inner loss.Loss, q float64, adj mechanism.Adjacency) (loss.Loss, error) {
	replace := adj == mechanism.ReplaceOne
	if mu, ok := loss.MuOf(inner); ok {
		return sampledGaussian{mu: mu, rate: q, replace: replace}, nil
	}
	if l, ok := inner.(poisson.Sampleable); ok {
		if batch, ok := l.InBatch(replace); ok {
			return sampledLoss{l, poisson.Sample{Rate: q, Batch: batch}}, nil
		}
	}
	return nil, fmt.Errorf("poisson_sampled: no privacy loss is known for a sampled %s", inner.Facts().Name)
}

// Facts: the Rényi divergence is quasi-convex, so the unsampled ρ bounds the
// sampled one, and at α → ∞ no smaller ρ serves unless a record is replaced.
func (g sampledGaussian) Facts() loss.Facts {
	f := pairs.NewGaussian(g.reach()).Facts()
	return loss.Facts{
		Name: "Poisson-sampled Gaussian", Rho: f.Rho, Epsilon: math.Inf(1), Symmetric: g.replace,
	}
}

// Curve is the larger one of both directions.
func (g sampledGaussian) Curve(*num.Interrupt) loss.PrivacyCurve {
	if g.replace {
		return newReplacedCurve(g.mu, g.rate)
	}
	return sampledCurve{mu: g.mu, rate: g.rate}
}

// reach is the distance of the sampled outputs, in units of the noise.
func (g sampledGaussian) reach() float64 {
	if g.replace {
		return 2 * g.mu
	}
	return g.mu
}

// NormalMu is that of the unsampled Gaussian: sampling makes large losses rarer by a factor only. Of a record that is
// replaced it is half of that where q ≤ ½, as then the two can be drawn so that one of them at most is in the sample;
// otherwise q, instead of 1 − q, costs 2Φ⁻¹(q) more. See docs/math/gaussian-dp.md §4.13.7.
func (g sampledGaussian) NormalMu(count uint64) loss.NormalMu {
	mu := g.mu
	if g.replace && g.rate > 0.5 {
		more := num.Up(math.Sqrt2 * math.Erfinv(2*g.rate-1) * (1 + 1e-12)) // 2q − 1 is exact
		mu = math.Min(g.reach(), num.AddUp(mu, num.MulUp(2, more)))
	}
	return loss.NormalMuOfTail(mu, g.mu, count)
}

// MaxLoss: where the record is missing from P, L = −ln r ≤ −ln(1−q).
func (g sampledGaussian) MaxLoss(d loss.Direction) float64 {
	if d == loss.Add && !g.replace {
		return num.Up(num.Up(-math.Log1p(-g.rate)))
	}
	return math.Inf(1)
}

// Cumulant integrates on the line, with all bounds of quadrature.go.
func (g sampledGaussian) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	return g.directed(d, in).Cumulant(s)
}

func (g sampledGaussian) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return g.directed(d, in).Line(theta)
}

func (g sampledGaussian) directed(d loss.Direction, in *num.Interrupt) quadrature.Directed {
	return func(flip bool) quadrature.Pair { return g.pair(d, flip, in) }
}

// Steps takes them on the quadrature's nodes.
func (g sampledGaussian) Steps(d loss.Direction, theta float64, in *num.Interrupt) loss.Steps {
	return g.directed(d, in).Steps(theta)
}

// Decay is that of cells of the line.
func (g sampledGaussian) Decay(d loss.Direction, theta float64, k loss.Value, in *num.Interrupt) loss.Decay {
	return g.directed(d, in).Decay(theta, k)
}

// Estimate is the quadrature at a coarse step.
func (g sampledGaussian) Estimate(d loss.Direction, in *num.Interrupt) loss.Estimate {
	return quadrature.EstimateOf(g, d, g.pair(d, false, in), in)
}

// pair is the direction's pair, or with flip the other direction's.
func (g sampledGaussian) pair(d loss.Direction, flip bool, in *num.Interrupt) quadrature.Pair {
	p := quadrature.Pair{Mu: g.mu, Rate: g.rate, LogRate: num.Log(g.rate), Odds: (1 - g.rate) / g.rate, In: in}
	switch {
	case g.replace:
		p.Kind = quadrature.ReplacePair
	case (d == loss.Add) != flip:
		p.Kind = quadrature.AddPair
	default:
		p.Kind = quadrature.RemovePair
	}
	return p
}

// Covers is of less noise and a larger sample.
func (g sampledGaussian) Covers(o loss.Loss) bool {
	b, ok := o.(sampledGaussian)
	return ok && g.replace == b.replace && g.mu >= b.mu && g.rate >= b.rate
}

// Grouped is a mixture: any number of the members may be in the batch (docs/math/groups.md §1.7.2).
func (g sampledGaussian) Grouped(k uint64) (loss.Loss, error) {
	if k > mechanism.MaxSampledGroup {
		return nil, fmt.Errorf("group: more than %d members of a sampled mechanism", mechanism.MaxSampledGroup)
	}
	return binomialMixture(g.mu, g.rate, k, g.replace), nil
}

func (g sampledGaussian) Order() [4]float64 {
	replace := 0.0
	if g.replace {
		replace = 1
	}
	return [4]float64{g.mu, g.rate, replace}
}
