package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// Masses of normals are computed for μ in this range; outside it a pair is not
// known, and the closed forms answer.
const (
	leastMu = 1e-12
	mostMu  = 1e6
)

func (g gaussian) Pair(_ Direction, side Side) Pair {
	return GaussianPair(sided(g.mu, side))
}

// GaussianPair is the pair (N(μ,1), N(0,1)), nil where μ is out of range. Any
// number of different Gaussians is one with μ² = Σ n_j·μ_j².
func GaussianPair(mu float64) Pair {
	if !(mu >= leastMu && mu <= mostMu) {
		return nil
	}
	return gaussianPair{mu}
}

// gaussianPair is (N(μ,1), N(0,1)): L = μ·z + μ²/2 with z ~ N(0,1) under P and
// z ~ N(−μ,1) under Q.
type gaussianPair struct {
	mu float64
}

func (g gaussianPair) at(l float64) float64   { return l/g.mu - g.mu/2 }
func (g gaussianPair) loss(z float64) float64 { return g.mu * (z + g.mu/2) }

// reach is a z beyond which a normal has mass e^{log} at most.
func reach(log float64) float64 { return math.Sqrt(math.Max(0, -2*log)) }

func (g gaussianPair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	return g.loss(-reach(logBelow)), g.loss(reach(logAbove))
}

func (g gaussianPair) Cells(edges []float64, cells []Mass) (slack float64) {
	a := g.at(edges[0])
	for i := range cells {
		b := g.at(edges[i+1])
		cells[i] = g.cell(interval{a, b})
		a = b
	}
	return g.slack(edges)
}

// slack: l/μ − μ/2 is within Ulp·(2|l|/μ + μ).
func (g gaussianPair) slack(edges []float64) float64 {
	return num.Ulp * (4*largest(edges) + 2*g.mu*g.mu)
}

// largest is the largest modulus of a finite edge.
func largest(edges []float64) float64 {
	var most float64
	for _, e := range edges {
		if e = math.Abs(e); e > most && !math.IsInf(e, 1) {
			most = e
		}
	}
	return most
}

// cell is the set of outcomes with z in v.
func (g gaussianPair) cell(v interval) Mass {
	if !(v.a < v.b) {
		return nothing()
	}
	other := interval{v.a + g.mu, v.b + g.mu} // z under Q
	c, w := (v.a+v.b)/2, (v.b-v.a)/2
	if v.narrow() && math.Abs(c+g.mu)*w <= 1 {
		i, sizeP := series(c, w)
		j, sizeQ := series(c+g.mu, w)
		p := num.LogNormalDensity(c) + num.Log(2*w) + math.Log1p(i)
		l := g.loss(c)
		return Mass{
			LogP: p, Loss: l + math.Log1p(i) - math.Log1p(j),
			LogErr:  num.Ulp * (16 + 4*c*c + 16*sizeP + 2*math.Abs(p)),
			LossErr: num.Ulp * (4*(math.Abs(g.mu*c)+g.mu*g.mu) + 24*(sizeP+sizeQ)),
		}
	}
	p, errP := v.log()
	q, errQ := other.log()
	// a + μ is rounded: in Q's tail that counts (1 + |z|) times.
	x := math.Max(math.Abs(num.Finite(other.a)), math.Abs(num.Finite(other.b)))
	errQ += num.Ulp * 5 * x * (2 + x)
	return Mass{LogP: p, Loss: p - q, LogErr: errP, LossErr: errP + errQ}
}

func (gaussianPair) Atoms() []Mass     { return nil }
func (gaussianPair) Infinite() float64 { return 0 }
func (gaussianPair) Null() float64     { return 0 }
func (g gaussianPair) Anchor() float64 { return g.mu * g.mu / 2 }
