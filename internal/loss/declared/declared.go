// SPDX-License-Identifier: Apache-2.0

// Package declared has the kinds that are a guarantee without the mechanism that has it: pure and
// approximate DP, ρ-zCDP, μ-GDP and name-and-shame (declared.go), tables of Rényi divergences
// (renyi.go) and of losses (table.go).
package declared

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Kinds are guarantees without the mechanism that has them.
func Kinds() []loss.Kind {
	return []loss.Kind{
		loss.PlainKindOf(ofPureDP),
		loss.PlainKindOf(ofApproximateDP),
		loss.PlainKindOf(ofZeroConcentratedDP),
		loss.PlainKindOf(ofGaussianDP),
		loss.LongKindOf(ofRenyiDP),
		loss.LongKindOf(ofTable),
		loss.PlainKindOf(ofNameAndShame),
	}
}

func ofPureDP(m mechanism.PureDP, _ mechanism.Adjacency) loss.Loss {
	return pairs.Response{Epsilon: m.Epsilon, K: 2, Name: "pure-DP guarantee"}
}

func ofApproximateDP(m mechanism.ApproximateDP, _ mechanism.Adjacency) loss.Loss {
	return pairs.Response{Epsilon: m.Epsilon, K: 2, InfinityMass: m.Delta, Name: "approximate-DP guarantee"}
}

func ofZeroConcentratedDP(m mechanism.ZeroConcentratedDP, _ mechanism.Adjacency) loss.Loss {
	return NewConcentrated(m.Rho, m.Delta)
}

// NewConcentrated is ρ-zCDP apart from events of probability delta.
func NewConcentrated(rho, delta float64) loss.Loss { return zeroConcentrated{rho: rho, atom: delta} }

func ofGaussianDP(m mechanism.GaussianDP, _ mechanism.Adjacency) loss.Loss {
	return pairs.NewGaussian(m.Mu)
}

func ofNameAndShame(m mechanism.NameAndShame, _ mechanism.Adjacency) loss.Loss {
	return nameAndShame{atom: m.Delta}
}

// zeroConcentrated is a declared ρ-zCDP guarantee: D_α ≤ ρα for every α > 1, so
// K(s) ≤ ρ·s(s+1) for s > 0 (Bun–Steinke 2016, Def. 1.1); with an atom a
// δ-approximate one, of what is left where events of probability δ are taken out
// (Def. 8.1). No pair is known. See docs/math/cumulant.md §1.1.4.
type zeroConcentrated struct {
	loss.BoundOnly
	rho  float64
	atom float64 // δ
}

func (z zeroConcentrated) Facts() loss.Facts {
	return loss.Facts{Name: "zCDP guarantee", InfinityMass: z.atom, Rho: z.rho, Epsilon: math.Inf(1),
		Symmetric: true, BoundOnly: true}
}

func (z zeroConcentrated) MaxLoss(loss.Direction) float64 { return math.Inf(1) }

// Cumulant is the bound where it holds, and +Inf elsewhere.
func (z zeroConcentrated) Cumulant(_ loss.Direction, s float64, _ *num.Interrupt) loss.Value {
	return loss.ZeroConcentrated(z.rho, s)
}

// Line knows no more than |E[e^{sL}]| ≤ E[e^{θL}].
func (z zeroConcentrated) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.BoundLine(z.Cumulant(d, theta, in))
}

// Covers is of a larger ρ and δ.
func (z zeroConcentrated) Covers(o loss.Loss) bool {
	b, ok := o.(zeroConcentrated)
	return ok && z.rho >= b.rho && z.atom >= b.atom
}

// Grouped: ρ-zCDP is k²ρ-zCDP (Bun–Steinke 2016, Prop. 1.9).
func (z zeroConcentrated) Grouped(k uint64) (loss.Loss, error) {
	n := num.Count(k)
	return NewConcentrated(num.MulUp(n*n, z.rho), 0), nil
}

// Guarantee implements Guaranteed.
func (z zeroConcentrated) Guarantee(*num.Interrupt) loss.Guarantee {
	return loss.ConcentratedGuarantee(z.rho)
}

func (z zeroConcentrated) Order() [4]float64 { return [4]float64{z.rho, z.atom} }

// nameAndShame has an infinite loss with probability atom and otherwise none: name and
// shame, which dominates every (0, atom)-DP mechanism. See docs/math/cumulant.md §1.1.5.
type nameAndShame struct {
	atom float64
}

func (f nameAndShame) Facts() loss.Facts {
	return loss.Facts{Name: "name-and-shame", InfinityMass: f.atom, Symmetric: true}
}

func (nameAndShame) MaxLoss(loss.Direction) float64 { return 0 }

// Cumulant is 0: the finite loss is.
func (nameAndShame) Cumulant(loss.Direction, float64, *num.Interrupt) loss.Value { return loss.Value{} }

func (nameAndShame) Line(loss.Direction, float64, *num.Interrupt) loss.Line {
	return func(float64) loss.ComplexValue { return loss.ComplexValue{} }
}

func (f nameAndShame) Order() [4]float64 { return [4]float64{f.atom} }

func (f nameAndShame) Pair(loss.Direction, loss.Side, *num.Interrupt) loss.Pair {
	rest := math.Log1p(-f.atom)
	return loss.NewAtomicPair([]loss.Mass{{LogP: rest, LogErr: 2 * num.Ulp * math.Abs(rest)}}, f.atom, f.atom)
}

// Decay: an atom alone has none.
func (nameAndShame) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	return loss.Undecayed
}

// Covers is of a smaller probability.
func (f nameAndShame) Covers(o loss.Loss) bool {
	b, ok := o.(nameAndShame)
	return ok && f.atom >= b.atom
}

// Grouped: by ε = 0 and δ nothing is lost of k records' guarantee.
func (nameAndShame) Grouped(uint64) (loss.Loss, error) { return nil, nil }

// FailsOnly implements Failing.
func (nameAndShame) FailsOnly() {}

// What the kinds have beside a loss's methods: were one of them to lack a method, it would only
// be slower, or refused where it need not be.
var (
	_ poisson.Sampleable = lossTable{}
	_ loss.Tabled        = RenyiTable{}
	_ loss.Guaranteed    = RenyiTable{}
	_ loss.Guaranteed    = zeroConcentrated{}
	_ loss.Failing       = nameAndShame{}
)
