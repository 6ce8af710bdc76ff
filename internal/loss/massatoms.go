package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// mostEpsilon bounds ε0 of the pairs below: above it e^{−ε0} is 0.
const mostEpsilon = 700

func (l laplace) Pair(_ Direction, side Side) Pair {
	if !(l.e0 <= mostEpsilon && l.e0 >= 1e-300) {
		return nil
	}
	return laplacePair{sided(l.e0, side)}
}

// laplacePair is (Lap(0), Lap(e0)) with scale 1: L = e0 − 2x for x in [0, e0],
// and ±e0 beyond, so
//
//	P(L = e0) = ½,  P(L = −e0) = ½e^{−e0},  P(L ≤ l) = ½e^{−(e0−l)/2} between.
type laplacePair struct {
	e0 float64
}

func (p laplacePair) Ends(logBelow, _ float64) (lo, hi float64) {
	return math.Max(-p.e0, p.e0+2*(logBelow+math.Ln2)), p.e0
}

// Cells: Q's mass of (a, b] is ½e^{−(e0+a)/2}·(1 − e^{−(b−a)/2}), so the loss of a
// cell is exactly its middle.
func (p laplacePair) Cells(edges []float64, cells []Mass) (slack float64) {
	for i := range cells {
		a, b := math.Max(edges[i], -p.e0), math.Min(edges[i+1], p.e0)
		if !(a < b) {
			cells[i] = nothing()
			continue
		}
		log := -math.Ln2 - (p.e0-b)/2 + num.Log1mExp((b-a)/2)
		cells[i] = Mass{
			LogP: log, Loss: (a + b) / 2,
			LogErr: num.Ulp * (8 + p.e0 + 4*math.Abs(log)), LossErr: num.Ulp * (math.Abs(a) + math.Abs(b)),
		}
	}
	return 0
}

func (p laplacePair) Atoms() []Mass {
	return []Mass{
		{LogP: -math.Ln2 - p.e0, Loss: -p.e0, LogErr: num.Ulp * (2 + 2*p.e0)},
		{LogP: -math.Ln2, Loss: p.e0, LogErr: num.Ulp},
	}
}

func (laplacePair) Infinite() float64 { return 0 }
func (laplacePair) Null() float64     { return 0 }
func (p laplacePair) Anchor() float64 { return p.e0 }

func (r response) Pair(_ Direction, side Side) Pair {
	if !(r.epsilon <= mostEpsilon && r.epsilon >= 1e-300) {
		return nil
	}
	e := sided(r.epsilon, side)
	small := math.Exp(-e)
	// −ln P(L = ε0 | L < ∞), and its error: that of (k−1)·e^{−ε0} counts with
	// its share.
	whole := math.Log1p((r.buckets - 1) * small)
	share := (r.buckets - 1) * small / (1 + (r.buckets-1)*small)
	rest := math.Log1p(-r.atom)
	top := Mass{
		LogP: rest - whole, Loss: e,
		LogErr: num.Ulp * (2*math.Abs(rest) + 4*whole + share*(6+2*e)),
	}
	atoms := []Mass{{LogP: top.LogP - e, Loss: -e, LogErr: top.LogErr + num.Ulp*(2*e+math.Abs(top.LogP))}}
	if r.buckets > 2 {
		atoms = append(atoms, Mass{
			LogP:   num.Log(r.buckets-2) - e + top.LogP,
			LogErr: top.LogErr + num.Ulp*(2*math.Abs(num.Log(r.buckets-2)-e)+math.Abs(top.LogP)+2),
		})
	}
	return atomicPair{append(atoms, top), r.atom, r.atom}
}

// atomicPair is finitely many outcomes, by increasing loss.
type atomicPair struct {
	atoms          []Mass
	infinite, null float64
}

func (p atomicPair) Ends(_, _ float64) (lo, hi float64) {
	return p.atoms[0].Loss, p.atoms[len(p.atoms)-1].Loss
}

func (p atomicPair) Cells(_ []float64, cells []Mass) (slack float64) {
	for i := range cells {
		cells[i] = nothing()
	}
	return 0
}

func (p atomicPair) Atoms() []Mass     { return p.atoms }
func (p atomicPair) Infinite() float64 { return p.infinite }
func (p atomicPair) Null() float64     { return p.null }

// Anchor is the likeliest outcome.
func (p atomicPair) Anchor() float64 {
	best := p.atoms[0]
	for _, a := range p.atoms {
		if a.LogP >= best.LogP {
			best = a
		}
	}
	return best.Loss
}
