// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// Of a Gaussian both are known: the risk is π·Φ(−μ/2 + ε/μ) + (1−π)·Φ(−μ/2 − ε/μ) with ε = ln((1−π)/π), as the
// best test is a half line, and the chance of a reconstruction Φ(Φ⁻¹(κ) + μ) (Dong–Roth–Su 2022, eq. 6).
func TestGuessesOfGaussian(t *testing.T) {
	priors := []float64{1e-9, 0.01, 0.3, 0.5, 0.7, 0.999}
	baselines := []float64{0, 1e-6, 0.01, 0.3, 0.9, 1}
	for _, mu := range []float64{0.1, 1, 3} {
		c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: mechanism.GaussianDP{Mu: mu}, Count: 1})
		for _, epsilons := range [][]float64{nil, {1}} {
			curve := askCurve(t, c, CurveQuestion{Epsilons: epsilons, Priors: priors, Baselines: baselines})
			for i, b := range curve.BayesRisks {
				prior := priors[i]
				e := math.Log1p(-prior) - math.Log(prior)
				want := prior*phi(e/mu-mu/2) + (1-prior)*phi(-e/mu-mu/2)
				if !(b.Prior == prior && b.Risk <= want*(1+1e-12) && b.RiskUpper >= want*(1-1e-12)) ||
					b.RiskUpper-b.Risk > 1e-11 {
					t.Errorf("μ = %v: %+v, want %v", mu, b, want)
				}
			}
			for i, r := range curve.Reconstructions {
				want := phi(quantile(baselines[i]) + mu)
				if baselines[i] == 0 || baselines[i] == 1 {
					want = baselines[i]
				}
				if !(r.Baseline == baselines[i] && r.Success >= want*(1-1e-12) && r.SuccessLower <= want*(1+1e-12)) ||
					r.Success-r.SuccessLower > 0.02*want+1e-9 {
					t.Errorf("μ = %v: %+v, want %v", mu, r, want)
				}
			}
		}
	}
}

// Against all outcomes of randomized response of a few kinds: Σ min(π·p, (1−π)·q), and the outcomes with the
// largest p/q that have κ of Q, of which the last is split.
func TestGuessesByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type outcome struct{ p, q float64 }
		all := []outcome{{1, 1}}
		var events []mechanism.Event
		for range rapid.IntRange(1, 4).Draw(t, "releases") {
			e := math.Exp(rapid.Float64Range(-4, 1.5).Draw(t, "ln ε"))
			events = append(events, mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: e}, Count: 1})
			high := 1 / (1 + math.Exp(-e))
			var next []outcome
			for _, o := range all {
				next = append(next, outcome{o.p * high, o.q * (1 - high)}, outcome{o.p * (1 - high), o.q * high})
			}
			all = next
		}
		slices.SortFunc(all, func(a, b outcome) int { return cmp.Compare(b.p/b.q, a.p/a.q) })
		c, err := mechanism.Compose(mechanism.AddOrRemoveOne, events)
		if err != nil {
			t.Fatal(err)
		}
		prior, baseline := rapid.Float64Range(0.001, 0.999).Draw(t, "π"), rapid.Float64Range(0, 1).Draw(t, "κ")
		curve, err := AskCurve(c, CurveQuestion{Points: 20, Priors: []float64{prior}, Baselines: []float64{baseline}})
		if err != nil {
			t.Fatal(err)
		}
		risk, success, left := 0.0, 0.0, baseline
		for _, o := range all {
			risk += math.Min(prior*o.p, (1-prior)*o.q)
			part := math.Min(1, left/o.q)
			success, left = success+part*o.p, left-part*o.q
		}
		b, r := curve.BayesRisks[0], curve.Reconstructions[0]
		if b.Risk > risk*(1+1e-12) || b.RiskUpper < risk*(1-1e-12) || b.RiskUpper-b.Risk > 0.01*min(prior, 1-prior) {
			t.Fatalf("%+v, all outcomes have %v", b, risk)
		}
		if r.Success < success*(1-1e-12) || r.SuccessLower > success*(1+1e-12) || r.Success > success+0.02 {
			t.Fatalf("%+v, all outcomes have %v", r, success)
		}
	})
}
