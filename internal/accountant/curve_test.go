// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

func askCurve(t testing.TB, c mechanism.Composition, q CurveQuestion) Curve {
	t.Helper()
	curve, err := AskCurve(c, q)
	if err != nil {
		t.Fatal(err)
	}
	return curve
}

// phi and quantile are the standard normal's distribution function and its
// inverse (by bisection: math.Erfcinv has no digits below 1e−16).
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

func quantile(p float64) float64 {
	low, high := -40.0, 40.0
	for range 200 {
		if mid := (low + high) / 2; phi(mid) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// gaussianBeta is G_μ(α) = Φ(Φ⁻¹(1 − α) − μ) (Dong–Roth–Su 2022, eq. 6).
func gaussianBeta(mu, alpha float64) float64 {
	switch alpha {
	case 0:
		return 1
	case 1:
		return 0
	}
	return phi(-quantile(alpha) - mu)
}

// A Gaussian's trade-off function is known: it lies between both bounds, which
// meet it as the ε get denser; δ(0) = 2Φ(μ/2) − 1 and the equal error Φ(−μ/2).
func TestCurveOfGaussian(t *testing.T) {
	for _, mu := range []float64{0.1, 1, 3} {
		c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: mechanism.GaussianDP{Mu: mu}, Count: 1})
		top := 12 * mu
		const n = 300
		curve := askCurve(t, c, CurveQuestion{Max: &top, Points: n})
		for _, p := range curve.TradeOff {
			want := gaussianBeta(mu, p.Alpha)
			const rounding = 1e-14 // of this test's own Φ
			if p.Beta > want*(1+rounding)+rounding || p.BetaUpper < want-rounding {
				t.Fatalf("μ = %v, α = %v: [%v, %v] without G_μ(α) = %v", mu, p.Alpha, p.Beta, p.BetaUpper, want)
			}
			// The tangent's slope is e^ε, and α moves with ε by φ(·)/μ ≤ 0.4/μ: lines at
			// a distance h in ε leave h²/8 of that below, at most 3h²/8 above.
			h := top / (n - 1)
			if p.BetaUpper-p.Beta > h*h*math.Max(1, 1/mu) {
				t.Fatalf("μ = %v, α = %v: [%v, %v], h = %v", mu, p.Alpha, p.Beta, p.BetaUpper, h)
			}
		}
		for name, v := range map[string][3]float64{
			"advantage":   {curve.AdvantageLower, 2*phi(mu/2) - 1, curve.Advantage},
			"equal error": {curve.EqualError, phi(-mu / 2), curve.EqualErrorUpper},
		} {
			if !(v[0] <= v[1]*(1+1e-13) && v[1]*(1-1e-13) <= v[2] && v[2]-v[0] <= 1e-13) {
				t.Errorf("μ = %v: %s in [%v, %v], want %v", mu, name, v[0], v[2], v[1])
			}
		}
		for i, p := range curve.Points[:20] {
			if a := ask(t, c, AtEpsilon(p.Epsilon)); p.Delta > a.Delta || p.LogDelta > a.LogDelta ||
				*p.DeltaLower < *a.DeltaLower {
				t.Errorf("point %d %+v is worse than the answer %+v", i, p, a)
			}
		}
	}
}

// Whatever the bounds and wherever the ε, the truth is between: here a
// Gaussian's, bounded as loosely as it happens.
func TestTradeOffOfLooseBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-4, 2).Draw(t, "ln μ"))
		loose := rapid.SampledFrom([]float64{0, 1e-9, 1e-3, 0.5}).Draw(t, "loose")
		epsilon := 0.0
		var points []CurvePoint
		alphas := []float64{0, 1e-9, 1e-4, 1}
		for range rapid.IntRange(1, 20).Draw(t, "points") {
			delta := phi(mu/2-epsilon/mu) - math.Exp(epsilon)*phi(-mu/2-epsilon/mu)
			if math.IsNaN(delta) {
				delta = 0 // e^ε overflows
			}
			up := rapid.Float64Range(0, loose).Draw(t, "up")
			p := CurvePoint{Epsilon: epsilon, Delta: math.Min(1, math.Max(0, delta)*(1+up)+up*1e-3+1e-15)}
			p.LogDelta = math.Log(p.Delta)
			if rapid.IntRange(0, 5).Draw(t, "known") > 0 {
				lower := math.Max(0, delta*(1-rapid.Float64Range(0, loose).Draw(t, "down"))-1e-15)
				log := math.Log(lower)
				p.DeltaLower, p.LogDeltaLower = &lower, &log
			}
			points = append(points, p)
			step := mu * math.Exp(rapid.OneOf(rapid.Float64Range(-3, 1), rapid.Float64Range(-40, 3)).Draw(t, "ln step"))
			// where the line of e touches, and its mirror image
			for _, e := range []float64{epsilon, epsilon + step/2} {
				alpha := phi(-e/mu - mu/2)
				alphas = append(alphas, alpha, gaussianBeta(mu, alpha))
			}
			epsilon += step
		}
		decrease(points)
		var curve Curve
		curve.test(points, alphas, nil)
		for _, p := range curve.TradeOff {
			if want := gaussianBeta(mu, p.Alpha); p.Beta > want+1e-13 || p.BetaUpper < want-1e-13 {
				t.Fatalf("α = %v: [%v, %v] without %v", p.Alpha, p.Beta, p.BetaUpper, want)
			}
		}
		if want := 2*phi(mu/2) - 1; curve.Advantage < want-1e-15 || curve.AdvantageLower > want+1e-15 ||
			curve.EqualError > phi(-mu/2)+1e-15 || curve.EqualErrorUpper < phi(-mu/2)-1e-15 {
			t.Fatalf("%+v, want advantage %v", curve, want)
		}
	})
}

// Nothing applied: the attacker guesses. An infinite loss for certain: he knows.
func TestCurveAtTheEnds(t *testing.T) {
	curve := askCurve(t, compose(t, mechanism.ZeroOut), CurveQuestion{})
	if curve.Advantage != 0 || curve.EqualErrorUpper != 0.5 || curve.EqualError < 0.5-1e-15 ||
		len(curve.Points) != defaultCurvePoints {
		t.Errorf("nothing: %+v", curve)
	}
	for _, p := range curve.TradeOff {
		if math.Abs(p.Beta-(1-p.Alpha)) > 1e-15 {
			t.Errorf("nothing: %+v", p)
		}
	}
	c := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1e-3}, Count: 1})
	curve = askCurve(t, c, CurveQuestion{Epsilons: []float64{0, 1, 1e3, 1e300}})
	if curve.Advantage != 1 || curve.EqualError > 1e-300 || curve.Points[3].Delta > 1e-300 ||
		curve.TradeOff[0].Beta < 1-1e-15 {
		t.Errorf("μ = 1000: %+v", curve)
	}
	c = compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 1, Delta: 0.25}, Count: 1})
	curve = askCurve(t, c, CurveQuestion{}) // δ never is below 0.25: no ε to end at
	if last := curve.Points[defaultCurvePoints-1]; last.Epsilon != 1 || math.Abs(last.Delta-0.25) > 1e-15 {
		t.Errorf("δ_∞ = 0.25: %+v", last)
	}
	if first := curve.TradeOff[0]; first.Alpha != 0 || math.Abs(first.Beta-0.75) > 1e-15 {
		t.Errorf("δ_∞ = 0.25: %+v", first)
	}
}

// A bound holds on: from above at every larger ε, from below at every smaller.
func TestDecrease(t *testing.T) {
	low := []float64{0.1, 0.2}
	logs := []float64{math.Log(0.1), math.Log(0.2)}
	points := []CurvePoint{
		{Epsilon: 0, Delta: 0.5, LogDelta: math.Log(0.5), Analysis: RDP},
		{Epsilon: 1, Delta: 0.6, LogDelta: math.Log(0.6), Analysis: PLD, DeltaLower: &low[0], LogDeltaLower: &logs[0]},
		{Epsilon: 2, Delta: 0.4, LogDelta: math.Log(0.4), Analysis: PLD, DeltaLower: &low[1], LogDeltaLower: &logs[1]},
	}
	decrease(points)
	for i, want := range []CurvePoint{{Delta: 0.5, Analysis: RDP}, {Delta: 0.5, Analysis: RDP},
		{Delta: 0.4, Analysis: PLD}} {
		if p := points[i]; p.Delta != want.Delta || p.LogDelta != math.Log(want.Delta) || p.Analysis != want.Analysis ||
			*p.DeltaLower != 0.2 || *p.LogDeltaLower != math.Log(0.2) {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
}

// The range, and the ε as they were given.
func TestCurveEpsilons(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: 1})
	top := 3.0
	var got []float64
	for _, p := range askCurve(t, c, CurveQuestion{Min: 1, Max: &top, Points: 5}).Points {
		got = append(got, p.Epsilon)
	}
	if !slices.Equal(got, []float64{1, 1.5, 2, 2.5, 3}) {
		t.Errorf("range %v", got)
	}
	got = nil
	for _, p := range askCurve(t, c, CurveQuestion{Epsilons: []float64{3, 0, 3, 1}}).Points {
		got = append(got, p.Epsilon)
	}
	if !slices.Equal(got, []float64{3, 0, 3, 1}) {
		t.Errorf("list %v", got)
	}
	points := askCurve(t, c, CurveQuestion{}).Points
	if want := ask(t, c, AtDelta(1e-10)).Epsilon; points[len(points)-1].Epsilon != want || points[0].Epsilon != 0 {
		t.Errorf("default range ends at %v, want ε(1e−10) = %v", points[len(points)-1].Epsilon, want)
	}
	points = askCurve(t, c, CurveQuestion{Min: 1e6, Points: 2}).Points
	if points[1].Epsilon != 1e6+1 {
		t.Errorf("default range beyond the curve ends at %v", points[1].Epsilon)
	}
}

func TestCurveCheck(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne)
	number := func(v float64) *float64 { return &v }
	many := make([]float64, MaxCurvePoints+1)
	for field, q := range map[string]CurveQuestion{
		"epsilons":    {Epsilons: many},
		"epsilons[1]": {Epsilons: []float64{0, math.Inf(-1)}},
		"epsilons[0]": {Epsilons: []float64{math.NaN()}},
		"epsilons[2]": {Epsilons: []float64{0, 1, math.Inf(1)}},
		"alphas":      {Alphas: many},
		"alphas[0]":   {Alphas: []float64{1.5}},
		"alphas[1]":   {Alphas: []float64{0, math.NaN()}},
		"epsilon_min": {Min: math.Inf(-1)},
		"epsilon_max": {Min: 1, Max: number(1)},
		"points":      {Points: 1},
		"max_gap":     {MaxGap: number(0)},
	} {
		_, err := AskCurve(c, q)
		var bad *mechanism.ParameterError
		if !errors.As(err, &bad) || bad.Field != field || bad.Value == "" || bad.Allowed == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, q := range []CurveQuestion{
		{Min: math.NaN()}, {Min: math.Inf(1)}, {Max: number(math.Inf(1))}, {Max: number(math.NaN())}, {Max: number(0)},
		{Points: MaxCurvePoints + 1}, {Points: -1},
		{Epsilons: []float64{1}, Min: 1}, {Epsilons: []float64{1}, Max: number(2)}, {Epsilons: []float64{1}, Points: 5},
		{MaxGap: number(math.NaN())}, {MaxGap: number(math.Inf(1))}, {Epsilons: []float64{1}, MaxGap: number(-1)},
	} {
		if _, err := AskCurve(c, q); err == nil {
			t.Errorf("%+v is accepted", q)
		}
	}
}

// A stop leaves a sound curve: of the ends at least, then of points between.
func TestCurveStopped(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: 1000})
	q := CurveQuestion{Epsilons: []float64{0, 1, 2, 3, 4}}
	best := askCurve(t, c, q).Points
	for _, asks := range []int{0, 10, 1000, math.MaxInt} {
		q.Stop = soon(asks)
		got := askCurve(t, c, q).Points
		for i, p := range got {
			if p.Delta < best[i].Delta*(1-1e-9) || p.Delta > 1 ||
				p.DeltaLower != nil && *p.DeltaLower > best[i].Delta || p.Analysis == "" {
				t.Errorf("stopped after %d: %+v, at leisure %+v", asks, p, best[i])
			}
		}
		if asks == 0 && (got[1].Delta != got[0].Delta || got[3].Delta != got[0].Delta || got[4].Delta >= got[0].Delta) {
			t.Errorf("without time: %+v", got)
		}
		if asks == math.MaxInt && got[2].Delta != best[2].Delta {
			t.Errorf("with time: %+v, want %+v", got[2], best[2])
		}
	}
}

func TestCoarseToFine(t *testing.T) {
	for n, want := range map[int][]int{1: {0}, 2: {0, 1}, 3: {0, 2, 1}, 6: {0, 5, 4, 2, 1, 3}} {
		if got := coarseToFine(n); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
	for n := 1; n < 70; n++ {
		got := coarseToFine(n)
		slices.Sort(got)
		for i, v := range got {
			if len(got) != n || v != i {
				t.Fatalf("%d: %v", n, got)
			}
		}
	}
}

// Bounds are in order, δ and β decrease, and β is convex: no bound of the
// attacker's power contradicts another.
func TestCurveProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawOrdinary(t)
		c, err := mechanism.Compose(adj, events)
		if err != nil {
			t.Fatal(err)
		}
		q := CurveQuestion{Points: rapid.IntRange(2, 4).Draw(t, "points")}
		curve, err := AskCurve(c, q)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range curve.Points {
			if !(p.Delta >= 0 && p.Delta <= 1) || p.LogDelta > 0 ||
				p.DeltaLower != nil && (*p.DeltaLower > p.Delta || *p.LogDeltaLower > p.LogDelta) {
				t.Fatalf("%+v", p)
			}
			if i > 0 && (p.Delta > curve.Points[i-1].Delta || p.LogDelta > curve.Points[i-1].LogDelta) {
				t.Fatalf("%+v after %+v", p, curve.Points[i-1])
			}
		}
		// The points that all else follows from: δ at 0 is among them, and where that is not known well one more.
		sorted, _, err := q.telling(repeated(c), slices.Clone(curve.Points))
		if err != nil {
			t.Fatal(err)
		}
		decrease(sorted)
		if sorted[0].Epsilon != 0 {
			t.Fatalf("from %v", sorted[0].Epsilon)
		}
		all := curve.TradeOff
		if all[0].Alpha != 0 || all[len(all)-1].Alpha != 1 || all[len(all)-1].Beta != 0 {
			t.Fatalf("from %+v to %+v", all[0], all[len(all)-1])
		}
		least := math.Inf(1)
		for i, p := range all {
			if !(p.Beta >= 0 && p.Beta <= p.BetaUpper && p.BetaUpper <= 1) || p.Alpha+p.Beta < 1-curve.Advantage-slack {
				t.Fatalf("%+v, advantage %v", p, curve.Advantage)
			}
			least = math.Min(least, math.Max(p.Alpha, p.Beta))
			if i == 0 {
				continue
			}
			before := all[i-1]
			if p.Alpha <= before.Alpha || p.Beta > before.Beta || p.BetaUpper > before.BetaUpper {
				t.Fatalf("%+v after %+v", p, before)
			}
			// Straight between two corners.
			middle := p.Alpha/2 + before.Alpha/2
			if v := provenBeta(provenSides(sorted), middle); middle > before.Alpha &&
				math.Abs(v-p.Beta/2-before.Beta/2) > 1e-14 {
				t.Fatalf("β(%v) = %v between %+v and %+v", middle, v, before, p)
			}
			if i > 1 {
				first := all[i-2]
				straight := first.Beta + (p.Beta-first.Beta)*((before.Alpha-first.Alpha)/(p.Alpha-first.Alpha))
				if before.Beta > straight+1e-14 {
					t.Fatalf("not convex: %+v, %+v, %+v", first, before, p)
				}
			}
		}
		if curve.EqualError > curve.EqualErrorUpper || curve.AdvantageLower > curve.Advantage ||
			curve.EqualError > 0 && math.Abs(least-curve.EqualError) > 1e-14 { // 0 where e^ε overflows

			t.Fatalf("equal error %v, in the trade-off %v; %+v", curve.EqualError, least, curve)
		}
		// A denser list of ε proves no less, and leaves no more open than the gap of
		// ln δ at each, 1e−5, does.
		dense := q
		dense.Points = 4*q.Points - 3
		alphas := []float64{0, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1}
		q.Alphas, dense.Alphas = alphas, alphas
		a, errA := AskCurve(c, q)
		b, errB := AskCurve(c, dense)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for i, p := range b.TradeOff {
			if p.Beta < a.TradeOff[i].Beta-1e-12 || p.BetaUpper > a.TradeOff[i].BetaUpper+1e-4 ||
				p.BetaUpper < a.TradeOff[i].Beta {
				t.Fatalf("denser %+v, before %+v", p, a.TradeOff[i])
			}
		}
	})
}

// A β that is told for a larger α is never larger, in the last digit either: at α where two lines of the bound meet,
// either may be the higher one by rounding.
func TestBetaFallsWithAlpha(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sides := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) side {
			return side{math.Exp(rapid.Float64Range(0, 300).Draw(t, "ε")), rapid.Float64Range(0, 1).Draw(t, "1 − δ")}
		}), 2, 5).Draw(t, "sides")
		a, b := sides[0], sides[1]
		alpha := rapid.SampledFrom([]float64{
			(a.rest - b.rest) / (a.ratio - b.ratio),
			(b.rest*a.ratio - a.rest*b.ratio) / (a.ratio - b.ratio),
		}).Draw(t, "α")
		if !(alpha > 0 && alpha < 1) {
			t.Skip("the lines meet elsewhere")
		}
		at := func(alpha float64) TradeOffPoint {
			return TradeOffPoint{alpha, provenBeta(sides, alpha), possibleBeta(sides, alpha)}
		}
		before := at(alpha * (1 - 16*num.Ulp))
		for range 32 {
			p := at(math.Nextafter(before.Alpha, 1))
			if p.Beta > before.Beta || p.BetaUpper > before.BetaUpper {
				t.Fatalf("%+v after %+v", p, before)
			}
			before = p
		}
	})
}

// Randomized response has a test whose errors are known: answer as reported.
// With ε0 and two answers α = β = 1/(1 + e^{ε0}), its equal error.
func TestCurveOfRandomizedResponse(t *testing.T) {
	c := compose(t, mechanism.ReplaceOne,
		mechanism.Event{Mechanism: mechanism.RandomizedResponse{Epsilon: 1}, Count: 1})
	curve := askCurve(t, c, CurveQuestion{Points: 50})
	want := 1 / (1 + math.E)
	if curve.EqualError > want || curve.EqualErrorUpper < want || curve.EqualErrorUpper-curve.EqualError > 1e-13 {
		t.Errorf("[%v, %v], want %v", curve.EqualError, curve.EqualErrorUpper, want)
	}
}

// Where nobody chose the ε, the told β of a Gaussian are within a relative 1e-4 of the truth, at the
// corners that are told by themselves and at α that were asked for.
func TestTradeOffIsFine(t *testing.T) {
	for _, mu := range []float64{0.3, 1, 3} {
		c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: mechanism.GaussianDP{Mu: mu}, Count: 1})
		for _, alphas := range [][]float64{nil, {0.001, 0.01, 0.05, 0.1, 0.3, 0.6}} {
			worst := 0.0
			for _, p := range askCurve(t, c, CurveQuestion{Alphas: alphas}).TradeOff {
				if want := gaussianBeta(mu, p.Alpha); want > 1e-6 && p.Alpha > 1e-6 {
					worst = math.Max(worst, 1-p.Beta/want)
				}
			}
			if !(worst < 1e-4) {
				t.Errorf("μ = %v: β is a relative %v below the truth", mu, worst)
			}
			t.Logf("μ = %v: β is at most a relative %.2g below the truth", mu, worst)
		}
	}
}
