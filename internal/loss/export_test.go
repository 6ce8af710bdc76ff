// SPDX-License-Identifier: Apache-2.0

package loss

// What the external tests see of a guarantee and of its pair.

// NewGuarantee has ρ and a table.
func NewGuarantee(rho float64, knots []Knot) Guarantee { return Guarantee{rho: rho, knots: knots} }

// Parts are ρ, the table and the atom.
func (g Guarantee) Parts() (rho float64, knots []Knot, atom float64) { return g.rho, g.knots, g.atom }

// Bound is K(s).
func (g Guarantee) Bound(s float64) Value {
	v := ZeroConcentrated(g.rho, s)
	if len(g.knots) > 0 {
		w := Straight(g.knots, s)
		v.K, v.Slope = v.K+w.K, v.Slope+w.Slope
	}
	return v
}

// Begins are ℓ* and the slope of K there; false if the guarantee has no pair.
func (g Guarantee) Begins() (starts, slope float64, ok bool) {
	p := g.pair()
	if p == nil {
		return 0, 0, false
	}
	return p.starts, p.y(p.start), true
}
