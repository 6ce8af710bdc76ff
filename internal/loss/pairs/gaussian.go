// SPDX-License-Identifier: Apache-2.0

// Package pairs has the losses that many kinds of mechanism have: the Gaussian and the Laplace
// pair, randomized response, which is also every guarantee of pure or approximate DP, and the
// pair of a bounded range of losses.
//
// Each has a file for its cumulant, one for its masses, and one for what a Poisson sample makes
// of it where that is known; normal.go has the masses of intervals under a normal, rho.go the
// ρ of pure DP.
package pairs

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
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
	// least is the loss of some mechanism in the class; nil where none is known.
	least loss.Loss
}

func (g gaussian) Facts() loss.Facts {
	return loss.Facts{
		Name: "Gaussian", Rho: num.MulUp(num.MulUp(g.mu, g.mu), 0.5),
		Epsilon: math.Inf(1), Symmetric: true, Dominating: g.class,
	}
}

// Mu is μ.
func (g gaussian) Mu() float64 { return g.mu }

// NormalMu is √n·μ: it dominates itself.
func (g gaussian) NormalMu(count uint64) loss.NormalMu {
	if g.class {
		return loss.NormalMuOfTail(g.mu, 0, count)
	}
	return loss.NormalMuOfTail(g.mu, g.mu, count)
}

func (g gaussian) MaxLoss(loss.Direction) float64 { return math.Inf(1) }

func (g gaussian) Cumulant(_ loss.Direction, s float64, _ *num.Interrupt) loss.Value {
	if s == 0 || s == -1 {
		return loss.Value{Slope: (s + 0.5) * g.mu * g.mu, Curvature: g.mu * g.mu}
	}
	// Multiplied in this order, a small μ does not underflow where s is large.
	k := (s * g.mu) * ((s + 1) * g.mu) / 2
	if math.IsInf(k, 0) || math.IsNaN(k) {
		return loss.Value{K: math.Copysign(math.Inf(1), s*(s+1)), Err: math.Inf(1)}
	}
	return loss.Value{
		K: k, Err: 12*num.Ulp*math.Abs(k) + math.SmallestNonzeroFloat64*(1+math.Abs(s)),
		Slope: (s + 0.5) * g.mu * g.mu, Curvature: g.mu * g.mu,
	}
}

func (g gaussian) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.Guarded(func(t float64) loss.ComplexValue {
		s := complex(theta, t)
		if s == 0 || s == -1 {
			return loss.ComplexValue{}
		}
		k := (s * complex(g.mu, 0)) * ((s + 1) * complex(g.mu, 0)) / 2
		size := cmplx.Abs(s) * g.mu * cmplx.Abs(s+1) * g.mu / 2
		return loss.Around(k, 16*num.Ulp*size+math.SmallestNonzeroFloat64*(1+cmplx.Abs(s)))
	}, g.Cumulant(d, theta, in))
}

func (g gaussian) Order() [4]float64 {
	if g.least != nil {
		o := g.least.Order()
		return [4]float64{g.mu, o[0], o[1], o[3]}
	}
	return [4]float64{g.mu}
}

// Attained is of a class what is known of some mechanism in it.
func (g gaussian) Attained() loss.Loss {
	if g.class {
		return g.least
	}
	return g
}

// Decay is −t²μ²/2 exactly.
func (g gaussian) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	half := g.mu * g.mu / 2 * (1 - 8*num.Ulp)
	return func(t0, _ float64, _ bool) (log, spent float64) {
		return loss.LogModulus(-t0 * t0 * half * (1 - 8*num.Ulp)), 0
	}
}

// Covers is of less noise. A class stands for itself: what it attains is not known.
func (g gaussian) Covers(o loss.Loss) bool {
	b, ok := o.(gaussian)
	return ok && !g.class && !b.class && g.mu >= b.mu
}

// Grouped has k times the distance; μ-GDP is kμ-GDP (Dong–Roth–Su 2022, Thm 6).
func (g gaussian) Grouped(k uint64) (loss.Loss, error) {
	return gaussian{mu: num.MulUp(num.Count(k), g.mu), class: g.class}, nil
}

// TimesNorm is the Gaussian with √squares times the distance; squares has been rounded up.
func TimesNorm(mu, squares float64, exact bool) loss.Loss {
	return gaussian{mu: num.MulUp(mu, num.SqrtUp(squares)), class: !exact}
}

// AtMostTimesNorm is TimesNorm of a class of mechanisms, of which some one has the loss least.
func AtMostTimesNorm(mu, squares float64, least loss.Loss) loss.Loss {
	return gaussian{mu: num.MulUp(mu, num.SqrtUp(squares)), class: true, least: least}
}

// NewGaussian is the pair at a distance of μ ≥ 0.
func NewGaussian(mu float64) loss.Loss { return gaussian{mu: mu} }
