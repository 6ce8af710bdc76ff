// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/selection"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// published is what is published of at most so many runs until one of the first good outputs of p comes,
// or ⊥, which is last: added up run by run, until what is left is below 1e−17.
func published(p []float64, good int, gamma float64, most int) []float64 {
	out := make([]float64, good+1)
	bad := 0.0
	for _, v := range p[good:] {
		bad += v
	}
	left := 1.0
	for run := 0; run < most && left > 1e-17; run++ {
		for i := range good {
			out[i] += left * p[i]
		}
		out[good] += left * bad * gamma
		left *= bad * (1 - gamma)
	}
	out[good] += left
	return out
}

// divergence is K(s) of two distributions, and the largest loss.
func divergence(p, q []float64, s float64) (k, largest float64) {
	var sum num.LogSum
	largest = math.Inf(-1)
	for i := range p {
		if p[i] > 0 {
			sum.Add((1+s)*math.Log(p[i]) - s*math.Log(q[i]))
			largest = math.Max(largest, math.Log(p[i]/q[i]))
		}
	}
	return sum.Log(), largest
}

// The first good one of runs with a privacy-loss table as their pair, in both directions and whatever
// counts as good, is below the bound.
func TestFirstAboveThreshold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "outcomes")
		draw := func(name string, width float64) []float64 {
			out, sum := make([]float64, n), 0.0
			for i := range out {
				out[i] = math.Exp(rapid.Float64Range(-width, 0).Draw(t, name))
				sum += out[i]
			}
			for i := range out {
				out[i] /= sum
			}
			return out
		}
		width := rapid.SampledFrom([]float64{0.1, 1, 6}).Draw(t, "width")
		p, q := draw("ln p", width), draw("ln q", width)
		good := rapid.IntRange(1, n-1).Draw(t, "good")
		gamma := rapid.SampledFrom([]float64{1e-3, 0.05, 0.3, 0.9}).Draw(t, "γ")
		s := math.Exp(rapid.Float64Range(-4, 3).Draw(t, "ln s"))

		// The run as a guarantee of Rényi differential privacy at many orders, and as pure DP.
		_, there := divergence(p, q, 1)
		_, back := divergence(q, p, 1)
		var orders, epsilons []float64
		for x := -6.0; x <= 9; x += 0.25 {
			at := math.Exp(x)
			a, _ := divergence(p, q, at)
			b, _ := divergence(q, p, at)
			orders, epsilons = append(orders, 1+at), append(epsilons, math.Max(a, b)/at*(1+1e-9)+1e-12)
		}
		a, b := published(p, good, gamma, math.MaxInt), published(q, good, gamma, math.MaxInt)
		exact, largest := divergence(a, b, s)
		for _, run := range []mechanism.Mechanism{
			mechanism.RenyiDP{Orders: mechanism.NumbersOf(orders...), Epsilons: mechanism.NumbersOf(epsilons...)},
			mechanism.PureDP{Epsilon: math.Max(there, back)},
		} {
			l, err := kinds.Of(mechanism.RepeatAndSelect{Mechanism: run, Gamma: gamma, FirstAboveThreshold: true},
				mechanism.ReplaceOne)
			if err != nil {
				t.Fatal(err)
			}
			if bound := l.Cumulant(loss.Remove, s, nil).Upper(); !(exact <= bound+1e-9*(1+s)) {
				t.Fatalf("%v and %v, γ = %v: K(%v) = %v, the bound of %v %v", p, q, gamma, s, exact, run, bound)
			}
			if !(largest <= l.MaxLoss(loss.Remove)+1e-9) {
				t.Fatalf("%v and %v, γ = %v: a loss of %v above %v", p, q, gamma, largest, l.MaxLoss(loss.Remove))
			}
			if got := selection.MeanOf(l); !(got >= 1/gamma && got <= (1+1e-12)/gamma) {
				t.Fatalf("m/γ of failures, with %v for 1/%v", got, gamma)
			}
		}
	})
}

// The largest loss is attained: a rare good output that is e^ε times likelier on one dataset, where
// good outputs together are e^ε times likelier on the other.
func TestFirstAboveThresholdIsAttained(t *testing.T) {
	for _, epsilon := range []float64{1e-6, 0.1, 1, 5} {
		for _, gamma := range []float64{1e-6, 0.1, 0.9} {
			l, err := kinds.Of(mechanism.RepeatAndSelect{Mechanism: mechanism.PureDP{Epsilon: epsilon}, Gamma: gamma,
				FirstAboveThreshold: true}, mechanism.ReplaceOne)
			if err != nil {
				t.Fatal(err)
			}
			// Z and Z′ of the limit in which the rare output is.
			p, rare := 1/(1+math.Exp(epsilon)), epsilon
			z, other := gamma+(1-gamma)*p, gamma+(1-gamma)*p*math.Exp(epsilon)
			want := rare + math.Log(other/z)
			if got := l.MaxLoss(loss.Remove); !(got >= want*(1-1e-9) && got <= want*(1+1e-9)) {
				t.Errorf("ε = %v, γ = %v: %v, attained is %v", epsilon, gamma, got, want)
			}
			if got := l.Facts().Epsilon; !(got < 2*epsilon) {
				t.Errorf("ε = %v, γ = %v: %v, Liu and Talwar have 2ε", epsilon, gamma, got)
			}
		}
	}
}

// Where runs also end after n of them, all but a part of probability (1−γ)ⁿ is as without that limit: what
// name_and_shame with this δ stands for.
func TestLimitedRunsFailRarely(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := make([]float64, rapid.IntRange(2, 5).Draw(t, "outcomes"))
		sum := 0.0
		for i := range p {
			p[i] = math.Exp(rapid.Float64Range(-9, 0).Draw(t, "ln p"))
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		good := rapid.IntRange(1, len(p)-1).Draw(t, "good")
		gamma := rapid.SampledFrom([]float64{1e-3, 0.05, 0.3, 0.9}).Draw(t, "γ")
		most := rapid.IntRange(1, 40).Draw(t, "most runs")
		limited, free := published(p, good, gamma, most), published(p, good, gamma, math.MaxInt)
		rest := -math.Expm1(float64(most) * math.Log1p(-gamma)) // 1 − (1−γ)ⁿ
		for i := range free {
			if !(limited[i] >= rest*free[i]*(1-1e-12)-1e-15) {
				t.Fatalf("%v, γ = %v, %d runs: output %d has probability %v of %v without a limit", p, gamma, most, i,
					limited[i], free[i])
			}
		}
	})
}

// Without that event a limit breaks the bound: nearly all runs of ε = 1 are bad on one dataset, and
// twenty runs are over long before the coin of probability 1e−12 says so.
func TestLimitedRunsLoseMore(t *testing.T) {
	const gamma, most = 1e-12, 20
	p, q := []float64{1e-9, 1 - 1e-9}, []float64{1 - (1-1e-9)/math.E, (1 - 1e-9) / math.E}
	_, largest := divergence(published(p, 1, gamma, most), published(q, 1, gamma, most), 1)
	l, err := kinds.Of(mechanism.RepeatAndSelect{Mechanism: mechanism.PureDP{Epsilon: 1}, Gamma: gamma,
		FirstAboveThreshold: true}, mechanism.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	if bound := l.MaxLoss(loss.Remove); !(bound <= 2 && largest > 9*bound) {
		t.Errorf("a loss of %v with a limit, %v without", largest, bound)
	}
}

// Runs with Gaussian noise whose output itself is the score: with t the threshold, the good part of
// ∫ P^{1+s}·Q^{−s} is e^{s(s+1)μ²/2} times the normal tail beyond t − (1+s)μ.
func TestGaussianRunsAboveThreshold(t *testing.T) {
	tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-6, 1).Draw(t, "ln μ"))
		gamma := rapid.SampledFrom([]float64{1e-9, 1e-3, 0.1, 0.5, 0.999}).Draw(t, "γ")
		l, err := kinds.Of(mechanism.RepeatAndSelect{Mechanism: mechanism.GaussianDP{Mu: mu}, Gamma: gamma,
			FirstAboveThreshold: true}, mechanism.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			s := math.Exp(rapid.Float64Range(-4, 3).Draw(t, "ln s"))
			threshold := rapid.Float64Range(-4, 6).Draw(t, "threshold")
			good := [2]float64{tail(threshold - mu), tail(threshold)}
			bad := [2]float64{tail(mu - threshold), tail(-threshold)}
			from, to, mean := 0, 1, (1+s)*mu
			if rapid.Bool().Draw(t, "the other direction") {
				from, to, mean = 1, 0, -s*mu
			}
			var sum num.LogSum
			sum.Add(s*(s+1)*mu*mu/2 + math.Log(tail(threshold-mean)))
			sum.Add(math.Log(gamma) + (1+s)*math.Log(bad[from]) - s*math.Log(bad[to]))
			last := func(i int) float64 { return math.Log(gamma + (1-gamma)*good[i]) }
			exact := sum.Log() + s*last(to) - (1+s)*last(from)
			if bound := l.Cumulant(loss.Remove, s, nil).Upper(); !(exact <= bound+1e-11*(1+s)) {
				t.Fatalf("μ = %v, γ = %v, threshold %v: K(%v) = %v, the bound is %v", mu, gamma, threshold, s,
					exact, bound)
			}
		}
	})
}
