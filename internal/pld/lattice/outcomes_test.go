// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"math/big"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
	"pgregory.net/rapid"
)

// exactOutcome is what P and Q give an outcome.
type exactOutcome struct{ p, q *big.Float }

// exactDelta is Σ (p − e^ε·q)₊.
func exactDelta(all []exactOutcome, epsilon float64) *big.Float {
	sum, e := exact(0), exactExp(exact(epsilon))
	for _, o := range all {
		if d := exactSub(o.p, exactMul(e, o.q)); d.Sign() > 0 {
			sum = exactSum(sum, d)
		}
	}
	return sum
}

// drawOutcomes draws a mechanism with few outcomes and lists them: k-ary
// randomized response (k = 2: pure DP), given an infinite loss with probability
// delta0 (Kairouz–Oh–Viswanath 2015).
func drawOutcomes(t *rapid.T) (loss.Loss, []exactOutcome) {
	epsilon := rapid.SampledFrom([]float64{0.05, 0.1, 0.3, math.Pi / 7, 1, 2.5}).Draw(t, "ε0")
	if rapid.Bool().Draw(t, "any") {
		epsilon = math.Exp(rapid.Float64Range(-7, 3).Draw(t, "ln ε0"))
	}
	m, adj := mechanism.Mechanism(mechanism.PureDP{Epsilon: epsilon}), mechanism.AddOrRemoveOne
	k, delta0 := 2.0, 0.0
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		delta0 = 1e-3
		m = mechanism.ApproximateDP{Epsilon: epsilon, Delta: delta0}
	case 1:
		k = 5
		m, adj = mechanism.RandomizedResponse{Epsilon: epsilon, Buckets: 5}, mechanism.ReplaceOne
	}
	finite := exactSub(exact(1), exact(delta0))
	e := exactExp(exact(epsilon))
	low := exactDiv(finite, exactSum(e, exact(k-1)))
	high := exactMul(low, e)
	all := []exactOutcome{{high, low}, {low, high}}
	if k > 2 {
		rest := exactMul(low, exact(k-2))
		all = append(all, exactOutcome{rest, rest})
	}
	if delta0 > 0 {
		all = append(all, exactOutcome{exact(delta0), exact(0)}, exactOutcome{exact(0), exact(delta0)})
	}
	return pldtest.Loss(t, m, adj), all
}

// Mixtures of atoms of any size, sampled or not, in blocks or not, against all
// their outcomes in 320 bits, without slack.
func TestLatticeAgainstAllOutcomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &problem{maxLoss: math.Inf(1)}
		d := rapid.SampledFrom([]loss.Direction{loss.Remove, loss.Add}).Draw(t, "direction")
		all := []exactOutcome{{exact(1), exact(1)}}
		for left := 5; left > 0 && (left > 2 || rapid.Bool().Draw(t, "more")); {
			l, outcomes := drawOutcomes(t)
			upper, ok := loss.PairOf(l, d, loss.Dominating, nil)
			lower, okLow := loss.PairOf(l, d, loss.Dominated, nil)
			if !ok || !okLow {
				t.Fatal("no pair")
			}
			if rapid.IntRange(0, 2).Draw(t, "sampled") == 0 {
				rate := rapid.Float64Range(0.001, 0.9).Draw(t, "rate")
				upper, lower = poisson.SampledPair(upper, rate, d), poisson.SampledPair(lower, rate, d)
				for i, o := range outcomes {
					mix := exactSum(exactMul(exactSub(exact(1), exact(rate)), o.q), exactMul(exact(rate), o.p))
					if outcomes[i].p = mix; d == loss.Add {
						mix = exactSum(exactMul(exactSub(exact(1), exact(rate)), o.p), exactMul(exact(rate), o.q))
						outcomes[i] = exactOutcome{o.p, mix}
					}
				}
			}
			n := rapid.IntRange(1, min(left, 3)).Draw(t, "count")
			left -= n
			p.add(upper, lower, float64(n))
			for range n {
				var next []exactOutcome
				for _, x := range all {
					for _, y := range outcomes {
						if z := (exactOutcome{exactMul(x.p, y.p), exactMul(x.q, y.q)}); z.p.Sign() > 0 {
							next = append(next, z)
						}
					}
				}
				all = next
			}
		}
		p.block()
		infinite := exact(0)
		for _, o := range all {
			if o.q.Sign() == 0 {
				infinite = exactSum(infinite, o.p)
			}
		}
		lost, _ := infinite.Float64()
		p.atom = loss.Bounds{Lower: math.Log(lost), Upper: math.Log(lost)}
		if lost > 0 {
			p.atom.Lower, p.atom.Upper = p.atom.Lower-1e-12, p.atom.Upper+1e-12
		}
		o := all[rapid.IntRange(0, len(all)-1).Draw(t, "outcome")]
		epsilon := rapid.Float64Range(0, 12).Draw(t, "ε")
		if ratio, _ := exactDiv(o.p, exactSum(o.q, exact(1e-300))).Float64(); ratio >= 1 && ratio < 1e100 &&
			rapid.Bool().Draw(t, "at an outcome") {
			epsilon = math.Log(ratio)
		}
		want := exactDelta(all, epsilon)
		b, _ := p.solve(&question{epsilon: epsilon, gap: 0.05}, math.Inf(-1), nil)
		if exactExp(exact(b.Upper)).Cmp(want) < 0 ||
			!math.IsInf(b.Lower, -1) && exactExp(exact(b.Lower)).Cmp(want) > 0 {
			t.Errorf("ln δ(%v) in [%v, %v], all outcomes say %v", epsilon, b.Lower, b.Upper, want.Text('g', 20))
		}
		delta, _ := want.Float64()
		if !(delta > 0 && delta < 1) {
			return
		}
		e, _ := p.solve(&question{byDelta: true, delta: delta, gap: 1e-3}, math.Inf(-1), nil)
		if !math.IsInf(e.Upper, 1) && exactDelta(all, e.Upper).Cmp(exact(delta)) > 0 ||
			math.IsInf(e.Lower, 1) && infinite.Cmp(exact(delta)) < 0 ||
			!math.IsInf(e.Lower, 1) && e.Lower > 0 && exactDelta(all, e.Lower).Cmp(exact(delta)) < 0 {
			t.Errorf("ε(%v) in [%v, %v], all outcomes say %v", delta, e.Lower, e.Upper, epsilon)
		}
	})
}
