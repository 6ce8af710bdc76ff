// SPDX-License-Identifier: Apache-2.0

package loss

import "math"

// MassCell is an interval of a loss, or a point of it, that has some mass under
// the tilted law.
type MassCell struct {
	Mass        float64 // from below
	Left, Right float64 // the loss lies between, errors included
	Least, Most float64 // bounds on its mean
}

// WorthPairs keeps the cells whose pairs count: those with mass, and those far
// from the rest. Any choice gives a valid bound.
func WorthPairs(cells []MassCell) []MassCell {
	var total, mean float64
	for _, c := range cells {
		total += c.Mass
		mean += c.Mass * c.Least
	}
	mean /= total
	weight := func(c MassCell) float64 { return c.Mass * (c.Least - mean) * (c.Least - mean) }
	var most, farthest float64
	for _, c := range cells {
		most, farthest = math.Max(most, c.Mass), math.Max(farthest, weight(c))
	}
	var heavy []MassCell
	for _, c := range cells {
		if c.Mass > 1e-4*most || weight(c) > 1e-4*farthest {
			heavy = append(heavy, c)
		}
	}
	return heavy
}

// Spread bounds ln|φ| on [t0, t1] by (a) of docs/math/inversion.md §2.3.1: with D the
// difference of two independent tilted losses,
//
//	1 − |φ(t)|² = E[1 − cos tD] ≥ E[κ(x)·(t0·D)²; |D| ≤ π/t1],  t0 ≤ t ≤ t1,
//
// as 1 − cos y ≥ κ(x)·y² for |y| ≤ x ≤ π with κ(x) = (1 − cos x)/x². Over a pair of
// cells x is t1 times their largest D, and E[D²] ≥ the square of the difference
// of their means. The cells are in order.
func Spread(cells []MassCell, t0, t1 float64) float64 {
	if !(t1 < math.Inf(1)) {
		return 0
	}
	var sum float64
	for i := range cells {
		a := &cells[i]
		var inner float64
		for j := i + 1; j < len(cells); j++ {
			b := &cells[j]
			reach := (b.Right - a.Left) * t1
			if reach > math.Pi*(1-1e-12) {
				break
			}
			d := math.Max(0, b.Least-a.Most)
			// κ ≥ ½ − x²/24 + x⁴/720 − x⁶/40320 for every x.
			y := reach * reach
			inner += b.Mass * d * d * (0.5 - y*(1./24-y*(1./720-y/40320)))
		}
		sum += a.Mass * inner
	}
	return LogModulus(math.Log1p(-math.Min(1, 2*t0*t0*sum*(1-1e-9))) / 2)
}

// LogModulus keeps a bound on the logarithm of a modulus ≤ 1 at most 0; what could not be
// computed is no bound.
func LogModulus(v float64) float64 {
	if v <= 0 {
		return v
	}
	return 0
}
