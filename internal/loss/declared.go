package loss

import "math"

// zeroConcentrated is a declared ρ-zCDP guarantee: D_α ≤ ρα for every α > 1, so
// K(s) ≤ ρ·s(s+1). No pair is known.
type zeroConcentrated struct {
	rho float64
}

func (z zeroConcentrated) Facts() Facts {
	return Facts{Name: "zCDP guarantee", Rho: z.rho, Epsilon: math.Inf(1), Symmetric: true, BoundOnly: true}
}

func (z zeroConcentrated) order() [4]float64 { return [4]float64{z.rho} }
