// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/num"
)

// discreteVector is discrete Gaussian noise on several coordinates that are moved by the ℓ2 distance d, in more ways
// than can be listed (movedVector has those that can). It is ρ-zCDP with ρ = d²/2σ², which is the loss it embeds, and
// nearly what may be made of Gaussian noise (docs/math/noise.md §1.4.12).
type discreteVector struct {
	loss.Loss
	sigma, d    float64
	coordinates float64
}

func newDiscreteVector(sigma, d, coordinates float64) loss.Loss {
	mu := num.DivUp(d, sigma)
	return discreteVector{declared.NewConcentrated(num.MulUp(num.MulUp(mu, mu), 0.5), 0), sigma, d, coordinates}
}

// Guarantee is that of zCDP.
func (v discreteVector) Guarantee(in *num.Interrupt) loss.Guarantee {
	return v.Loss.(loss.Guaranteed).Guarantee(in)
}

// Members is one coordinate that moves as far as it may.
func (v discreteVector) Members() []loss.Loss {
	if far := math.Floor(math.Sqrt(squaredOf(v.d))); far >= 1 && far < 1<<53 {
		return []loss.Loss{discreteGaussian{sigma: v.sigma, d: far}}
	}
	return nil
}

func (v discreteVector) Covers(o loss.Loss) bool {
	w, ok := o.(discreteVector)
	return ok && v.sigma <= w.sigma && v.d >= w.d && v.coordinates >= w.coordinates
}

func (v discreteVector) Grouped(k uint64) (loss.Loss, error) {
	return ofVector(v.sigma, num.MulUp(num.Count(k), v.d), v.coordinates, nil), nil
}

func (v discreteVector) Order() [4]float64 {
	rho := v.Loss.Order()[0]
	return [4]float64{rho, v.sigma, v.d, v.coordinates}
}

// nearlyAll is about what the densities' quotient may differ from 1 by, all moved coordinates together.
const nearlyAll = 1e-13

// Nearly is Gaussian noise of the variance σ² − τ², rounded at random. No more than d² coordinates are moved, as
// every one that is moves by 1 at least.
func (v discreteVector) Nearly() (l loss.Loss, shift, factor float64, ok bool) {
	moved := math.Max(1, math.Min(v.coordinates, num.MulUp(v.d, v.d)))
	variance := math.Log(2.1*moved/nearlyAll) / (2 * math.Pi * math.Pi) // τ²
	rest := num.Down(num.Down(v.sigma*v.sigma) - num.Up(variance))
	if !(rest > variance) || math.IsInf(rest, 1) {
		return nil, 0, 0, false
	}
	const slack = 1 + 1e-9
	h := 2 * math.Exp(-2*math.Pi*math.Pi*variance) / (1 - math.Exp(-6*math.Pi*math.Pi*variance)) * slack
	mu := num.DivUp(v.d, num.Down(math.Sqrt(rest)))
	return pairs.NewGaussian(mu), moved * (math.Log1p(h) - math.Log1p(-h)) * slack, moved * math.Log1p(h) * slack, true
}
