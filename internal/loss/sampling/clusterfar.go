// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
)

// cut bounds |M − 1| off the real parameters by below·|s(s+1)| + above + slope·|p|: outcomes below some u count with
// the second derivative of r^p, and those above it with r^p itself, whose modulus does not grow along the line
// (docs/math/clusters.md §2.7.2, statement (c)).
type cut struct {
	below, above, slope float64
}

// aside is what the bounds need of an ellipse off the real parameters, in one coordinate.
type aside struct {
	v0, v1      float64 // the least and the largest variance of u
	least, odds float64 // the least and the largest |e^b|
	stretch     float64 // 1/|1 + e^b| at most
	growth      float64 // |r| is at most so many times the real r
	turn        float64 // and |arg r| at most this
	back        float64 // −cos of the argument of e^b at most, where positive
	excess      float64 // M(θ) − 1 of the real parameters that bounds those on the ellipse
}

// cutsAt are how many places for cuts are tried.
const cutsAt = 10

// cuts are bounds for several u, times factor.
func (f aside) cuts(d loss.Direction, theta, factor float64) (cuts []cut) {
	const up = 1 + 1e-9
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 * up }
	power, bend := 1+theta, theta-1 // of r, and of its second derivative
	if d == loss.Add {
		power, bend = -theta, -theta-2
	}
	ratio := f.odds * f.stretch // of |r − 1| and |e^u − e^{iβ}|
	for i := range cutsAt {
		u := 0.75 * math.Sqrt(f.v1) * float64(i)
		square := math.Exp(f.v1)*normal((u-1.5*f.v0)/math.Sqrt(f.v0)) + 1 + 2*f.back
		steep := math.Pow((1+f.odds)/math.Cos(f.turn), -bend)
		if bend >= 0 {
			steep = math.Pow(f.stretch+ratio*math.Exp(u), bend)
		}
		beyond := normal((f.v1/2 - u) / math.Sqrt(f.v1)) // E[e^u] from u on
		one := cut{
			below: factor * ratio * ratio / 2 * square * steep * up,
			slope: factor * ratio * (1 + math.Exp(-u)) * beyond * up,
		}
		share := math.Exp(-u) * beyond * up // the probability of what is above
		if d == loss.Add {
			one.above = factor * 2 * share
			cuts = append(cuts, one)
			continue
		}
		for _, large := range [...]float64{0.5, 1, 3} { // r − 1 from where on M(θ) − 1 bounds r^p
			to := math.Max(u, math.Log(large/f.odds))
			rest := f.least / (1 + f.least) * math.Expm1(to) // the real r is more than 1 by this, at least
			part := 1 - (1+power*rest)*math.Pow(1+rest, -power)
			if !(part > 1e-3) {
				continue
			}
			one.above = factor * up * (share*(1+math.Pow(f.stretch+ratio*math.Exp(to), power)) +
				math.Pow(f.growth, power)*f.excess/(part*(1-1e-9)))
			cuts = append(cuts, one)
		}
	}
	return cuts
}
