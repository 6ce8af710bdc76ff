// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Runs are the losses of one run.
func (r selection) Runs() loss.Composition { return r.runs.Values() }

// Mean is E[n] of the number of runs, rounded up; 1/γ of the first run above a threshold.
func (r selection) Mean() float64 { return r.mean }

// LogShare is e^{−μu} of the Poisson distribution, and (γ/(γ + (1−γ)u))^{1+η} of the negative binomial.
func (r selection) LogShare(u float64) loss.Bounds {
	log := -r.mean * u
	slack := 8 * num.Ulp * -log
	if !r.poisson {
		turn := math.Log1p((1 - r.gamma) / r.gamma * u)
		log = -(1 + r.eta) * turn
		slack = 16 * num.Ulp * (1 + r.eta) * (1 + turn)
	}
	return loss.Bounds{Lower: num.DownBy(log, slack), Upper: math.Min(0, num.UpBy(log, slack))}
}

// Threshold is of the first run above one.
func (r selection) Threshold() bool { return r.first }

// Published: where u is the probability of a better output, one of probability a is published with the probability
// f(1 − u) − f(1 − u − a), and no output with f(0); with a threshold it is a/Z and γ(1 − p)/Z (docs/math/best-of.md
// §1.6.7), of which what is not good is nothing.
func (r selection) Published(run []float64, good int) []float64 {
	out := make([]float64, len(run)+1)
	if r.first {
		var p, rest float64
		for _, a := range run[:good] {
			p += a
		}
		for _, a := range run[good:] {
			rest += a
		}
		z := r.gamma + (1-r.gamma)*p
		for i, a := range run[:good] {
			out[i] = a / z
		}
		out[len(run)] = r.gamma * rest / z
		return out
	}
	u := 0.0
	for i, a := range run {
		if r.poisson {
			out[i] = math.Exp(-r.mean*u) * -math.Expm1(-r.mean*a)
		} else {
			z := r.gamma + (1-r.gamma)*u
			grows := math.Log1p((1 - r.gamma) * a / z)
			if out[i] = grows / -math.Log(r.gamma); r.eta != 0 {
				out[i] = math.Pow(z/r.gamma, -r.eta) * math.Expm1(-r.eta*grows) / math.Expm1(r.eta*math.Log(r.gamma))
			}
		}
		u += a
	}
	if r.poisson {
		out[len(run)] = math.Exp(-r.mean)
	}
	return out
}

// ByCurve tries the orders e^−3 to e^5 (docs/math/best-of.md §1.6.8).
func (r selection) ByCurve(d loss.Direction, curve func(epsilon float64) float64, in *num.Interrupt) []loss.Knot {
	const first, last, step = -3, 5, 0.1
	var knots []loss.Knot
	for x := float64(first); x <= last; x += step {
		s := math.Exp(x)
		if s > r.Last() {
			break
		}
		if k := r.boundBy(curve, d, s, in).Upper(); k < math.MaxFloat64 {
			knots = append(knots, loss.Knot{S: s, K: k})
		}
	}
	return knots
}
