// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/loss/selection"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// numberOfRuns is P(n = k) for k = 0, 1, …, by its definition (Papernot–Steinke 2022,
// Def. 1 and Thm 6), until what is left is below 1e−14.
func numberOfRuns(m mechanism.RepeatAndSelect) []float64 {
	if m.Mean > 0 {
		p := []float64{math.Exp(-m.Mean)}
		for k := 1; k < 2000; k++ {
			p = append(p, p[k-1]*m.Mean/float64(k))
		}
		return p
	}
	p, factor := []float64{0}, 1.0
	for k := 1; k < 20000; k++ {
		l := float64(k - 1)
		if m.Eta == 0 {
			p = append(p, math.Pow(1-m.Gamma, float64(k))/(float64(k)*math.Log(1/m.Gamma)))
			continue
		}
		factor *= (l + m.Eta) / (l + 1) * (1 - m.Gamma)
		p = append(p, factor/(math.Pow(m.Gamma, -m.Eta)-1))
	}
	return p
}

// The largest divergence of the best of n runs of k-ary randomized response, computed
// from the definition for every order of the answers, is below the bound, and the mean is
// the bound's.
func TestSelectionBoundsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := mechanism.RepeatAndSelect{}
		if rapid.Bool().Draw(t, "Poisson") {
			m.Mean = math.Exp(rapid.Float64Range(-2, 4).Draw(t, "ln mean"))
		} else {
			m.Gamma = rapid.Float64Range(0.01, 0.95).Draw(t, "γ")
			m.Eta = rapid.SampledFrom([]float64{-0.5, 0, 0.3, 1, 3}).Draw(t, "η")
		}
		k := rapid.IntRange(2, 5).Draw(t, "k")
		e0 := math.Exp(rapid.Float64Range(-3, 1).Draw(t, "ln ε0"))
		m.Mechanism = mechanism.RandomizedResponse{Epsilon: e0, Buckets: uint64(k)}
		runs := numberOfRuns(m)
		// f(y + d) − f(y), all terms positive.
		rise := func(y, d float64) (sum float64) {
			power, diff := 1.0, 0.0 // y^k, (y+d)^k − y^k
			for _, p := range runs {
				sum += p * diff
				diff = (y+d)*diff + d*power
				power *= y
			}
			return sum
		}
		first, second := rapid.IntRange(0, k-1).Draw(t, "truth"), rapid.IntRange(0, k-1).Draw(t, "other truth")
		// Of the best of all runs, answers ranked by their number.
		best := func(truth int) []float64 {
			whole := math.Exp(e0) + float64(k-1)
			out, below := []float64{runs[0]}, 0.0
			for i := range k {
				p := 1 / whole
				if i == truth {
					p = math.Exp(e0) / whole
				}
				out = append(out, rise(below, p))
				below += p
			}
			return out
		}
		s := math.Exp(rapid.Float64Range(-3, 4).Draw(t, "ln s"))
		p, q := best(first), best(second)
		var sum num.LogSum // e^K overflows
		most := math.Inf(-1)
		for i := range p {
			if p[i] > 0 {
				sum.Add((1+s)*math.Log(p[i]) - s*math.Log(q[i]))
				most = math.Max(most, math.Log(p[i])-math.Log(q[i]))
			}
		}
		exact := sum.Log()
		l, err := kinds.Of(m, mechanism.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		bound := l.Cumulant(loss.Remove, s, nil).Upper()
		if !(exact <= bound+1e-9*(1+s)) {
			t.Fatalf("%v: K(%v) = %v, bound %v", m, s, exact, bound)
		}
		e := l.Facts().Epsilon
		if math.IsInf(e, 1) || most > l.MaxLoss(loss.Remove)+1e-9 || l.MaxLoss(loss.Remove) > e {
			t.Fatalf("%v: ε = %v, a loss of %v", m, e, most)
		}
		if m.Mean == 0 {
			if bound > s*(l.MaxLoss(loss.Remove))+math.Log(selection.MeanOf(l))+1e-9*(1+bound) {
				t.Fatalf("%v: ε = %v, K(%v) = %v ≤ %v", m, e, s, exact, bound)
			}
		}
		var mean float64
		for n, p := range runs {
			mean += float64(n) * p
		}
		if got := selection.MeanOf(l); m.Gamma > 0.02 && math.Abs(got-mean) > 1e-6*mean {
			t.Fatalf("%v: mean %v, want %v", m, got, mean)
		}
	})
}

// What a pair of runs loses is below the bound by its own supremum C, whatever the pair:
// the theorem of docs/math/best-of.md §1.6 with nothing else to hide behind.
func TestSelectionOfAnyPair(t *testing.T) {
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
		p, q := draw("ln p", 6), draw("ln q", 6)
		s := math.Exp(rapid.Float64Range(-4, 3).Draw(t, "ln s"))
		mean := math.Exp(rapid.Float64Range(-2, 3).Draw(t, "ln mean"))
		// f(x + d) − f(x), ln f'(x) and f(0), of Poisson …
		rise := func(x, d float64) float64 { return math.Exp(mean*(x-1)) * math.Expm1(mean*d) }
		slope := func(x float64) float64 { return math.Log(mean) + mean*(x-1) }
		none := math.Exp(-mean)
		if rapid.Bool().Draw(t, "negative binomial") { // … or this, f' ∝ (1 − (1−γ)x)^{−η−1}
			g, eta := rapid.Float64Range(0.01, 0.95).Draw(t, "γ"),
				rapid.SampledFrom([]float64{-0.9, -0.5, 0.3, 1, 3}).Draw(t, "η")
			rest := func(x float64) float64 { return math.Log1p(-(1 - g) * x) }
			rise = func(x, d float64) float64 {
				return math.Exp(-eta*rest(x)) * math.Expm1(-eta*(rest(x+d)-rest(x))) / (math.Pow(g, -eta) - 1)
			}
			slope = func(x float64) float64 { return math.Log(eta*(1-g)/(math.Pow(g, -eta)-1)) - (1+eta)*rest(x) }
			none = 0
			if eta < 0 {
				slope = func(x float64) float64 { return math.Log(-eta*(1-g)/(1-math.Pow(g, -eta))) - (1+eta)*rest(x) }
			}
		}
		var run, best num.LogSum
		if none > 0 {
			best.Add(math.Log(none))
		}
		most, below, other := math.Inf(-1), 0.0, 0.0
		for i := range p {
			run.Add((1+s)*math.Log(p[i]) - s*math.Log(q[i]))
			best.Add((1+s)*math.Log(rise(below, p[i])) - s*math.Log(rise(other, q[i])))
			for j := range 401 { // an event between two outcomes, split at random
				x := float64(j) / 400
				most = math.Max(most, (1+s)*slope(below+x*p[i])-s*slope(other+x*q[i]))
			}
			below, other = below+p[i], other+q[i]
		}
		exact, bound := best.Log(), selection.BestOf(most, math.Max(0, run.Log()))
		if exact > bound+1e-3*bound+1e-9*(1+s) { // the supremum is of a grid
			t.Fatalf("K' = %v, bound %v of C = e^%v, K = %v", exact, bound, most, run.Log())
		}
	})
}

// ε-DP runs make at most (2+η)ε-DP (Papernot–Steinke 2022, Cor. 3), and the geometric
// distribution of DP runs loses more than one run.
func TestSelectionOfPureDP(t *testing.T) {
	for _, eta := range []float64{-0.5, 0, 1, 2} {
		for _, e := range []float64{0.01, 1, 5} {
			l, err := kinds.Of(mechanism.RepeatAndSelect{Mechanism: mechanism.PureDP{Epsilon: e}, Gamma: 0.1, Eta: eta},
				mechanism.ZeroOut)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Facts().Epsilon; got > (2+eta)*e*(1+1e-12) || got < e {
				t.Errorf("η=%v ε=%v: %v", eta, e, got)
			}
		}
	}
}

// Failures add up over the runs; where the directions fail differently nothing is known.
func TestSelectionOfFailures(t *testing.T) {
	runs := func(m mechanism.Mechanism) loss.Loss {
		l, err := kinds.Of(mechanism.RepeatAndSelect{Mechanism: m, Gamma: 0.125, Eta: 1}, mechanism.AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	with, without := runs(mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-7}), runs(mechanism.PureDP{Epsilon: 1})
	if a := with.Facts().InfinityMass; math.Abs(a/8e-7-1) > 1e-12 || a < 8e-7 { // E[n] = 1/γ
		t.Errorf("atom %v, want 8e−7", a)
	}
	if a, b := with.Cumulant(loss.Remove, 3, nil).K, without.Cumulant(loss.Remove, 3, nil).K; a != b {
		t.Errorf("K = %v, without failures %v", a, b)
	}
	table := mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(1), Masses: mechanism.NumbersOf(1)}
	if k := runs(table).Cumulant(loss.Add, 1, nil).K; !math.IsInf(k, 1) {
		t.Errorf("K = %v of a table with masses that are missing", k)
	}
	if k := runs(mechanism.ApproximateDP{Epsilon: 1, Delta: 0.4}).Cumulant(loss.Add, 1, nil).K; !math.IsInf(k, 1) {
		t.Errorf("K = %v where every other run fails", k)
	}
}

// The bound holds the oracle's exact sums, and is not far above them where runs lose much.
func TestSelectionsAgainstOracle(t *testing.T) {
	var data struct {
		Rows []struct {
			Mechanism losstest.Mechanism
			Adjacency losstest.Adjacency
			Mean      losstest.Number
			Points    []struct{ S, K losstest.Number }
		}
	}
	losstest.Read(t, "../testdata/selections.json", &data)
	if len(data.Rows) < 15 {
		t.Fatalf("%d rows", len(data.Rows))
	}
	for _, r := range data.Rows {
		l, err := kinds.Of(r.Mechanism.Mechanism, mechanism.Adjacency(r.Adjacency))
		if err != nil {
			t.Fatal(err)
		}
		if got := selection.MeanOf(l); math.Abs(got/r.Mean.Value-1) > 1e-10 {
			t.Errorf("%v: mean %v, want %v", r.Mechanism, got, r.Mean.Value)
		}
		for _, p := range r.Points {
			bound := l.Cumulant(loss.Remove, p.S.Value, nil).Upper()
			if bound < p.K.Value {
				t.Errorf("%v: K(%v) = %v, bound %v", r.Mechanism, p.S.Value, p.K.Value, bound)
			}
			m := r.Mechanism.Mechanism.(mechanism.RepeatAndSelect)
			if most := p.S.Value*(2+m.Eta)*m.Mechanism.(mechanism.RandomizedResponse).Epsilon +
				math.Log(r.Mean.Value); m.Mean == 0 && bound > most+1e-9 {
				t.Errorf("%v: K(%v) ≤ %v, of pure DP %v", r.Mechanism, p.S.Value, bound, most)
			}
		}
	}
}
