// SPDX-License-Identifier: Apache-2.0

package loss_test

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// drawGuarantee draws ρ, maybe 0, and up to four orders of a table with convex K.
func drawGuarantee(t *rapid.T) loss.Guarantee {
	rho := 0.0
	if rapid.Bool().Draw(t, "with ρ") {
		rho = math.Exp(rapid.Float64Range(-12, 2).Draw(t, "ln ρ"))
	}
	least := 0
	if rho == 0 {
		least = 1
	}
	var knots []loss.Knot
	at, slope := loss.Knot{}, 0.0
	for range rapid.IntRange(least, 4).Draw(t, "orders") {
		step := math.Exp(rapid.Float64Range(-4, 3).Draw(t, "ln step"))
		slope += math.Exp(rapid.Float64Range(-6, 1).Draw(t, "ln slope"))
		at = loss.Knot{S: at.S + step, K: at.K + slope*step}
		knots = append(knots, at)
	}
	return loss.NewGuarantee(rho, knots)
}

// Right of ℓ* the pair's curve is the conversion at the best of all orders, found here
// by trying many; left of it the curve lies below.
func TestGuaranteePairIsTheConversion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGuarantee(t)
		starts, slope, ok := g.Begins()
		if !ok {
			t.Fatalf("no pair of %+v", g)
		}
		_, knots, _ := g.Parts()
		width := starts
		if width < 0 {
			width = slope + 1
		}
		epsilon := width * rapid.Float64Range(0.1, 4).Draw(t, "ε over the width")
		end := 1e6
		if n := len(knots); n > 0 {
			end = knots[n-1].S
		}
		best := loss.LogDeltaAt(end, g.Bound(end).K, epsilon)
		for i := range 4000 {
			s := math.Min(end, math.Exp(-12+float64(i)*26/4000))
			best = math.Min(best, loss.LogDeltaAt(s, g.Bound(s).K, epsilon))
		}
		for _, k := range knots {
			best = math.Min(best, loss.LogDeltaAt(k.S, g.Bound(k.S).K, epsilon))
		}
		if best < -50 {
			return
		}
		got := math.Log(losstest.Hockey(g.Pair(), epsilon, 4000))
		if epsilon > starts && math.Abs(got-best) > 3e-5*(1-best) || got > best+1e-9*(1-best) {
			t.Fatalf("%+v: ln δ(%v) = %v, by conversion %v, ℓ* = %v", g, epsilon, got, best, starts)
		}
		if log, ok := g.LogDelta(epsilon); ok != (epsilon < starts) || ok && math.Abs(log-got) > 1e-8*(1-got) {
			t.Fatalf("%+v: ln δ(%v) = %v by the chord, %v of the pair", g, epsilon, log, got)
		} else if e, ok2 := g.Epsilon(log); ok && (!ok2 || math.Abs(e-epsilon) > 1e-8*(1+epsilon)) {
			t.Fatalf("%+v: ε(e^%v) = %v, want %v", g, log, e, epsilon)
		}
	})
}

// A pair's masses are what lies above its losses: the pair's own moments are finite and
// at least what the tightest members have.
func TestGuaranteeDominatesGaussian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-3, 1).Draw(t, "ln μ"))
		var knots []loss.Knot
		for s := 0.05; s < 300; s *= rapid.Float64Range(1.05, 4).Draw(t, "ratio") {
			knots = append(knots, loss.Knot{S: s, K: s * (s + 1) * mu * mu / 2})
		}
		p := loss.TabledGuarantee(loss.Hull(knots)).Pair()
		epsilon := mu * (mu + 4) * rapid.Float64Range(-1, 1).Draw(t, "ε")
		normal, _ := loss.GaussianLogDelta(mu, epsilon)
		if above, below := losstest.Hockey(p, epsilon, 2000), math.Exp(normal.Lower); above < below*(1-1e-9)-1e-12 {
			t.Fatalf("μ=%v ε=%v: δ = %v of the table, Gaussian %v", mu, epsilon, above, below)
		}
	})
}

func lossOf(t *testing.T, m mechanism.Mechanism) loss.Loss {
	l, err := kinds.Of(m, mechanism.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A bound on K whose slope is so large that one more is the same number has no pair, and that is found out.
func TestGuaranteeWithoutPair(t *testing.T) {
	for _, slope := range []float64{1e3, 0x1p53, 1e100, 1e300} {
		g := loss.NewGuarantee(0, []loss.Knot{{S: 1, K: slope}})
		if starts, _, ok := g.Begins(); ok {
			t.Errorf("slope %v: the pair begins at %v; want none, as its slope is above 700", slope, starts)
		}
	}
}

// A table is cut down to its convex hull, whatever it says in between: 2·1 at s = 2 is
// above the line from 0 to 1 at s = 4.
func TestRenyiTableIsItsHull(t *testing.T) {
	r := lossOf(t,
		mechanism.RenyiDP{Orders: mechanism.NumbersOf(2, 3, 5, 9), Epsilons: mechanism.NumbersOf(0.5, 1, 0.25, 1)})
	for _, c := range []struct{ s, want float64 }{{0, 0}, {1, 0.25}, {2, 0.5}, {4, 1}, {6, 4.5}, {8, 8},
		{8.001, math.Inf(1)}, {-0.1, math.Inf(1)}} {
		if v := r.Cumulant(loss.Add, c.s, nil); math.Abs(v.K-c.want) > v.Err && v.K != c.want {
			t.Errorf("K(%v) = %v ± %v, want %v", c.s, v.K, v.Err, c.want)
		}
	}
	c := loss.Composition{{Loss: r, Count: 3}}
	if got := c.Knots(5); len(got) != 2 || got[0] != 4 || got[1] != 8 {
		t.Errorf("knots %v", got)
	}
}

// Sums of tables end where the shortest does and are sums before that; what is known by
// any bound counts, zCDP and atoms apart.
func TestDeclaredSum(t *testing.T) {
	a := lossOf(t, mechanism.RenyiDP{Orders: mechanism.NumbersOf(2, 10), Epsilons: mechanism.NumbersOf(0.1, 1)})
	b := lossOf(t,
		mechanism.RenyiDP{Orders: mechanism.NumbersOf(1.5, 4, 6), Epsilons: mechanism.NumbersOf(0.1, 0.3, 0.5)})
	best := lossOf(t, mechanism.RepeatAndSelect{Mechanism: mechanism.GaussianDP{Mu: 1}, Gamma: 0.1, Eta: 1})
	c := loss.Composition{{Loss: a, Count: 3}, {Loss: b, Count: 2},
		{Loss: lossOf(t, mechanism.ZeroConcentratedDP{Rho: 0.1, Delta: 1e-3}), Count: 4}, {Loss: best, Count: 5},
		{Loss: pairs.NewLaplace(1, false), Count: 7}}
	rest, g, ok := c.Declared(nil)
	_, knots, atom := g.Parts()
	if !ok || len(rest) != 1 || rest[0] != c[4] {
		t.Fatalf("rest %+v", rest)
	}
	if want := -math.Expm1(4 * math.Log1p(-1e-3)); math.Abs(atom/want-1) > 1e-13 || atom < want {
		t.Errorf("atom %v, want %v", atom, want)
	}
	if end := knots[len(knots)-1].S; end > 5 || end < 4.2 { // best is tabulated at 10^{5/8}
		t.Errorf("known up to %v", end)
	}
	for _, k := range knots {
		least, most := c[:3].Cumulant(loss.Remove, k.S, nil).K, c[:4].Cumulant(loss.Remove, k.S, nil).K
		if got := g.Bound(k.S).K; got < least*(1-1e-12) || got > most*1.1 {
			t.Errorf("K(%v) = %v, sum %v without the selection, %v with it", k.S, got, least, most)
		}
	}
}
