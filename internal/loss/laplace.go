package loss

import (
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// laplace is the pair of Laplace densities at distance e0 = d/b; noise on ℓ1
// vectors is dominated by it.
type laplace struct {
	e0 float64
}

// ofLaplace takes e0 = d/b, rounded up.
func ofLaplace(m mechanism.Laplace, adj mechanism.Adjacency) laplace {
	scale, distance := m.Ratio(adj)
	return laplace{e0: num.DivUp(distance, scale)}
}

func (l laplace) Facts() Facts {
	return Facts{Name: "Laplace", Rho: rhoOfPure(l.e0), Epsilon: l.e0, Symmetric: true}
}

func (l laplace) order() [4]float64 { return [4]float64{l.e0} }
