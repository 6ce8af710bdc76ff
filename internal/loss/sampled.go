package loss

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// sampledGaussian is the Gaussian mechanism on a Poisson sample of rate q, in
// units of the noise: with r(z) = 1 − q + q·e^{μz − μ²/2} under z ~ N(0,1), the
// pair is (r·N, N) and its mirror; under REPLACE_ONE it is (r(z)·N, r(−z)·N)
// (Mironov–Talwar–Zhang 2019; Zhu–Dong–Wang 2022, Thm 11; docs/math.md §1).
type sampledGaussian struct {
	mu      float64 // Δ/σ of one record, before any factor of the adjacency
	rate    float64 // q in (0, 1)
	replace bool
}

// ofPoissonSampled takes q rounded up; q = 1 is the unsampled mechanism.
func ofPoissonSampled(m mechanism.PoissonSampled, adj mechanism.Adjacency) (Loss, error) {
	g, ok := m.Mechanism.(mechanism.Gaussian)
	if !ok {
		return nil, fmt.Errorf("poisson_sampled: no privacy loss is known for a sampled %s", m.Mechanism.Kind())
	}
	q := m.Probability()
	if q == 1 {
		return ofGaussian(g, adj), nil
	}
	// Inside the sample a record moves the mean by Δ under every adjacency; that
	// it may move there both ways is the replace pair's business.
	one := ofGaussian(g, mechanism.ZeroOut)
	return sampledGaussian{mu: one.mu, rate: q, replace: adj == mechanism.ReplaceOne}, nil
}

// Facts: the Rényi divergence is quasi-convex, so the unsampled ρ bounds the
// sampled one, and at α → ∞ no smaller ρ serves.
func (g sampledGaussian) Facts() Facts {
	mu := g.mu
	if g.replace {
		mu *= 2
	}
	f := gaussian{mu: mu}.Facts()
	return Facts{Name: "Poisson-sampled Gaussian", Rho: f.Rho, Epsilon: math.Inf(1), Symmetric: g.replace}
}

func (g sampledGaussian) order() [4]float64 {
	replace := 0.0
	if g.replace {
		replace = 1
	}
	return [4]float64{g.mu, g.rate, replace}
}
