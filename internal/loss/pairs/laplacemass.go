// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

func (l laplace) Pair(_ loss.Direction, side loss.Side, _ *num.Interrupt) loss.Pair {
	if !(l.e0 <= MostEpsilon && l.e0 >= 1e-300) {
		return nil
	}
	return laplacePair{loss.Sided(l.e0, side)}
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
func (p laplacePair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	for i := range cells {
		a, b := math.Max(edges[i], -p.e0), math.Min(edges[i+1], p.e0)
		if !(a < b) {
			cells[i] = loss.Nothing()
			continue
		}
		log := -math.Ln2 - (p.e0-b)/2 + num.Log1mExp((b-a)/2)
		cells[i] = loss.Mass{
			LogP: log, Loss: (a + b) / 2,
			LogErr: num.Ulp * (8 + p.e0 + 4*math.Abs(log)), LossErr: num.Ulp * (math.Abs(a) + math.Abs(b)),
		}
	}
	return 0
}

func (p laplacePair) Atoms() []loss.Mass {
	return []loss.Mass{
		{LogP: -math.Ln2 - p.e0, Loss: -p.e0, LogErr: num.Ulp * (2 + 2*p.e0)},
		{LogP: -math.Ln2, Loss: p.e0, LogErr: num.Ulp},
	}
}

func (laplacePair) Infinite() float64 { return 0 }
func (laplacePair) Null() float64     { return 0 }
func (p laplacePair) Anchor() float64 { return p.e0 }
