// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"math"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// amplification is basic composition of guarantees (ε_j, δ_j) that sampling has lowered.
func amplification(w *work) (bound, string) {
	adj := w.composition.Adjacency
	var epsilon, delta float64
	sampled := false
	for _, p := range w.composition.Parts {
		m, q := p.Mechanism, 1.0
		if s, ok := m.(mechanism.PoissonSampled); ok {
			if adj != mechanism.AddOrRemoveOne {
				return bound{}, "adjacency " + adj.String() +
					"; it is false where the record's place in the batch is taken"
			}
			m, q, sampled = s.Mechanism, s.Probability(), true
		}
		one, err := kinds.Compose(mechanism.Composition{Adjacency: adj,
			Parts: []mechanism.Part{{Mechanism: m, Count: 1}}})
		if err != nil {
			return bound{}, err.Error()
		}
		var e, d float64 // of one application, by basic composition
		for i, f := range one.Facts() {
			if math.IsInf(f.Epsilon, 1) {
				return bound{}, noEpsilon(f)
			}
			n := num.Count(one[i].Count)
			e, d = num.AddUp(e, num.MulUp(n, f.Epsilon)), num.AddUp(d, num.MulUp(n, f.Failing().InfinityMass))
		}
		n := num.Count(p.Count)
		epsilon = num.AddUp(epsilon, num.MulUp(n, amplified(e, q)))
		delta = num.AddUp(delta, num.MulUp(n, num.MulUp(q, d)))
	}
	if !sampled {
		return bound{}, "nothing is Poisson-sampled"
	}
	return w.by(func(d float64) bound {
		if d < delta {
			return bound{epsilon: math.Inf(1)}
		}
		return bound{epsilon: epsilon}
	}, func(e float64) bound {
		if e < epsilon {
			return bound{}
		}
		return bound{logDelta: math.Min(0, num.LogUp(delta))}
	}), ""
}

// amplified returns ln(1 + q(e^ε − 1)), rounded up and at most ε.
func amplified(epsilon, q float64) float64 {
	return math.Min(epsilon, num.Log1pUp(num.MulUp(q, num.Expm1Up(epsilon))))
}

// groupOf walks from one dataset to the other in k neighbouring steps. At each ε, δ grows by
// the factor Σ_{i<k} e^{iε}.
func groupOf(w *work) (bound, string) {
	var session accountant.Session
	ask := func(epsilon float64) (float64, error) {
		q := accountant.AtEpsilon(epsilon)
		q.MaxGap, q.Stop = w.MaxGap, w.Stop
		a, err := session.Tightest(w.composition, q)
		if err != nil {
			return 0, err
		}
		return logGroup(w.GroupSize, epsilon, a.LogDelta), nil
	}
	k := num.Count(w.GroupSize)
	if w.Epsilon != nil {
		one := *w.Epsilon / k
		if num.MulUp(k, one) > *w.Epsilon {
			one = math.Max(0, num.Down(one))
		}
		v, err := ask(one)
		return bound{logDelta: v}, text(err)
	}
	// Any ε will do; the least is looked for.
	target := num.LogDown(*w.Delta)
	ok := func(epsilon float64) bool {
		v, err := ask(epsilon)
		return err == nil && v <= target
	}
	if ok(0) {
		return bound{}, ""
	}
	lo, hi := 0.0, 0x1p-20
	for !ok(hi) {
		if lo, hi = hi, 2*hi; hi > 0x1p20 || w.Stop != nil && w.Stop() {
			return bound{epsilon: math.Inf(1)}, ""
		}
	}
	for range 30 {
		if w.Stop != nil && w.Stop() {
			break
		}
		if mid := lo + (hi-lo)/2; ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return bound{epsilon: num.MulUp(k, hi)}, ""
}

// logGroup returns ln[δ·(e^{kε} − 1)/(e^ε − 1)], rounded up and at most 0. At ε = 0 the factor
// is k.
func logGroup(k uint64, epsilon, logDelta float64) float64 {
	n := num.Count(k)
	factor := num.LogUp(n)
	if epsilon > 0 && k > 1 {
		all, one := num.MulUp(n, epsilon), epsilon
		a, b := num.LogExpm1(all), num.LogExpm1(one)
		factor = num.UpBy(a-b, 8*num.Ulp*(all+math.Abs(a)+one+math.Abs(b)))
	}
	return math.Min(0, num.AddUp(logDelta, factor))
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
