package loss

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// samplingKinds run on a sample of the records.
func samplingKinds() []Kind {
	return []Kind{
		KindOf(ofPoissonSampled),
		KindOf(ofFixedSize),
		KindOf(ofTruncated),
		KindOf(ofShuffled),
		KindOf(ofMixture),
	}
}

// sampledGaussian is the Gaussian mechanism on a Poisson sample of rate q, in
// units of the noise: with r(z) = 1 − q + q·e^{μz − μ²/2} under z ~ N(0,1), the
// pair is (r·N, N) and its mirror; under REPLACE_ONE it is (r(z)·N, r(−z)·N)
// (Mironov–Talwar–Zhang 2019; Zhu–Dong–Wang 2022, Thm 11; docs/math/sampled-gaussian.md §1.2).
type sampledGaussian struct {
	mu      float64 // Δ/σ of one record, before any factor of the adjacency
	rate    float64 // q in (0, 1)
	replace bool

	in *num.Interrupt // of its integrals
}

// ofPoissonSampled takes q rounded up; q = 1 is the unsampled mechanism. Inside the sample a
// record moves the output by Δ under every adjacency; that it may move there both ways is the
// replaced pair's business.
func ofPoissonSampled(m mechanism.PoissonSampled, x Maker) (Loss, error) {
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
	switch {
	case !ok:
		return nil, fmt.Errorf("poisson_sampled: no privacy loss is known for a sampled %s", m.Mechanism.Kind())
	case q == 1:
		return inner, nil
	}
	return poissonSampled(inner, q, x.Adjacency, x.In)
}

// poissonSampled is the inner loss, of one record's contribution, on a sample of rate q < 1.
func poissonSampled(inner Loss, q float64, adj mechanism.Adjacency, in *num.Interrupt) (Loss, error) {
	replace := adj == mechanism.ReplaceOne
	if mu, ok := MuOf(inner); ok {
		return sampledGaussian{mu: mu, rate: q, replace: replace, in: in}, nil
	}
	if l, ok := inner.(sampleable); ok {
		if batch, ok := l.inBatch(replace); ok {
			return sampledLoss{l, sample{q, batch}, in}, nil
		}
	}
	return nil, fmt.Errorf("poisson_sampled: no privacy loss is known for a sampled %s", inner.Facts().Name)
}

// Facts: the Rényi divergence is quasi-convex, so the unsampled ρ bounds the
// sampled one, and at α → ∞ no smaller ρ serves.
func (g sampledGaussian) Facts() Facts {
	f := gaussian{mu: g.reach()}.Facts()
	return Facts{
		Name: "Poisson-sampled Gaussian", Rho: f.Rho, Epsilon: math.Inf(1), Symmetric: g.replace,
	}
}

// Curve is the larger one of both directions.
func (g sampledGaussian) Curve() PrivacyCurve {
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

// MaxLoss: where the record is missing from P, L = −ln r ≤ −ln(1−q).
func (g sampledGaussian) MaxLoss(d Direction) float64 {
	if d == Add && !g.replace {
		return num.Up(num.Up(-math.Log1p(-g.rate)))
	}
	return math.Inf(1)
}

// Cumulant integrates on the line, with all bounds of quadrature.go.
func (g sampledGaussian) Cumulant(d Direction, s float64) Value {
	return g.directed(d).cumulant(s)
}

func (g sampledGaussian) Line(d Direction, theta float64) Line {
	return g.directed(d).line(theta)
}

func (g sampledGaussian) directed(d Direction) directedPair {
	return func(flip bool) sampledPair { return g.pair(d, flip) }
}

// Steps takes them on the quadrature's nodes.
func (g sampledGaussian) Steps(d Direction, theta float64) Steps { return g.directed(d).steps(theta) }

// Decay is that of cells of the line.
func (g sampledGaussian) Decay(d Direction, theta float64, k Value) Decay {
	return g.directed(d).decay(theta, k)
}

// Estimate is the quadrature at a coarse step.
func (g sampledGaussian) Estimate(d Direction) Estimate { return estimateOf(g, d, g.pair(d, false)) }

// pair is the direction's pair, or with flip the other direction's.
func (g sampledGaussian) pair(d Direction, flip bool) sampledPair {
	p := sampledPair{mu: g.mu, rate: g.rate, logRate: num.Log(g.rate), odds: (1 - g.rate) / g.rate, in: g.in}
	switch {
	case g.replace:
		p.kind = replacePair
	case (d == Add) != flip:
		p.kind = addPair
	default:
		p.kind = removePair
	}
	return p
}

// Covers is of less noise and a larger sample.
func (g sampledGaussian) Covers(o Loss) bool {
	b, ok := o.(sampledGaussian)
	return ok && g.replace == b.replace && g.mu >= b.mu && g.rate >= b.rate
}

// Grouped is a mixture: any number of the members may be in the batch (docs/math/groups.md §1.7.2).
func (g sampledGaussian) Grouped(k uint64) (Loss, error) {
	if k > mechanism.MaxSampledGroup {
		return nil, fmt.Errorf("group: more than %d members of a sampled mechanism", mechanism.MaxSampledGroup)
	}
	return binomialMixture(g.mu, g.rate, k, g.replace, g.in), nil
}

func (g sampledGaussian) Order() [4]float64 {
	replace := 0.0
	if g.replace {
		replace = 1
	}
	return [4]float64{g.mu, g.rate, replace}
}
