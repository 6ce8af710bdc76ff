// SPDX-License-Identifier: Apache-2.0

package zcdp

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

func compose(t interface{ Fatal(...any) }, events ...mechanism.Event) loss.Composition {
	c, err := mechanism.Compose(mechanism.AddOrRemoveOne, events)
	if err != nil {
		t.Fatal(err)
	}
	l, err := kinds.Compose(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func one(m mechanism.Mechanism, count uint32) mechanism.Event {
	return mechanism.Event{Mechanism: m, Count: count}
}

// The infimum over all real orders, from the oracle: never below, and the
// search finds it.
func TestConversionAgainstOracle(t *testing.T) {
	var data struct {
		EpsilonOfDelta []struct{ Rho, Delta, Epsilon losstest.Number }
		DeltaOfEpsilon []struct{ Rho, Epsilon, LogDelta losstest.Number }
	}
	losstest.Read(t, "testdata/conversion.json", &data)
	if len(data.EpsilonOfDelta) < 200 || len(data.DeltaOfEpsilon) < 100 {
		t.Fatal("rows are missing")
	}
	for _, r := range data.EpsilonOfDelta {
		c := compose(t, one(mechanism.ZeroConcentratedDP{Rho: r.Rho.Value}, 1))
		got, order := Epsilon(c, r.Delta.Value)
		want := r.Epsilon.Value
		if got < want*(1-0x1p-53) || got > want*(1+1e-9)+1e-15 {
			t.Errorf("ρ=%v δ=%v: ε = %v (order %v), want %v", r.Rho.Value, r.Delta.Value, got, order, want)
		}
	}
	for _, r := range data.DeltaOfEpsilon {
		c := compose(t, one(mechanism.ZeroConcentratedDP{Rho: r.Rho.Value}, 1))
		got, order := LogDelta(c, r.Epsilon.Value)
		want := math.Min(0, r.LogDelta.Value)
		if got < want-0x1p-53*math.Abs(want) || got > want+1e-9*(1+math.Abs(want)) {
			t.Errorf("ρ=%v ε=%v: ln δ = %v (order %v), want %v", r.Rho.Value, r.Epsilon.Value, got, order, want)
		}
	}
}

// ρ of each mechanism: Gaussian μ²/2, sampled the same (the supremum over
// orders), pure ε·tanh(ε/2), declared as given; and their sum.
func TestRho(t *testing.T) {
	g := mechanism.Gaussian{NoiseMultiplier: 2}
	for _, r := range []struct {
		m    mechanism.Mechanism
		want float64
	}{
		{g, 0.125},
		{mechanism.GaussianDP{Mu: 0.5}, 0.125},
		{mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: g}, 0.125},
		{mechanism.PureDP{Epsilon: 1}, math.Tanh(0.5)},
		{mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-9}, math.Tanh(0.5)},
		{mechanism.Laplace{Scale: 2, Sensitivity: 2}, math.Tanh(0.5)},
		{mechanism.ZeroConcentratedDP{Rho: 0.7}, 0.7},
	} {
		got := Rho(compose(t, one(r.m, 1)))
		if got < r.want || got > r.want*(1+1e-15) {
			t.Errorf("%v: ρ = %v, want %v", r.m, got, r.want)
		}
		if three := Rho(compose(t, one(r.m, 3))); three < 3*r.want || three > 3*r.want*(1+2e-15) {
			t.Errorf("%v three times: ρ = %v, want %v", r.m, three, 3*r.want)
		}
	}
}

// Never above the classical ρ + 2√(ρ·ln(1/δ)) (Bun–Steinke 2016, Prop. 1.3), and
// the two questions answer each other.
func TestConversionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rho := math.Exp(rapid.Float64Range(-20, 7).Draw(t, "ln ρ"))
		delta := math.Exp(-rapid.Float64Range(1e-3, 690).Draw(t, "−ln δ"))
		c := compose(t, one(mechanism.ZeroConcentratedDP{Rho: rho}, 1))
		epsilon, _ := Epsilon(c, delta)
		if classic := rho + 2*math.Sqrt(-rho*math.Log(delta)); epsilon > classic {
			t.Fatalf("ε = %v, classically %v", epsilon, classic)
		}
		if epsilon > 0 {
			back, _ := LogDelta(c, epsilon)
			if want := math.Log(delta); math.Abs(back-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("ln δ at ε(δ) = %v, want %v", back, want)
			}
		}
	})
}

// The atoms of approximate DP are apart: below δ_∞ there is no ε.
func TestApproximate(t *testing.T) {
	c := compose(t, one(mechanism.ApproximateDP{Epsilon: 0.1, Delta: 1e-7}, 100))
	if e, _ := Epsilon(c, 9.9e-6); !math.IsInf(e, 1) {
		t.Errorf("ε below δ_∞ is %v", e)
	}
	pure := compose(t, one(mechanism.PureDP{Epsilon: 0.1}, 100))
	with, _ := Epsilon(c, 1e-3)
	without, _ := Epsilon(pure, 1e-3)
	if !(with > without && with < without*1.01) {
		t.Errorf("ε = %v with atoms, %v without", with, without)
	}
	d, _ := LogDelta(c, 1e6)
	if want := math.Log(-math.Expm1(100 * math.Log1p(-1e-7))); d < want || d > want+1e-12 {
		t.Errorf("ln δ_∞ = %v, want %v", d, want)
	}
}

func TestEmpty(t *testing.T) {
	if e, _ := Epsilon(nil, 1e-5); e != 0 {
		t.Errorf("ε = %v", e)
	}
	if d, _ := LogDelta(nil, 0); !math.IsInf(d, -1) {
		t.Errorf("ln δ = %v", d)
	}
}
