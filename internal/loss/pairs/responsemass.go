// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

func (r Response) Pair(_ loss.Direction, side loss.Side, _ *num.Interrupt) loss.Pair {
	if !(r.Epsilon <= MostEpsilon && r.Epsilon >= 1e-300) {
		return nil
	}
	e := loss.Sided(r.Epsilon, side)
	small := math.Exp(-e)
	// −ln P(L = ε0 | L < ∞), and its error: that of (k−1)·e^{−ε0} counts with
	// its share.
	whole := math.Log1p((r.K - 1) * small)
	share := (r.K - 1) * small / (1 + (r.K-1)*small)
	rest := math.Log1p(-r.InfinityMass)
	top := loss.Mass{
		LogP: rest - whole, Loss: e,
		LogErr: num.Ulp * (2*math.Abs(rest) + 4*whole + share*(6+2*e)),
	}
	atoms := []loss.Mass{{LogP: top.LogP - e, Loss: -e, LogErr: top.LogErr + num.Ulp*(2*e+math.Abs(top.LogP))}}
	if r.K > 2 {
		atoms = append(atoms, loss.Mass{
			LogP:   num.Log(r.K-2) - e + top.LogP,
			LogErr: top.LogErr + num.Ulp*(2*math.Abs(num.Log(r.K-2)-e)+math.Abs(top.LogP)+2),
		})
	}
	return loss.NewAtomicPair(append(atoms, top), r.InfinityMass, r.InfinityMass)
}

// MostEpsilon bounds ε0 of the pairs below: above it e^{−ε0} is 0.
const MostEpsilon = 700
