// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// repeated describes k mechanisms that are all (ε, δ)-DP. Its ε and δ are the largest of all
// mechanisms, since a guarantee implies every weaker one.
type repeated struct {
	k              uint64
	epsilon, delta float64
}

// repeated finds the largest ε and the largest δ, or names a mechanism that has neither.
func (w *work) repeated() (r repeated, reason string) {
	for i, f := range w.losses.Facts() {
		if math.IsInf(f.Epsilon, 1) {
			return repeated{}, noEpsilon(f)
		}
		n := w.losses[i].Count
		if r.k+n < n || r.k+n > math.MaxInt64 {
			return repeated{}, "more than 2^63 − 1 mechanisms"
		}
		r.k += n
		r.epsilon, r.delta = math.Max(r.epsilon, f.Epsilon), math.Max(r.delta, f.Failing().InfinityMass)
	}
	return r, ""
}

func noEpsilon(f loss.Facts) string { return "a " + f.Name + " has no single (ε, δ)" }

// advancedComposition divides δ into kδ₀, which basic composition uses, and the rest δ'.
func advancedComposition(w *work) (bound, string) {
	r, reason := w.repeated()
	if reason != "" {
		return bound{}, reason
	}
	k := num.Count(r.k)
	mean := num.MulUp(num.MulUp(k, r.epsilon), num.Expm1Up(r.epsilon))
	failures := num.MulUp(k, r.delta)
	return w.by(func(delta float64) bound {
		rest := num.Down(delta - failures)
		if failures == 0 {
			rest = delta
		}
		if !(rest > 0) {
			return bound{epsilon: math.Inf(1)}
		}
		spread := num.MulUp(r.epsilon, num.SqrtUp(num.MulUp(2*k, -num.LogDown(rest))))
		return bound{epsilon: num.AddUp(spread, mean)}
	}, func(epsilon float64) bound {
		over := num.Down(epsilon - mean)
		if !(over > 0) {
			return bound{} // δ' = 1
		}
		x := num.Down(over / num.MulUp(r.epsilon, num.SqrtUp(2*k)))
		rest := -num.Down(x * x) // ln δ' = −(ε' − mean)²/(2kε²)
		return bound{logDelta: logAddUp(num.LogUp(failures), rest)}
	}), ""
}

// mironovComposition does not apply where ln(1/δ) < kε².
func mironovComposition(w *work) (bound, string) {
	r, reason := w.repeated()
	switch {
	case reason != "":
		return bound{}, reason
	case r.delta > 0:
		return bound{}, "a mechanism with δ > 0; it is about pure DP"
	}
	k := num.Count(r.k)
	needed := num.MulUp(num.MulUp(k, r.epsilon), r.epsilon) // of ln(1/δ)
	outside := func(logDelta float64) string {
		if -logDelta >= needed {
			return ""
		}
		return fmt.Sprintf("ln(1/δ) = %.4g is below kε² = %.4g", -logDelta, needed)
	}
	var logDelta float64
	b := w.by(func(delta float64) bound {
		logDelta = num.LogUp(delta)
		return bound{epsilon: num.MulUp(4*r.epsilon, num.SqrtUp(num.MulUp(2*k, -num.LogDown(delta))))}
	}, func(epsilon float64) bound {
		x := num.Down(epsilon / num.MulUp(4*r.epsilon, num.SqrtUp(2*k)))
		logDelta = -math.Max(0, num.Down(x*x))
		return bound{logDelta: logDelta}
	})
	return b, outside(logDelta)
}

// optimalComposition is the exact privacy curve of k-fold randomized response with a failure
// probability. Theorem 3.3 proves that this is the worst case of all, and the accountant's
// closed form computes it.
func optimalComposition(w *work) (bound, string) {
	r, reason := w.repeated()
	if reason != "" {
		return bound{}, reason
	}
	epsilon := math.Max(r.epsilon, 0x1p-1022) // of (0, δ)-DP mechanisms
	var worst mechanism.Mechanism = mechanism.PureDP{Epsilon: epsilon}
	if r.delta > 0 {
		worst = mechanism.ApproximateDP{Epsilon: epsilon, Delta: r.delta}
	}
	adj := w.composition.Adjacency
	if err := worst.Check(adj); err != nil {
		return bound{}, err.Error()
	}
	a, err := accountant.AskBy(mechanism.Composition{Adjacency: adj,
		Parts: []mechanism.Part{{Mechanism: worst, Count: r.k}}}, w.Question.Question, accountant.PLD)
	if err != nil {
		return bound{}, err.Error()
	}
	return bound{epsilon: a.Epsilon, logDelta: a.LogDelta}, a.Analyses[0].Unsupported
}

// logAddUp returns a float64 ≥ ln(e^a + e^b), at most 0.
func logAddUp(a, b float64) float64 {
	if math.IsInf(a, -1) {
		return math.Min(0, b)
	}
	v := num.LogAddExp(a, b)
	return math.Min(0, num.UpBy(v, 8*num.Ulp*math.Max(math.Abs(v), math.Abs(math.Max(a, b)))))
}
