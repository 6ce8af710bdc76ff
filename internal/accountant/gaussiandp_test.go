// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// guarantees is testdata/guarantees.json, which the oracle wrote.
type guarantees struct {
	Mu []struct {
		Kind      string
		Parameter float64
		Count     uint32
		Mu        losstest.Number
	}
	Discrete []struct {
		Sigma    float64
		Distance float64
		Count    uint32
		Mu       losstest.Number
	}
	Replaced []struct {
		Rate, Sigma float64
		Mu, Limit   losstest.Number
	}
	Renyi []struct {
		Rate, Sigma, Order float64
		Divergence         losstest.Number
	}
	Rho []struct {
		Parameter, Xi float64
		Count         uint32
		Rho           losstest.Number
	}
}

// laplaceOf is a Laplace release whose largest loss is e0.
func laplaceOf(e0 float64) mechanism.Mechanism { return mechanism.Laplace{Scale: 1, Sensitivity: e0} }

// The oracle's least μ is between both bounds, which are near to each other.
func TestGaussianDPAgainstOracle(t *testing.T) {
	var want guarantees
	losstest.Read(t, "testdata/guarantees.json", &want)
	for _, row := range want.Mu {
		m := laplaceOf(row.Parameter)
		if row.Kind == "pure" {
			m = mechanism.PureDP{Epsilon: row.Parameter}
		}
		c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: m, Count: row.Count})
		got, err := askGaussianDP(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		mu := row.Mu.Value
		if got.Mu < mu*(1-1e-14) || got.MuLower > mu*(1+1e-14) || !(got.Mu <= got.MuLower*(1+1e-4)) {
			t.Errorf("%d × %v: μ from %v to %v, want %v", row.Count, m, got.MuLower, got.Mu, mu)
		}
	}
}

// A Gaussian on a sample has the tail of the whole: sampling lowers no μ. What may fail has none, and a
// declared zCDP guarantee none that is known. Of a record that is replaced on a sample, one value or the other is in it
// far out, and both only where q > ½.
func TestGaussianDPOfTails(t *testing.T) {
	for _, test := range []struct {
		m     mechanism.Mechanism
		adj   mechanism.Adjacency
		want  float64
		lower float64
	}{
		{mechanism.Gaussian{NoiseMultiplier: 2}, mechanism.AddOrRemoveOne, 0.5 * 3, 0.5 * 3},
		{mechanism.Gaussian{NoiseMultiplier: 2}, mechanism.ReplaceOne, 3, 3},
		{sampledGaussian(1e-6, 2), mechanism.AddOrRemoveOne, 0.5 * 3, 0.5 * 3},
		{sampledGaussian(0.5, 2), mechanism.ReplaceOne, 1.5, 1.5},
		{sampledGaussian(0.999, 2), mechanism.ReplaceOne, 3, 1.5},
		{mechanism.Group{Size: 4, Mechanism: sampledGaussian(0.5, 2)}, mechanism.AddOrRemoveOne, 6, 6},
		{mechanism.Group{Size: 4, Mechanism: sampledGaussian(0.49, 2)}, mechanism.ReplaceOne, 6, 6},
		{mechanism.Group{Size: 4, Mechanism: sampledGaussian(0.51, 2)}, mechanism.ReplaceOne, 7.5, 6},
		{fixedSizeGaussian(2), mechanism.ReplaceOne, 3, 3},
		{discreteGaussian(1e6, 1e7, 1), mechanism.AddOrRemoveOne, 30, 30},
		{mechanism.PoissonSampled{SamplingProbability: 0.001, Mechanism: discreteGaussian(1e6, 1e7, 1)},
			mechanism.ZeroOut, 30, 30},
		{discreteGaussian(1e6, 1e7, 1000), mechanism.AddOrRemoveOne, 30, 30},
		{truncatedGaussian(2), mechanism.ZeroOut, 3, 1.5},
		{mechanism.Parallel{Parts: mechanism.ListOf[mechanism.Mechanism](laplaceOf(0.1),
			mechanism.Gaussian{NoiseMultiplier: 2}, sampledGaussian(0.1, 3))}, mechanism.AddOrRemoveOne, 1.5, 1.5},
		{allocatedGaussian(10, 1), mechanism.ZeroOut, 1.5, 1.5},
		{allocatedGaussian(10, 4), mechanism.ZeroOut, 3, 3},
		{mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-9}, mechanism.AddOrRemoveOne, math.Inf(1), 0},
		{mechanism.ZeroConcentratedDP{Rho: 1}, mechanism.AddOrRemoveOne, math.Inf(1), 0},
	} {
		got, err := askGaussianDP(compose(t, test.adj, mechanism.Event{Mechanism: test.m, Count: 9}), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Mu < test.want || got.Mu > test.want*(1+1e-11) || (got.Reason == "") != !math.IsInf(test.want, 1) {
			t.Errorf("9 × %v: %+v, want μ = %v", test.m, got, test.want)
		}
		if got.Reason == "" && (got.MuLower > test.lower || got.MuLower < test.lower*(1-1e-11)) {
			t.Errorf("9 × %v: lower bound %v, want %v", test.m, got.MuLower, test.lower)
		}
	}
	for _, e0 := range []float64{1e-300, 1e-12, 1e-4} { // 2Φ⁻¹(e^ε/(1+e^ε)) is √(2π)·ε/2 but for a relative ε²
		got, err := askGaussianDP(compose(t, mechanism.AddOrRemoveOne,
			mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: e0}, Count: 1}), nil)
		if want := math.Sqrt(2*math.Pi) / 2 * e0; err != nil || got.Mu < want*(1-e0*e0) || got.Mu > want*(1+1e-7) {
			t.Errorf("pure %v: %+v, %v; want μ = %v", e0, got, err, want)
		}
	}
	nothing, err := askGaussianDP(compose(t, mechanism.AddOrRemoveOne), nil)
	if err != nil || nothing != (GaussianDP{}) {
		t.Errorf("nothing: %+v, %v", nothing, err)
	}
}

func fixedSizeGaussian(sigma float64) mechanism.Mechanism {
	return mechanism.FixedSizeSampled{BatchSize: 10, DatasetSize: 1000,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
}

func truncatedGaussian(sigma float64) mechanism.Mechanism {
	return mechanism.TruncatedPoissonSampled{SamplingProbability: 0.01, DatasetSize: 1000, MaximumBatchSize: 16,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
}

func discreteGaussian(sigma, distance float64, coordinates uint64) mechanism.Mechanism {
	return mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: distance, Coordinates: coordinates}
}

// The oracle's least μ of sums of discrete Gaussians, which it added up one by one, and of samples on which a record
// is replaced, is between both bounds.
func TestGaussianDPOfDiscreteGaussians(t *testing.T) {
	var want guarantees
	losstest.Read(t, "testdata/guarantees.json", &want)
	for _, row := range want.Discrete {
		m := discreteGaussian(row.Sigma, row.Distance, 1)
		c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: m, Count: row.Count})
		got, err := askGaussianDP(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		mu := row.Mu.Value
		if got.Mu < mu*(1-1e-14) || got.MuLower > mu*(1+1e-14) || !(got.Mu <= got.MuLower*(1+1e-9)) {
			t.Errorf("%d × %v: μ from %v to %v, want %v", row.Count, m, got.MuLower, got.Mu, mu)
		}
	}
	for _, row := range want.Replaced {
		c := compose(t, mechanism.ReplaceOne,
			mechanism.Event{Mechanism: sampledGaussian(row.Rate, row.Sigma), Count: 1})
		got, err := askGaussianDP(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		mu := row.Mu.Value
		if got.Mu < mu*(1-1e-14) || got.MuLower > mu*(1+1e-14) || row.Rate <= 0.5 && !(got.Mu <= mu*(1+1e-11)) {
			t.Errorf("q = %v, σ = %v: μ from %v to %v, want %v", row.Rate, row.Sigma, got.MuLower, got.Mu, mu)
		}
	}
}

func allocatedGaussian(steps, selected uint64) mechanism.Mechanism {
	return mechanism.RandomAllocation{Steps: steps, Selected: selected,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: 2}}
}

// A random allocation of Laplace noise has a largest loss, and does not fail, although its pair is cut.
func TestGaussianDPOfAllocatedLaplace(t *testing.T) {
	c := compose(t, mechanism.ZeroOut,
		mechanism.Event{Mechanism: mechanism.RandomAllocation{Steps: 10, Mechanism: laplaceOf(1)}, Count: 1})
	one, err := askGaussianDP(compose(t, mechanism.ZeroOut, mechanism.Event{Mechanism: laplaceOf(1), Count: 1}), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := askGaussianDP(c, nil)
	if err != nil || !(got.MuLower > 0.1 && got.MuLower <= got.Mu && got.Mu <= one.Mu) || got.Reason != "" {
		t.Errorf("%+v, %v; one step has %+v", got, err, one)
	}
}

// One release on a sample of which a record is replaced: the likelihood ratio rises, so that the best tests are half
// lines, x > a, and the least μ is the largest Φ⁻¹(P(x > a)) − Φ⁻¹(Q(x > a)). It tends to the distance for large a.
func TestGaussianDPOfReplacedSample(t *testing.T) {
	for _, test := range []struct{ rate, sigma float64 }{{0.5, 2}, {0.01, 1}, {0.999, 1}, {0.5, 0.25}} {
		got, err := askGaussianDP(compose(t, mechanism.ReplaceOne,
			mechanism.Event{Mechanism: sampledGaussian(test.rate, test.sigma), Count: 1}), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, least := 1/test.sigma, 1/test.sigma
		power := func(a, shift float64) float64 {
			return num.LogNormalQuantile(num.LogAddExp(math.Log1p(-test.rate)+num.LogNormalCDF(-a),
				math.Log(test.rate)+num.LogNormalCDF(shift-a)))
		}
		for a := 0.0; a < 30; a += 0.125 { // a below 0 is the mirror image
			least = math.Max(least, power(a, c)-power(a, -c))
		}
		if got.MuLower > least*(1+1e-9) || got.Mu < least*(1-1e-9) {
			t.Errorf("%+v: μ from %v to %v, but it is %v", test, got.MuLower, got.Mu, least)
		}
	}
}

// The Gaussian's curve is nowhere below the curve that was asked, at any ε: at a thousand of them.
func TestGaussianDPCoversTheCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := []mechanism.Event{
			{Mechanism: laplaceOf(math.Exp(rapid.Float64Range(-5, 2).Draw(t, "ln e0"))),
				Count: uint32(rapid.IntRange(1, 9).Draw(t, "n"))},
			{Mechanism: mechanism.PureDP{Epsilon: math.Exp(rapid.Float64Range(-6, 2).Draw(t, "ln ε"))}, Count: 1},
		}
		adj := mechanism.AddOrRemoveOne
		noise := discreteGaussian(math.Exp(rapid.Float64Range(-1, 5).Draw(t, "ln of discrete σ")),
			float64(rapid.IntRange(1, 3).Draw(t, "d")), rapid.SampledFrom([]uint64{1, 1, 2, 9}).Draw(t, "coordinates"))
		n := uint32(rapid.IntRange(1, 40).Draw(t, "discrete"))
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			events = []mechanism.Event{{Mechanism: noise, Count: n}}
		case 1:
			events = append(events, mechanism.Event{Mechanism: noise, Count: n})
		case 2:
			events = []mechanism.Event{{Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.5,
				Mechanism: discreteGaussian(1.5, 1, 1)}, Count: n}}
		case 3:
			adj = mechanism.ReplaceOne
			events = []mechanism.Event{{Mechanism: sampledGaussian(rapid.Float64Range(0.001, 0.999).Draw(t, "q"),
				math.Exp(rapid.Float64Range(-1, 2).Draw(t, "ln of sampled σ"))), Count: n}}
		}
		if rapid.Bool().Draw(t, "Gaussian") {
			events = append(events, mechanism.Event{Mechanism: mechanism.Gaussian{
				NoiseMultiplier: math.Exp(rapid.Float64Range(-1, 4).Draw(t, "ln σ"))}, Count: 2})
		}
		c, err := mechanism.Compose(adj, events)
		if err != nil {
			t.Fatal(err)
		}
		g, err := askGaussianDP(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !(g.MuLower <= g.Mu) {
			t.Fatalf("%v: %+v", events, g)
		}
		epsilon := math.Exp(rapid.Float64Range(-6, 3).Draw(t, "ln of ε"))
		a, err := Ask(c, AtEpsilon(epsilon))
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := loss.GaussianLogDelta(g.Mu, epsilon); a.LogDeltaLower != nil && b.Upper < *a.LogDeltaLower {
			t.Fatalf("%v: at ε = %v ln δ is at least %v, of μ = %v at most %v", events, epsilon, *a.LogDeltaLower,
				g.Mu, b.Upper)
		}
	})
}

// Rényi divergences and the least ρ enclose the oracle's.
func TestRenyiAgainstOracle(t *testing.T) {
	var want guarantees
	losstest.Read(t, "testdata/guarantees.json", &want)
	for _, row := range want.Renyi {
		c := compose(t, mechanism.AddOrRemoveOne,
			mechanism.Event{Mechanism: sampledGaussian(row.Rate, row.Sigma), Count: 3})
		got, err := AskCurve(c, CurveQuestion{Epsilons: []float64{1}, Orders: []float64{row.Order}})
		if err != nil {
			t.Fatal(err)
		}
		p, d := got.Renyi[0], 3*row.Divergence.Value
		if p.Order != row.Order || p.Divergence < d*(1-1e-14) || p.Lower == nil || *p.Lower > d*(1+1e-14) ||
			p.Divergence > d*(1+1e-9) || *p.Lower < d*(1-1e-9) {
			t.Errorf("q = %v, σ = %v at order %v: %+v, want %v", row.Rate, row.Sigma, row.Order, p, d)
		}
	}
	for _, row := range want.Rho {
		c := compose(t, mechanism.AddOrRemoveOne,
			mechanism.Event{Mechanism: laplaceOf(row.Parameter), Count: row.Count})
		got, err := AskCurve(c, CurveQuestion{Epsilons: []float64{1}, Xi: &row.Xi})
		if err != nil {
			t.Fatal(err)
		}
		p, rho := got.Concentrated, row.Rho.Value
		if p.Rho < rho*(1-1e-14) || p.RhoLower == nil || *p.RhoLower > rho*(1+1e-14) || p.Rho > *p.RhoLower*1.01 {
			t.Errorf("%d × Laplace %v with ξ = %v: %v to %v, want %v", row.Count, row.Parameter, row.Xi, *p.RhoLower,
				p.Rho, rho)
		}
	}
}

// Divergences of pairs with closed forms: a Gaussian's αμ²/2; and none where everything may be lost.
func TestRenyiOfClosedForms(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 2}, Count: 4})
	xi := 0.5
	got, err := AskCurve(c, CurveQuestion{Epsilons: []float64{1}, Orders: []float64{1 + 1e-9, 3, 1e6}, Xi: &xi})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got.Renyi {
		if want := p.Order / 2; p.Divergence < want || p.Divergence > want*(1+1e-9) || *p.Lower > want {
			t.Errorf("%+v with lower bound %v, want %v", p, *p.Lower, want)
		}
	}
	if got.Concentrated.Rho != 0.5 {
		t.Errorf("ρ = %v, want 1/2", got.Concentrated.Rho)
	}
	lost := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-9}, Count: 1})
	if got, err = AskCurve(lost, CurveQuestion{Epsilons: []float64{1}, Orders: []float64{2}, Xi: &xi}); err != nil ||
		!math.IsInf(got.Renyi[0].Divergence, 1) || !math.IsInf(got.Concentrated.Rho, 1) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, q := range map[string]CurveQuestion{
		"order 1": {Orders: []float64{1}}, "order ∞": {Orders: []float64{math.Inf(1)}},
		"ξ < 0": {Xi: new(-0.5)}, "ξ NaN": {Xi: new(math.NaN())},
	} {
		var bad *mechanism.ParameterError
		if _, err := AskCurve(c, q); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Below 0 the curve is that of exchanged datasets: of Gaussians by the closed form at any ε.
func TestCurveBelowZero(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.5}, Count: 1})
	got, err := AskCurve(c, CurveQuestion{Min: -20, Max: new(20.0), Points: 41})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got.Points {
		b, _ := loss.GaussianLogDelta(2, p.Epsilon)
		if p.LogDelta < b.Lower || p.LogDelta > b.Upper+1e-12 || *p.LogDeltaLower > b.Upper || p.Delta < *p.DeltaLower {
			t.Errorf("at %v ln δ = %v with lower bound %v, want %+v", p.Epsilon, p.LogDelta, *p.LogDeltaLower, b)
		}
		if i > 0 && p.Delta > got.Points[i-1].Delta {
			t.Errorf("δ rises at ε = %v", p.Epsilon)
		}
	}
}
