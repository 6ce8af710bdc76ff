// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// WithAtom has the finite losses beside an atom.
func (l Sloped) WithAtom(atom float64, side loss.Side) loss.Pair {
	if !(l.R <= MostEpsilon && l.R >= 1e-300) {
		return nil
	}
	r := loss.Sided(l.R, side)
	p := SlopedPair{Extent: r, Centre: r, Lost: atom}
	// P's density is ½·e^{(l−r)/2}/(1 − e^{−r}) times the mass of finite losses.
	p.LogScale = -num.Log1mExp(r)
	p.LogScaleErr = num.Ulp * 8 * p.LogScale
	if atom > 0 {
		if side == loss.Dominated {
			p.Lost = atom * (1 - 64*num.Ulp)
		}
		rest := math.Log1p(-atom)
		p.LogScale += rest
		p.LogScaleErr += num.Ulp * (2*math.Abs(rest) + 2*math.Abs(p.LogScale) + 64*atom/(1-atom))
	}
	return p
}

// SlopedPair has finite losses in [−reach, reach], where P(L in (a, b]) =
// (e^{(b−centre)/2} − e^{(a−centre)/2})·e^{log}, and maybe atoms at both ends.
type SlopedPair struct {
	Extent, Centre        float64
	LogScale, LogScaleErr float64
	AtEnds                []loss.Mass // none, or those at −reach and reach
	Lost                  float64
}

func (p SlopedPair) Ends(logBelow, _ float64) (lo, hi float64) {
	return math.Max(-p.Extent, p.Centre+2*(logBelow-p.LogScale)), p.Extent
}

// Cells: Q's density falls as e^{−l/2}, so that the loss of a cell is exactly its
// middle.
func (p SlopedPair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	for i := range cells {
		a, b := math.Max(edges[i], -p.Extent), math.Min(edges[i+1], p.Extent)
		if !(a < b) {
			cells[i] = loss.Nothing()
			continue
		}
		log := p.LogScale + (b-p.Centre)/2 + num.Log1mExp((b-a)/2)
		cells[i] = loss.Mass{
			LogP: log, Loss: (a + b) / 2,
			LogErr:  p.LogScaleErr + num.Ulp*(8+2*p.Centre+4*math.Abs(log)),
			LossErr: num.Ulp * (math.Abs(a) + math.Abs(b)),
		}
	}
	return 0
}

func (p SlopedPair) Atoms() []loss.Mass { return p.AtEnds }
func (p SlopedPair) Infinite() float64  { return p.Lost }
func (p SlopedPair) Null() float64      { return p.Lost }

// Anchor is where P is densest or has an atom: the largest loss.
func (p SlopedPair) Anchor() float64 { return p.Extent }
