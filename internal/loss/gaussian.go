package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// gaussian is the pair (N(μ,1), N(0,1)): L ~ N(μ²/2, μ²) and
//
//	K(s) = s(s+1)μ²/2
//
// (Dong–Roth–Su 2022, §2.4; Mironov 2017, Prop. 7). Both directions are equal.
type gaussian struct {
	mu float64 // ≥ 0
}

// ofGaussian takes μ = d/σ, rounded up.
func ofGaussian(m mechanism.Gaussian, adj mechanism.Adjacency) gaussian {
	sigma, distance := m.Ratio(adj)
	return gaussian{mu: num.DivUp(distance, sigma)}
}

func (g gaussian) Facts() Facts {
	return Facts{Name: "Gaussian", Mu: g.mu, Rho: num.MulUp(num.MulUp(g.mu, g.mu), 0.5), Epsilon: math.Inf(1), Symmetric: true}
}

func (g gaussian) order() [4]float64 { return [4]float64{g.mu} }
