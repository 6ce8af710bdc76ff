// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// noise is σ or b with what it is relative to.
type noise struct{ scale, sensitivity, distance, multiplied float64 }

// multiplier is σ/Δ, rounded down. A distance is Δ, or under REPLACE_ONE twice that.
func (n noise) multiplier(adj mechanism.Adjacency) float64 {
	switch {
	case n.multiplied != 0:
		return n.multiplied
	case n.sensitivity != 0:
		return ratioDown(n.scale, n.sensitivity)
	case adj == mechanism.ReplaceOne:
		return ratioDown(n.scale, n.distance/2)
	}
	return ratioDown(n.scale, n.distance)
}

// reciprocalUp is 1/x rounded up, of a noise's scale or of a chance to stop: what grows
// is the loss.
func reciprocalUp(x float64) float64 {
	r := 1 / x
	if math.FMA(r, x, -1) < 0 {
		r = math.Nextafter(r, math.Inf(1))
	}
	return r
}

// ratioUp is x/y rounded up, of a loss.
func ratioUp(x, y float64) float64 {
	q := x / y
	if math.FMA(q, y, -x) < 0 {
		q = math.Nextafter(q, math.Inf(1))
	}
	return q
}

// responseNoise is ν = k/(k + e^ε − 1), rounded down: ε = ln(1 + k(1 − ν)/ν).
func responseNoise(epsilon, k float64) float64 {
	return k / (k + math.Expm1(epsilon)) * (1 - 8*0x1p-53)
}
