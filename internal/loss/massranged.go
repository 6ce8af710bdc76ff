package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// pair has the finite losses beside an atom.
func (l sloped) pair(atom float64, side Side) Pair {
	if !(l.r <= mostEpsilon && l.r >= 1e-300) {
		return nil
	}
	r := sided(l.r, side)
	p := slopedPair{reach: r, centre: r, infinite: atom}
	// P's density is ½·e^{(l−r)/2}/(1 − e^{−r}) times the mass of finite losses.
	p.log = -num.Log1mExp(r)
	p.logErr = num.Ulp * 8 * p.log
	if atom > 0 {
		if side == Dominated {
			p.infinite = atom * (1 - 64*num.Ulp)
		}
		rest := math.Log1p(-atom)
		p.log += rest
		p.logErr += num.Ulp * (2*math.Abs(rest) + 2*math.Abs(p.log) + 64*atom/(1-atom))
	}
	return p
}

// slopedPair has finite losses in [−reach, reach], where P(L in (a, b]) =
// (e^{(b−centre)/2} − e^{(a−centre)/2})·e^{log}, and maybe atoms at both ends.
type slopedPair struct {
	reach, centre float64
	log, logErr   float64
	ends          []Mass // none, or those at −reach and reach
	infinite      float64
}

func (p slopedPair) Ends(logBelow, _ float64) (lo, hi float64) {
	return math.Max(-p.reach, p.centre+2*(logBelow-p.log)), p.reach
}

// Cells: Q's density falls as e^{−l/2}, so that the loss of a cell is exactly its
// middle.
func (p slopedPair) Cells(edges []float64, cells []Mass) (slack float64) {
	for i := range cells {
		a, b := math.Max(edges[i], -p.reach), math.Min(edges[i+1], p.reach)
		if !(a < b) {
			cells[i] = nothing()
			continue
		}
		log := p.log + (b-p.centre)/2 + num.Log1mExp((b-a)/2)
		cells[i] = Mass{
			LogP: log, Loss: (a + b) / 2,
			LogErr: p.logErr + num.Ulp*(8+2*p.centre+4*math.Abs(log)), LossErr: num.Ulp * (math.Abs(a) + math.Abs(b)),
		}
	}
	return 0
}

func (p slopedPair) Atoms() []Mass     { return p.ends }
func (p slopedPair) Infinite() float64 { return p.infinite }
func (p slopedPair) Null() float64     { return p.infinite }

// Anchor is where P is densest or has an atom: the largest loss.
func (p slopedPair) Anchor() float64 { return p.reach }
