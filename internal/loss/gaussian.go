package loss

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// gaussian is the pair (N(μ,1), N(0,1)): L ~ N(μ²/2, μ²) and
//
//	K(s) = s(s+1)μ²/2
//
// (Mironov 2017, Prop. 7; Dong–Roth–Su 2022, §2.4). Both directions are equal.
// See docs/math/cumulant.md §1.1.1.
type gaussian struct {
	mu float64 // ≥ 0, maybe +Inf
	// class: the pair dominates a class of mechanisms, none of which need be that pair.
	class bool
}

// ofGaussian takes μ = d/σ, rounded up.
func ofGaussian(m mechanism.Gaussian, adj mechanism.Adjacency) Loss {
	sigma, distance := m.Ratio(adj)
	return gaussian{mu: num.DivUp(distance, sigma)}
}

func (g gaussian) Facts() Facts {
	return Facts{
		Name: "Gaussian", Rho: num.MulUp(num.MulUp(g.mu, g.mu), 0.5),
		Epsilon: math.Inf(1), Symmetric: true, Dominating: g.class,
	}
}

// Mu is μ.
func (g gaussian) Mu() float64 { return g.mu }

func (g gaussian) MaxLoss(Direction) float64 { return math.Inf(1) }

func (g gaussian) Cumulant(_ Direction, s float64) Value {
	if s == 0 || s == -1 {
		return Value{Slope: (s + 0.5) * g.mu * g.mu, Curvature: g.mu * g.mu}
	}
	// Multiplied in this order, a small μ does not underflow where s is large.
	k := (s * g.mu) * ((s + 1) * g.mu) / 2
	if math.IsInf(k, 0) || math.IsNaN(k) {
		return Value{K: math.Copysign(math.Inf(1), s*(s+1)), Err: math.Inf(1)}
	}
	return Value{
		K: k, Err: 12*num.Ulp*math.Abs(k) + math.SmallestNonzeroFloat64*(1+math.Abs(s)),
		Slope: (s + 0.5) * g.mu * g.mu, Curvature: g.mu * g.mu,
	}
}

func (g gaussian) Line(d Direction, theta float64) Line {
	return guarded(func(t float64) ComplexValue {
		s := complex(theta, t)
		if s == 0 || s == -1 {
			return ComplexValue{}
		}
		k := (s * complex(g.mu, 0)) * ((s + 1) * complex(g.mu, 0)) / 2
		size := cmplx.Abs(s) * g.mu * cmplx.Abs(s+1) * g.mu / 2
		return around(k, 16*num.Ulp*size+math.SmallestNonzeroFloat64*(1+cmplx.Abs(s)))
	}, g.Cumulant(d, theta))
}

func (g gaussian) Order() [4]float64 { return [4]float64{g.mu} }

// attained is unknown of a class.
func (g gaussian) attained() Loss {
	if g.class {
		return nil
	}
	return g
}

// Decay is −t²μ²/2 exactly.
func (g gaussian) Decay(Direction, float64, Value) Decay {
	half := g.mu * g.mu / 2 * (1 - 8*num.Ulp)
	return func(t0, _ float64, _ bool) (log, spent float64) {
		return logModulus(-t0 * t0 * half * (1 - 8*num.Ulp)), 0
	}
}

// Covers is of less noise. A class stands for itself: what it attains is not known.
func (g gaussian) Covers(o Loss) bool {
	b, ok := o.(gaussian)
	return ok && !g.class && !b.class && g.mu >= b.mu
}

// Grouped has k times the distance; μ-GDP is kμ-GDP (Dong–Roth–Su 2022, Thm 6).
func (g gaussian) Grouped(k uint64) (Loss, error) {
	return gaussian{mu: num.MulUp(num.Count(k), g.mu), class: g.class}, nil
}
