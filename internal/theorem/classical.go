// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/zcdp"
)

// classicalGaussian solves the condition σ ≥ Δ√(2·ln(1.25/δ))/ε for ε or δ. The condition is
// proven for ε < 1, and false above.
func classicalGaussian(w *work) (bound, string) {
	mu, _ := loss.MuOf(w.losses[0].Loss)
	switch {
	case len(w.losses) > 1 || w.losses[0].Count > 1:
		return bound{}, "more than one release; it is about one Gaussian"
	case !(mu > 0):
		return bound{}, "a " + w.losses[0].Loss.Facts().Name + ", no Gaussian"
	}
	at := 0.0 // ε
	b := w.by(func(delta float64) bound {
		x := num.AddUp(num.LogUp(1.25), -num.LogDown(delta))
		at = num.MulUp(mu, num.SqrtUp(2*x))
		return bound{epsilon: at}
	}, func(epsilon float64) bound {
		at = epsilon
		x := math.Max(0, num.Down(epsilon/mu))
		half := math.Max(0, num.Down(x*x)) / 2
		return bound{logDelta: math.Min(0, num.AddUp(num.LogUp(1.25), -half))}
	})
	if !(at < 1) {
		return bound{}, fmt.Sprintf("ε = %.6g; it is proven for ε < 1 and false above", at)
	}
	return b, ""
}

// classicalZCDP converts zCDP. Where mechanisms can fail altogether it is approximate zCDP,
// with δ = δ_∞ + (1 − δ_∞)·δ_zCDP.
func classicalZCDP(w *work) (bound, string) {
	for _, f := range w.losses.Facts() {
		if math.IsInf(f.Rho, 1) {
			return bound{}, "a " + f.Name + " has no ρ"
		}
	}
	rho := zcdp.Rho(w.losses)
	atom := w.losses.Failing()
	return w.by(func(delta float64) bound {
		finite := loss.Finite(delta, atom)
		if !(finite > 0) {
			return bound{epsilon: math.Inf(1)}
		}
		return bound{epsilon: concentrated(rho, num.LogDown(finite))}
	}, func(epsilon float64) bound {
		return bound{logDelta: loss.LogTotal(concentratedLogDelta(rho, epsilon), atom)}
	}), ""
}

// concentrated returns ρ + 2√(ρ·ln(1/δ)), rounded up, for ln δ ≥ logDelta.
func concentrated(rho, logDelta float64) float64 {
	return num.AddUp(rho, 2*num.SqrtUp(num.MulUp(rho, -logDelta)))
}

// concentratedLogDelta returns the bound −(ε − ρ)²/4ρ on ln δ, rounded up, or 0 for ε ≤ ρ.
func concentratedLogDelta(rho, epsilon float64) float64 {
	over := num.Down(epsilon - rho)
	if !(over > 0) {
		return 0
	}
	return -math.Max(0, num.Down(over*num.Down(over/(4*rho))))
}

// classicalRDP returns the larger of both directions' bounds, as package rdp does.
func classicalRDP(w *work) (bound, string) {
	var worst bound
	for _, d := range [...]loss.Direction{loss.Remove, loss.Add} {
		atom := w.losses.FailingIn(d)
		top := w.losses.MaxLoss(d)
		b := w.by(func(delta float64) bound {
			finite := loss.Finite(delta, atom)
			if !(finite > 0) {
				return bound{epsilon: math.Inf(1)}
			}
			logDelta := num.LogDown(finite)
			s, k := w.bestOrder(d, func(s, k float64) float64 { return (k - logDelta) / s })
			if e := renyi(s, k, logDelta); e < top {
				return bound{epsilon: e, order: 1 + s}
			}
			return bound{epsilon: top, order: math.Inf(1)}
		}, func(epsilon float64) bound {
			if top <= epsilon {
				return bound{logDelta: loss.LogTotal(math.Inf(-1), atom), order: math.Inf(1)}
			}
			s, k := w.bestOrder(d, func(s, k float64) float64 { return k - s*epsilon })
			return bound{logDelta: loss.LogTotal(renyiLogDelta(s, k, epsilon), atom), order: 1 + s}
		})
		if d == loss.Remove || b.epsilon > worst.epsilon || b.logDelta > worst.logDelta {
			worst = b
		}
		if w.losses.Symmetric() {
			break
		}
	}
	return worst, ""
}

// renyi returns K(s)/s + ln(1/δ)/s, rounded up, for K(s) ≤ k and ln δ ≥ logDelta: Mironov 2017,
// Prop. 3, with s = α − 1.
func renyi(s, k, logDelta float64) float64 {
	a, b := k/s, -logDelta/s
	return math.Max(0, num.UpBy(a+b, 4*num.Ulp*(math.Abs(a)+b)))
}

// renyiLogDelta returns K(s) − sε, rounded up and at most 0.
func renyiLogDelta(s, k, epsilon float64) float64 {
	v := num.UpBy(k-s*epsilon, 4*num.Ulp*(math.Abs(k)+s*epsilon))
	if math.IsNaN(v) {
		return 0
	}
	return math.Min(0, v)
}

// bestOrder finds the s = α − 1 > 0 at which cost is least, by golden sections of ln s with
// estimates of K. It returns this s with a proven bound on K(s). Every s is valid, so the
// search needs no proof.
func (w *work) bestOrder(d loss.Direction, cost func(s, k float64) float64) (s, upper float64) {
	estimates := make([]loss.Estimate, len(w.losses))
	for i, t := range w.losses {
		estimates[i] = loss.RenyiEstimate(t.Loss, d, nil)
	}
	at := func(logS float64) float64 {
		s, k := math.Exp(logS), 0.0
		for i, t := range w.losses {
			one, _, _ := estimates[i](s)
			k += float64(t.Count) * one
		}
		if c := cost(s, k); !math.IsNaN(c) {
			return c
		}
		return math.Inf(1) // the cumulant overflowed: too far right
	}
	const golden = 0.6180339887498949
	hi := math.Log(math.Min(1e15, w.losses.Last()))
	lo := math.Min(math.Log(1e-9), hi-1)
	last := hi
	x, y := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fx, fy := at(x), at(y)
	for range 40 {
		if fx <= fy {
			hi, y, fy = y, x, fx
			x = hi - golden*(hi-lo)
			fx = at(x)
		} else {
			lo, x, fx = x, y, fy
			y = lo + golden*(hi-lo)
			fy = at(y)
		}
		if w.Stop != nil && w.Stop() {
			break
		}
	}
	if s = math.Exp((lo + hi) / 2); hi == last { // it fell to the end
		s = math.Min(1e15, w.losses.Last())
	}
	return s, w.losses.Renyi(d, s, nil).Upper()
}
