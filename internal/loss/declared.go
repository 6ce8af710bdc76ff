package loss

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/num"
)

// zeroConcentrated is a declared ρ-zCDP guarantee: D_α ≤ ρα for every α > 1, so
// K(s) ≤ ρ·s(s+1) for s > 0 (Bun–Steinke 2016, Def. 1.1). No pair is known.
type zeroConcentrated struct {
	rho float64
}

func (z zeroConcentrated) Facts() Facts {
	return Facts{Name: "zCDP guarantee", Rho: z.rho, Epsilon: math.Inf(1), Symmetric: true, BoundOnly: true}
}

func (z zeroConcentrated) MaxLoss(Direction) float64 { return math.Inf(1) }

// Cumulant is the bound where it holds, and +Inf elsewhere.
func (z zeroConcentrated) Cumulant(_ Direction, s float64) Value { return ZeroConcentrated(z.rho, s) }

// ZeroConcentrated bounds K of every ρ-zCDP mechanism: ρ·s(s+1) for s ≥ 0, +Inf
// below 0.
func ZeroConcentrated(rho, s float64) Value {
	if s < 0 {
		return Value{K: math.Inf(1)}
	}
	v := Value{Slope: (2*s + 1) * rho, Curvature: 2 * rho}
	if s > 0 {
		v.K = (s * rho) * (s + 1)
		v.Err = 4*num.Ulp*v.K + math.SmallestNonzeroFloat64*(2+s)
	}
	return v
}

// Line knows no more than |E[e^{sL}]| ≤ E[e^{θL}].
func (z zeroConcentrated) Line(d Direction, theta float64) Line {
	upper := z.Cumulant(d, theta).Upper()
	return func(float64) ComplexValue { return ComplexValue{cmplx.NaN(), math.Inf(1), upper} }
}

func (z zeroConcentrated) order() [4]float64 { return [4]float64{z.rho} }
