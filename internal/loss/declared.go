package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// declaredKinds are guarantees without the mechanism that has them.
func declaredKinds() []Kind {
	return []Kind{
		PlainKindOf(ofPureDP),
		PlainKindOf(ofApproximateDP),
		PlainKindOf(ofZeroConcentratedDP),
		PlainKindOf(ofGaussianDP),
		LongKindOf(ofRenyiDP),
		LongKindOf(ofTable),
		PlainKindOf(ofNameAndShame),
	}
}

func ofPureDP(m mechanism.PureDP, _ mechanism.Adjacency) Loss {
	return response{epsilon: m.Epsilon, buckets: 2, kind: pureDP}
}

func ofApproximateDP(m mechanism.ApproximateDP, _ mechanism.Adjacency) Loss {
	return response{epsilon: m.Epsilon, buckets: 2, atom: m.Delta, kind: approximateDP}
}

func ofZeroConcentratedDP(m mechanism.ZeroConcentratedDP, _ mechanism.Adjacency) Loss {
	return zeroConcentrated{rho: m.Rho, atom: m.Delta}
}

func ofGaussianDP(m mechanism.GaussianDP, _ mechanism.Adjacency) Loss { return gaussian{mu: m.Mu} }

func ofNameAndShame(m mechanism.NameAndShame, _ mechanism.Adjacency) Loss {
	return failure{atom: m.Delta}
}

// zeroConcentrated is a declared ρ-zCDP guarantee: D_α ≤ ρα for every α > 1, so
// K(s) ≤ ρ·s(s+1) for s > 0 (Bun–Steinke 2016, Def. 1.1); with an atom a
// δ-approximate one, of what is left where events of probability δ are taken out
// (Def. 8.1). No pair is known. See docs/math/cumulant.md §1.1.4.
type zeroConcentrated struct {
	boundOnly
	rho  float64
	atom float64 // δ
}

func (z zeroConcentrated) Facts() Facts {
	return Facts{Name: "zCDP guarantee", Atom: z.atom, Rho: z.rho, Epsilon: math.Inf(1), Symmetric: true, BoundOnly: true}
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

// ConcentratedCurve is ZeroConcentrated as a function of s.
func ConcentratedCurve(rho float64) Curve {
	return Curve{At: func(s float64) Value { return ZeroConcentrated(rho, s) }, Last: math.Inf(1)}
}

// Line knows no more than |E[e^{sL}]| ≤ E[e^{θL}].
func (z zeroConcentrated) Line(d Direction, theta float64) Line {
	return boundLine(z.Cumulant(d, theta))
}

// Covers is of a larger ρ and δ.
func (z zeroConcentrated) Covers(o Loss) bool {
	b, ok := o.(zeroConcentrated)
	return ok && z.rho >= b.rho && z.atom >= b.atom
}

// Grouped: ρ-zCDP is k²ρ-zCDP (Bun–Steinke 2016, Prop. 1.9).
func (z zeroConcentrated) Grouped(k uint64) (Loss, error) {
	n := num.Count(k)
	return zeroConcentrated{rho: num.MulUp(n*n, z.rho)}, nil
}

// Guarantee implements Guaranteed.
func (z zeroConcentrated) Guarantee() Guarantee { return Guarantee{rho: z.rho} }

func (z zeroConcentrated) Order() [4]float64 { return [4]float64{z.rho, z.atom} }

// failure has an infinite loss with probability atom and otherwise none: name and
// shame, which dominates every (0, atom)-DP mechanism. See docs/math/cumulant.md §1.1.5.
type failure struct {
	atom float64
}

func (f failure) Facts() Facts {
	return Facts{Name: "name-and-shame", Atom: f.atom, Symmetric: true}
}

func (failure) MaxLoss(Direction) float64 { return 0 }

// Cumulant is 0: the finite loss is.
func (failure) Cumulant(Direction, float64) Value { return Value{} }

func (failure) Line(Direction, float64) Line {
	return func(float64) ComplexValue { return ComplexValue{} }
}

func (f failure) Order() [4]float64 { return [4]float64{f.atom} }

func (f failure) Pair(Direction, Side) Pair {
	rest := math.Log1p(-f.atom)
	return atomicPair{[]Mass{{LogP: rest, LogErr: 2 * num.Ulp * math.Abs(rest)}}, f.atom, f.atom}
}

// Decay: an atom alone has none.
func (failure) Decay(Direction, float64, Value) Decay { return Undecayed }

// Covers is of a smaller probability.
func (f failure) Covers(o Loss) bool {
	b, ok := o.(failure)
	return ok && f.atom >= b.atom
}

// Grouped: by ε = 0 and δ nothing is lost of k records' guarantee.
func (failure) Grouped(uint64) (Loss, error) { return nil, nil }

// FailsOnly implements Failing.
func (failure) FailsOnly() {}
