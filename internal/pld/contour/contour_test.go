// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/closed"
	"github.com/dpaccountant/accountant/internal/pld/interval"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
	"pgregory.net/rapid"
)

// Of the reference, the workloads without a decaying characteristic function:
// atoms and Laplace alone are not the contour's.
var atomic = map[string]bool{
	"laplace-1": true, "laplace-10": true, "laplace-20": true, "randomized-response-100": true, "pure-dp-50": true,
}

// The reference's relative error is at most 1e−10; the wanted gaps are the
// defaults of interval.Wanted.
func TestContourAgainstReference(t *testing.T) {
	var workloads []losstest.Workload
	losstest.Read(t, "../../accountant/testdata/workloads.json", &workloads)
	const tolerance = 2e-10
	for _, w := range workloads {
		l := pldtest.Workload(t, w)
		low, high := l.InfinityMass()
		for _, r := range w.Truth {
			var b loss.Bounds
			var want, gap, slack float64
			var reason string
			if r.AskedByEpsilon {
				want, gap, slack = math.Log(r.Delta.Value), 1e-5, tolerance
				b, reason = LogDelta(l, r.Epsilon.Value, interval.Wanted{})
				b = loss.Bounds{Lower: loss.LogTotalDown(b.Lower, low), Upper: loss.LogTotal(b.Upper, high)}
			} else {
				want = r.Epsilon.Value
				gap, slack = 1e-6*math.Max(1, want), tolerance*want
				b, reason = Epsilon(l, num.LogDown(loss.Finite(r.Delta.Value, high)),
					num.LogUp(loss.FiniteUp(r.Delta.Value, low)), interval.Wanted{})
			}
			if reason != "" && !atomic[w.Name] {
				t.Errorf("%s: %s", w.Name, reason)
			}
			if !(b.Lower <= want+slack && want-slack <= b.Upper) {
				t.Errorf("%s at %+v: [%v, %v] does not hold %v", w.Name, r, b.Lower, b.Upper, want)
			}
			if !(b.Upper-want <= gap && want-b.Lower <= gap) && !atomic[w.Name] {
				t.Errorf("%s at %+v: [%v, %v] is wide around %v", w.Name, r, b.Lower, b.Upper, want)
			}
		}
	}
}

// draw returns between one and three groups of releases, of any size that a
// ledger may hold.
func draw(t *rapid.T, some int) (loss.Composition, mechanism.Adjacency) {
	adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne}).Draw(t, "adjacency")
	logs := func(name string, lo, hi float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, name))
	}
	var events []mechanism.Event
	for range rapid.IntRange(1, 3).Draw(t, "groups") {
		var m mechanism.Mechanism
		switch rapid.IntRange(0, some-1).Draw(t, "kind") {
		case 0, 1, 2:
			m = mechanism.PoissonSampled{SamplingProbability: math.Min(1, logs("q", 1e-12, 1)),
				Mechanism: mechanism.Gaussian{NoiseMultiplier: logs("σ", 1e-3, 1e6)}}
		case 3:
			m = mechanism.Gaussian{NoiseMultiplier: logs("σ", 1e-3, 1e6)}
		case 4:
			m = mechanism.Laplace{Scale: logs("scale", 1e-2, 1e4), Sensitivity: 1}
		case 5:
			m = mechanism.PureDP{Epsilon: logs("ε0", 1e-6, 10)}
		}
		events = append(events, mechanism.Event{Mechanism: m, Count: uint32(logs("count", 1, 1e9))})
	}
	c, err := mechanism.Compose(adj, events)
	if err != nil {
		t.Fatal(err)
	}
	l, err := kinds.Compose(c)
	if err != nil {
		t.Fatal(err)
	}
	return l, adj
}

// Skewed and deep cases: ε as the design gives it, to its digits (0.275167679 and
// 106.1759), or only how close the bounds are.
func TestContourReachesItsTargets(t *testing.T) {
	for _, x := range []struct {
		q, sigma       float64
		n              uint32
		delta          float64
		epsilon, digit float64 // 0: unknown
	}{
		{1e-5, 0.7, 1e7, 1e-5, 0.275167679, 1e-9},
		{0.1, 0.3, 100, 1e-5, 106.1759, 1e-4},
		{0.01, 1, 1000, 1e-30, 9.34189563270515, 1e-9}, // the reference's dpsgd-1000
		{0.01, 1, 1000, 1e-100, 0, 0},
		{0.01, 1, 1000, 1e-300, 0, 0},
	} {
		l := pldtest.Losses(t, pldtest.SampledSteps(x.q, x.sigma, x.n))
		b, reason := Epsilon(l, num.LogDown(x.delta), num.LogUp(x.delta), interval.Wanted{})
		if reason != "" {
			t.Errorf("%+v: %s", x, reason)
			continue
		}
		if gap := 1e-6 * math.Max(1, b.Upper); !(b.Lower <= b.Upper && b.Upper-b.Lower <= gap) {
			t.Errorf("%+v: [%v, %v], wanted a gap of %v", x, b.Lower, b.Upper, gap)
		}
		if x.epsilon > 0 && !(b.Lower <= x.epsilon+x.digit && x.epsilon-x.digit <= b.Upper) {
			t.Errorf("%+v: [%v, %v]", x, b.Lower, b.Upper)
		}
	}
}

// The add direction's losses are bounded, where 1 − δ is 1 and not 0: with θ < 0
// its alias counts. δ by 30 digits of mpmath, trapezoid rules in z and t with two
// steps and on three lines.
func TestContourKeepsTheAliasOfOneMinusDelta(t *testing.T) {
	p, _ := split(pldtest.Losses(t, pldtest.SampledSteps(0.32465246735834974, 1, 100)))
	b, _, reason := p.logDeltaOf(loss.Add, 1, interval.Wanted{})
	if want := math.Log(0.848791165745912718); reason != "" ||
		!(b.Lower <= want && want <= b.Upper && b.Upper-b.Lower < 1e-6) {
		t.Errorf("[%v, %v], want %v %s", b.Lower, b.Upper, want, reason)
	}
}

// Whatever is asked, the bounds are in order, not above what Rényi's divergence
// proves, and agree with a closed form where there is one.
func TestContourIsSoundEverywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, _ := draw(t, 6)
		logDelta := rapid.Float64Range(-690, -1e-3).Draw(t, "ln δ")
		delta := math.Exp(logDelta)
		down, up := num.LogDown(delta), num.LogUp(delta)
		hurry := rapid.IntRange(0, 9).Draw(t, "hurry") > 0
		b, _ := Epsilon(l, down, up, interval.Wanted{Stop: func() bool { return hurry }})
		if !(b.Lower <= b.Upper) {
			t.Fatalf("%v at δ=%v: %+v", l, delta, b)
		}
		renyi := 0.0
		for _, d := range []loss.Direction{loss.Remove, loss.Add} {
			e, _ := loss.LeastEpsilon(loss.CumulantBound{
				At:   func(s float64) loss.Value { return l.Cumulant(d, s, nil) },
				Last: math.Inf(1)}, down, 0, nil)
			renyi = math.Max(renyi, e)
		}
		if b.Lower > renyi {
			t.Fatalf("%v at δ=%v: lower %v is above Rényi's %v", l, delta, b.Lower, renyi)
		}
		if f, reason := closed.Of(l, nil); reason == "" {
			if c := f.Epsilon(delta); b.Lower > c.Upper || b.Upper < c.Lower {
				t.Fatalf("%v at δ=%v: %+v, closed form %+v", l, delta, b, c)
			}
		}
	})
}

// δ_add(ε) = 1 − e^ε·(1 − δ_remove(−ε)): two contours on different lines, one of
// them of 1 − δ as a rule, hold the same number.
func TestContourDirectionsMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Exp(rapid.Float64Range(math.Log(0.005), math.Log(0.5)).Draw(t, "ln q"))
		sigma := rapid.Float64Range(0.7, 5).Draw(t, "σ")
		n := rapid.Uint32Range(100, 5000).Draw(t, "n")
		epsilon := rapid.Float64Range(0, 2).Draw(t, "ε")
		c, err := mechanism.Compose(mechanism.AddOrRemoveOne, []mechanism.Event{pldtest.SampledSteps(q, sigma, n)})
		if err != nil {
			t.Fatal(err)
		}
		l, err := kinds.Compose(c)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := split(l)
		a, _, reasonA := p.logDeltaOf(loss.Add, epsilon, interval.Wanted{})
		r, _, reasonR := p.logDeltaOf(loss.Remove, -epsilon, interval.Wanted{})
		if reasonA != "" || reasonR != "" {
			t.Skip(reasonA, reasonR)
		}
		low, high := -math.Exp(epsilon)*-math.Expm1(r.Lower), -math.Exp(epsilon)*-math.Expm1(r.Upper)
		slack := 1e-13 * math.Exp(epsilon)
		if math.Exp(a.Lower) > 1+high+slack || math.Exp(a.Upper) < 1+low-slack {
			t.Fatalf("q=%v σ=%v n=%d ε=%v: add [%v, %v], from remove [%v, %v]", q, sigma, n, epsilon,
				math.Exp(a.Lower), math.Exp(a.Upper), 1+low, 1+high)
		}
	})
}
