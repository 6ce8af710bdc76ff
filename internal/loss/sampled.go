package loss

import (
	"fmt"
	"math"

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

	in *num.Interrupt // of its integrals
}

// ofPoissonSampled takes q rounded up; q = 1 is the unsampled mechanism.
func ofPoissonSampled(m mechanism.PoissonSampled, adj mechanism.Adjacency, in *num.Interrupt) (Loss, error) {
	q := m.Probability()
	if c, ok := m.Mechanism.(mechanism.Composed); ok {
		return ofSampledComposed(c, q, adj, in)
	}
	if q == 1 {
		return of(m.Mechanism, adj, in)
	}
	// Inside the sample a record moves the output by Δ under every adjacency; that
	// it may move there both ways is the replaced pair's business.
	inner, err := Of(m.Mechanism, mechanism.ZeroOut)
	if err != nil {
		return nil, err
	}
	batch := without
	if adj == mechanism.ReplaceOne {
		batch = replaced
	}
	switch l := inner.(type) {
	case gaussian:
		return sampledGaussian{mu: l.mu, rate: q, replace: batch == replaced, in: in}, nil
	case laplace:
		return sampledLoss{inner: l, rate: q, batch: batch}, nil
	case discrete, discreteNormal, truncated, sloped, lossTable:
		if batch == without {
			return sampledLoss{inner: inner, rate: q, batch: batch}, nil
		}
	case response:
		if l.kind == randomizedResponse {
			batch = revealed
		}
		return sampledLoss{inner: l, rate: q, batch: batch}, nil
	}
	return nil, fmt.Errorf("poisson_sampled: no privacy loss is known for a sampled %s", m.Mechanism.Kind())
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
	return pairCumulant(func(flip bool) sampledPair { return g.pair(d, flip) }, s)
}

func (g sampledGaussian) Line(d Direction, theta float64) Line {
	return pairLine(func(flip bool) sampledPair { return g.pair(d, flip) }, theta)
}

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

func (g sampledGaussian) Order() [4]float64 {
	replace := 0.0
	if g.replace {
		replace = 1
	}
	return [4]float64{g.mu, g.rate, replace}
}
