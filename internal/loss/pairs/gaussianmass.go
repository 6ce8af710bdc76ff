// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Masses of normals are computed for μ in this range; outside it a pair is not
// known, and the closed forms answer.
const (
	LeastMu = 1e-12
	MostMu  = 1e6
)

func (g gaussian) Pair(_ loss.Direction, side loss.Side, _ *num.Interrupt) loss.Pair {
	return GaussianPair(loss.Sided(g.mu, side))
}

// GaussianPair is the pair (N(μ,1), N(0,1)), nil where μ is out of range. Any
// number of different Gaussians is one with μ² = Σ n_j·μ_j².
func GaussianPair(mu float64) loss.Pair {
	if !(mu >= LeastMu && mu <= MostMu) {
		return nil
	}
	return NormalPair{mu}
}

// NormalPair is (N(μ,1), N(0,1)): L = μ·z + μ²/2 with z ~ N(0,1) under P and
// z ~ N(−μ,1) under Q.
type NormalPair struct {
	Mu float64
}

// pointOf is the z at which L is l.
func (g NormalPair) pointOf(l float64) float64 { return l/g.Mu - g.Mu/2 }

// LossAt is L at z.
func (g NormalPair) LossAt(z float64) float64 { return g.Mu * (z + g.Mu/2) }

// Reach is a z beyond which a normal has mass e^{log} at most.
func Reach(log float64) float64 { return math.Sqrt(math.Max(0, -2*log)) }

func (g NormalPair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	return g.LossAt(-Reach(logBelow)), g.LossAt(Reach(logAbove))
}

func (g NormalPair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	a := g.pointOf(edges[0])
	for i := range cells {
		b := g.pointOf(edges[i+1])
		cells[i] = g.CellOf(Interval{a, b})
		a = b
	}
	return g.slack(edges)
}

// slack: l/μ − μ/2 is within Ulp·(2|l|/μ + μ).
func (g NormalPair) slack(edges []float64) float64 {
	return num.Ulp * (4*largest(edges) + 2*g.Mu*g.Mu)
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

// CellOf is the set of outcomes with z in v.
func (g NormalPair) CellOf(v Interval) loss.Mass {
	if !(v.A < v.B) {
		return loss.Nothing()
	}
	other := Interval{v.A + g.Mu, v.B + g.Mu} // z under Q
	c, w := (v.A+v.B)/2, (v.B-v.A)/2
	if v.Narrow() && math.Abs(c+g.Mu)*w <= 1 {
		i, sizeP := Series(c, w)
		j, sizeQ := Series(c+g.Mu, w)
		p := num.LogNormalDensity(c) + num.Log(2*w) + math.Log1p(i)
		l := g.LossAt(c)
		return loss.Mass{
			LogP: p, Loss: l + math.Log1p(i) - math.Log1p(j),
			LogErr:  num.Ulp * (16 + 4*c*c + 16*sizeP + 2*math.Abs(p)),
			LossErr: num.Ulp * (4*(math.Abs(g.Mu*c)+g.Mu*g.Mu) + 24*(sizeP+sizeQ)),
		}
	}
	p, errP := v.LogMass()
	q, errQ := other.LogMass()
	// a + μ is rounded: in Q's tail that counts (1 + |z|) times.
	x := math.Max(math.Abs(num.Finite(other.A)), math.Abs(num.Finite(other.B)))
	errQ += num.Ulp * 5 * x * (2 + x)
	return loss.Mass{LogP: p, Loss: p - q, LogErr: errP, LossErr: errP + errQ}
}

func (NormalPair) Atoms() []loss.Mass { return nil }
func (NormalPair) Infinite() float64  { return 0 }
func (NormalPair) Null() float64      { return 0 }
func (g NormalPair) Anchor() float64  { return g.Mu * g.Mu / 2 }
