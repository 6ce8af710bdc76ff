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
