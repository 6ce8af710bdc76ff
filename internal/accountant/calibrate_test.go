// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/variant"
	"pgregory.net/rapid"
)

func calibrate(t testing.TB, q Calibration) Calibrated {
	t.Helper()
	got, err := Calibrate(q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

type failer interface{ Fatalf(string, ...any) }

// holds checks a calibration against the query that a user would ask, on the
// composition that a ledger would have.
func holds(t failer, q Calibration, got Calibrated) {
	k, err := q.knob()
	if err != nil {
		t.Fatalf("%v", err)
	}
	total := func(v float64) Answer {
		event := k.set(v)
		if err := event.Check(q.Fixed.Adjacency); err != nil {
			t.Fatalf("%s %v: %v", k.field, v, err)
		}
		c, err := Join(q.Fixed,
			mechanism.Composition{Adjacency: q.Fixed.Adjacency,
				Parts: []mechanism.Part{{Mechanism: event.Mechanism, Count: uint64(event.Count)}}})
		if err != nil {
			t.Fatalf("%v", err)
		}
		a, err := Ask(c, AtDelta(q.Delta))
		if err != nil {
			t.Fatalf("%v", err)
		}
		return a
	}
	if a := total(got.Value); a.Epsilon > q.Epsilon || a.Epsilon != got.Answer.Epsilon ||
		a.Analysis != got.Answer.Analysis || got.Event != k.set(got.Value) || got.Field != k.field {
		t.Fatalf("%+v: %+v, asked again ε = %v by %s", q, got, a.Epsilon, a.Analysis)
	}
	if got.Exceeding == nil {
		if end := map[bool]float64{false: k.most, true: k.least}[k.falls]; got.Value != end {
			t.Fatalf("%+v: %+v without an exceeding value before the end %v", q, got, end)
		}
		return
	}
	if a := total(*got.Exceeding); a.Epsilon <= q.Epsilon {
		t.Fatalf("%+v: %v fits too: ε = %v", q, *got.Exceeding, a.Epsilon)
	}
	switch apart := math.Abs(*got.Exceeding/got.Value - 1); {
	case k.whole && *got.Exceeding != got.Value+1, !k.whole && apart > 2*Tolerance,
		(*got.Exceeding < got.Value) != k.falls:
		t.Fatalf("%+v: %v fits, %v is the nearest that does not", q, got.Value, *got.Exceeding)
	}
}

// One Gaussian against its exact curve (Balle–Wang 2018, Thm 8), evaluated here
// by the standard library's erfc.
func TestCalibrateGaussian(t *testing.T) {
	for _, target := range []struct{ epsilon, delta float64 }{{1, 1e-5}, {0.1, 1e-3}, {8, 1e-6},
		{0, 0.01}, {100, 1e-9}} {
		q := Calibration{
			Fixed: compose(t, mechanism.AddOrRemoveOne), Solve: SolveStandardDeviation,
			Epsilon: target.epsilon, Delta: target.delta,
			Event: mechanism.Event{Mechanism: mechanism.Gaussian{Sensitivity: 3}, Count: 1},
		}
		got := calibrate(t, q)
		holds(t, q, got)
		delta := func(sigma float64) float64 {
			mu := 3 / sigma
			return phi(mu/2-target.epsilon/mu) - math.Exp(target.epsilon)*phi(-mu/2-target.epsilon/mu)
		}
		if d := delta(got.Value); d > target.delta*(1+1e-9) || delta(got.Value*(1-2*Tolerance)) < target.delta {
			t.Errorf("%+v: σ = %v has δ = %v", target, got.Value, d)
		}
		if got.Field != "standard_deviation" || got.Answer.Analysis != GDP {
			t.Errorf("%+v", got)
		}
	}
}

// Closed forms by hand: ε-DP k times is kε at a δ that basic composition cannot
// use; a Laplace release of d/b alone is (d/b + 2·ln(1 − δ))-DP; n Gaussians of
// one record's q = 1.
func TestCalibrateClosedForms(t *testing.T) {
	fixed := compose(t, mechanism.AddOrRemoveOne)
	pure := mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.5}, Count: 77}
	got := calibrate(t, Calibration{Fixed: fixed, Event: pure, Solve: SolveCount, Epsilon: 8, Delta: 1e-300})
	if got.Value != 16 || got.Event.Count != 16 || *got.Exceeding != 17 || got.Field != "count" {
		t.Errorf("16 times ½ is 8: %+v", got)
	}
	base := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.5}, Count: 3},
		mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 2}, Count: 1})
	got = calibrate(t, Calibration{Fixed: base, Event: pure, Solve: SolveCount, Epsilon: 8, Delta: 1e-300})
	if got.Value != 9 {
		t.Errorf("8 − 3.5 is 9 times ½: %+v", got)
	}
	laplace := mechanism.Event{Mechanism: mechanism.Laplace{Scale: 1e9, Sensitivity: 2}, Count: 1}
	got = calibrate(t,
		Calibration{Fixed: fixed, Event: laplace, Solve: SolveStandardDeviation, Epsilon: 1, Delta: 0.01})
	if want := 2 / (1 - 2*math.Log1p(-0.01)); got.Field != "scale" || got.Value < want*(1-1e-12) ||
		got.Value > want*(1+Tolerance) {
		t.Errorf("%+v, want scale %v", got, want)
	}
	// μ = 1 once is μ = 1/√n for n releases: as many as fit into the ε of μ = 1.
	one := ask(t, compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: 1}), AtDelta(1e-6))
	many := mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1000}, Count: 1}
	got = calibrate(t,
		Calibration{Fixed: fixed, Event: many, Solve: SolveCount, Epsilon: one.Epsilon * (1 + 1e-9), Delta: 1e-6})
	if got.Value != 1e6 {
		t.Errorf("%+v, want 1e6", got)
	}
}

// The noise of every kind that has one is found. Where the analysis has a closed form the answer
// is that: ε = d/b of discrete Laplace noise and of selections, at a δ that nothing else can use,
// and the σ of one Gaussian release where what is asked is the same release by another name.
func TestCalibrateNoiseOfEveryKind(t *testing.T) {
	g := mechanism.Gaussian{NoiseMultiplier: 1}
	run := mechanism.Participation{Steps: 1}
	const tiny, small = 1e-300, 1e-5
	sigma := calibrate(t,
		Calibration{Fixed: compose(t, mechanism.AddOrRemoveOne), Solve: SolveStandardDeviation,
			Epsilon: 1, Delta: small,
			Event: mechanism.Event{Mechanism: g, Count: 1}}).Value
	for _, c := range []struct {
		m     mechanism.Mechanism
		adj   mechanism.Adjacency
		delta float64
		field string
		want  float64 // 0: only that it holds
	}{
		{mechanism.DiscreteLaplace{Sensitivity: 3}, mechanism.AddOrRemoveOne, tiny, "scale", 3},
		{mechanism.DiscreteLaplace{Sensitivity: 3}, mechanism.ReplaceOne, tiny, "scale", 6},
		{mechanism.Exponential{Sensitivity: 2}, mechanism.AddOrRemoveOne, tiny, "scale", 4},
		{mechanism.Exponential{Sensitivity: 2, Monotone: true}, mechanism.AddOrRemoveOne, tiny, "scale", 2},
		{mechanism.ReportNoisyMax{Distribution: mechanism.ExponentialMax, Sensitivity: 2},
			mechanism.AddOrRemoveOne, tiny, "scale", 4},
		{mechanism.Histogram{LaplaceScale: 9}, mechanism.ReplaceOne, tiny, "laplace_scale", 2},
		{mechanism.Histogram{StandardDeviation: 9}, mechanism.AddOrRemoveOne, small, "standard_deviation", sigma},
		{mechanism.MixtureOfGaussians{Sensitivities: mechanism.NumbersOf(3), Probabilities: mechanism.NumbersOf(1)},
			mechanism.AddOrRemoveOne, small, "standard_deviation", 3 * sigma},
		{mechanism.TreeAggregation{Sensitivity: 3, Participation: run}, mechanism.AddOrRemoveOne, small,
			"standard_deviation", 3 * sigma},
		{mechanism.BandedMatrix{Coefficients: mechanism.NumbersOf(1), Participation: run}, mechanism.AddOrRemoveOne,
			small, "noise_multiplier", sigma},
		{mechanism.Shuffled{BatchSize: 5, DatasetSize: 5, Mechanism: g}, mechanism.AddOrRemoveOne, small,
			"noise_multiplier", sigma},
		{mechanism.Group{Size: 4, Mechanism: g}, mechanism.AddOrRemoveOne, small, "noise_multiplier", 4 * sigma},
		{mechanism.DiscreteGaussian{Sensitivity: 1}, mechanism.AddOrRemoveOne, small, "standard_deviation", 0},
		{mechanism.DiscreteGaussian{Sensitivity: 1, Coordinates: 7}, mechanism.ReplaceOne, small,
			"standard_deviation", 0},
		{mechanism.FixedSizeSampled{BatchSize: 5, DatasetSize: 50, Mechanism: g}, mechanism.ReplaceOne,
			small, "noise_multiplier", 0},
		{mechanism.TruncatedPoissonSampled{SamplingProbability: 0.1, DatasetSize: 50, MaximumBatchSize: 9,
			Mechanism: g}, mechanism.AddOrRemoveOne, small, "noise_multiplier", 0},
		{mechanism.RepeatAndSelect{Gamma: 0.1, Eta: 1, Mechanism: g}, mechanism.AddOrRemoveOne,
			small, "noise_multiplier", 0},
		{mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: mechanism.DiscreteGaussian{Sensitivity: 1}},
			mechanism.AddOrRemoveOne, small, "standard_deviation", 0},
	} {
		q := Calibration{Fixed: compose(t, c.adj), Event: mechanism.Event{Mechanism: c.m, Count: 1},
			Solve: SolveStandardDeviation, Epsilon: 1, Delta: c.delta}
		got := calibrate(t, q)
		holds(t, q, got)
		if got.Field != c.field || c.want != 0 && math.Abs(got.Value/c.want-1) > 3*Tolerance {
			t.Errorf("%#v: %s = %v, want %s = %v", c.m, got.Field, got.Value, c.field, c.want)
		}
	}
}

// The least noise of known runs (q = 0.01, 10,000 steps, δ = 1e−5) is found:
// never undercut, met by pld. σ from the oracle's curve, to the digits given.
func TestCalibrateReference(t *testing.T) {
	for epsilon, want := range map[float64]float64{1: 3.812817, 3: 1.5649655, 8: 0.8825285} {
		q := reference(t, epsilon)
		got := calibrate(t, q)
		holds(t, q, got)
		if got.Value < want*(1-2e-7) || got.Value > want*(1+2e-7+Tolerance) || got.Answer.Analysis != PLD {
			t.Errorf("ε = %v: σ = %v by %s, the least is %v", epsilon, got.Value, got.Answer.Analysis, want)
		}
	}
}

// drawOrdinary draws one to three events that every analysis answers soon: no
// few steps with a tiny sampling probability, which need many nodes.
func drawOrdinary(t *rapid.T) (mechanism.Adjacency, []mechanism.Event) {
	adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne,
		mechanism.ZeroOut}).Draw(t, "adjacency")
	event := rapid.Custom(func(t *rapid.T) mechanism.Event {
		if rapid.Bool().Draw(t, "sampled") {
			m := sampledGaussian(math.Exp(rapid.Float64Range(-5, -0.5).Draw(t, "ln q")),
				rapid.Float64Range(0.7, 4).Draw(t, "σ"))
			return mechanism.Event{Mechanism: m, Count: rapid.Uint32Range(100, 2000).Draw(t, "count")}
		}
		return drawEvent(t, adj)
	}).Filter(func(e mechanism.Event) bool {
		s, ok := e.Mechanism.(mechanism.PoissonSampled)
		return !ok || s.SamplingProbability > 6e-3 && e.Count >= 100
	})
	return adj, rapid.SliceOfN(event, 1, 3).Draw(t, "events")
}

// Whatever is asked, the answer fits and the next one does not.
func TestCalibrateProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawOrdinary(t)
		event := events[0]
		solves := []Solve{SolveCount}
		if _, none := variant.NoiseOf(event.Mechanism); none == "" {
			solves = append(solves, SolveStandardDeviation)
		}
		if _, ok := event.Mechanism.(mechanism.PoissonSampled); ok {
			solves = append(solves, SolveSamplingProbability)
		}
		fixed, err := mechanism.Compose(adj, events[1:])
		if err != nil {
			t.Fatal(err)
		}
		delta := math.Exp(-rapid.Float64Range(5, 60).Draw(t, "−ln δ"))
		// A target near what the drawn events cost, so that the answer is as ordinary.
		target := mustAsk(t, adj, events, AtDelta(delta)).Epsilon
		if !(target > 0) || math.IsInf(target, 1) {
			target = 1
		}
		q := Calibration{
			Fixed: fixed, Event: event, Solve: rapid.SampledFrom(solves).Draw(t, "solve"),
			Epsilon: target * math.Exp(rapid.Float64Range(-0.7, 0.7).Draw(t, "ln of the target's part")), Delta: delta,
		}
		got, err := Calibrate(q)
		var impossible *mechanism.ParameterError
		switch {
		case errors.As(err, &impossible):
			k, _ := q.knob()
			if impossible.Field != "target_epsilon" && impossible.Field != "target_delta" {
				t.Fatal(err)
			}
			a, _ := Ask(q.Fixed, AtDelta(q.Delta))
			b, _ := Ask(with(q.Fixed, k.set(map[bool]float64{false: k.least, true: k.most}[k.falls])), AtDelta(q.Delta))
			if a.Epsilon <= q.Epsilon && b.Epsilon <= q.Epsilon {
				t.Fatalf("%+v: %v, but the least costs %v", q, err, b.Epsilon)
			}
		case err != nil:
			t.Fatalf("%+v: %v", q, err)
		default:
			holds(t, q, got)
		}
	})
}

// Nothing fits: the least target that would do is named, and does.
func TestCalibrateImpossible(t *testing.T) {
	gaussian := mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: 1}
	base := compose(t, mechanism.AddOrRemoveOne, gaussian)
	atom := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-4}, Count: 1})
	for _, c := range []struct {
		q             Calibration
		field, allows string
	}{
		// one Gaussian, σ = Δ
		{Calibration{Fixed: base, Event: gaussian, Solve: SolveStandardDeviation, Epsilon: 4, Delta: 1e-5},
			"target_epsilon", "at least 4.377178"},
		{Calibration{Fixed: compose(t, mechanism.AddOrRemoveOne), Event: gaussian, Solve: SolveCount, Epsilon: 4,
			Delta: 1e-5}, "target_epsilon", "at least 4.377178"},
		{Calibration{Fixed: atom, Event: gaussian, Solve: SolveStandardDeviation, Epsilon: 4, Delta: 1e-5},
			"target_delta", "∞"},
	} {
		_, err := Calibrate(c.q)
		var bad *mechanism.ParameterError
		if !errors.As(err, &bad) || bad.Field != c.field || !strings.Contains(bad.Allowed, c.allows) {
			t.Errorf("%+v: %v", c.q, err)
			continue
		}
	}
	q := Calibration{Fixed: base, Event: gaussian, Solve: SolveStandardDeviation, Delta: 1e-5,
		Epsilon: ask(t, base, AtDelta(1e-5)).Epsilon}
	holds(t, q, calibrate(t, q)) // a noise so large that it costs nothing
}

// Ends of ranges: everything fits, and that is said.
func TestCalibrateEnds(t *testing.T) {
	fixed := compose(t, mechanism.AddOrRemoveOne)
	for _, q := range []Calibration{
		{Fixed: fixed, Solve: SolveCount, Epsilon: 1, Delta: 1e-5,
			Event: mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1e9}}},
		{Fixed: fixed, Solve: SolveSamplingProbability, Epsilon: 5, Delta: 1e-5,
			Event: mechanism.Event{Mechanism: sampledGaussian(0.5, 1), Count: 1}},
	} {
		got := calibrate(t, q)
		if holds(t, q, got); got.Exceeding != nil {
			t.Errorf("%+v", got)
		}
	}
	// No room is left for the same mechanism: its total is bounded.
	full := compose(t, mechanism.AddOrRemoveOne)
	// ε = 0 is a target too: δ(0) = 2Φ(μ/2) − 1 ≤ δ, from any start.
	for _, sigma := range []float64{1e-9, 1e-3, 1, 1e3, 1e9} {
		q := Calibration{Fixed: fixed, Solve: SolveStandardDeviation, Delta: 0.01,
			Event: mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}, Count: 1}}
		got := calibrate(t, q)
		if want := 1 / (2 * quantile(0.505)); math.Abs(got.Value/want-1) > 2*Tolerance || got.Answer.Epsilon != 0 {
			t.Errorf("from %v: %+v, want %v", sigma, got, want)
		}
	}
	m := mechanism.Gaussian{NoiseMultiplier: 1e15}
	full.Parts = []mechanism.Part{{Mechanism: m, Count: math.MaxInt64 - 7}}
	q := Calibration{Fixed: full, Solve: SolveCount, Epsilon: 1, Delta: 1e-5, Event: mechanism.Event{Mechanism: m}}
	if got := calibrate(t, q); got.Value != 7 || got.Exceeding != nil {
		t.Errorf("%+v, want 7", got)
	}
}

func TestCalibrateCheck(t *testing.T) {
	good := Calibration{Fixed: compose(t, mechanism.AddOrRemoveOne),
		Event: mechanism.Event{Mechanism: sampledGaussian(0.1, 1), Count: 500}, Solve: SolveStandardDeviation,
		Epsilon: 1, Delta: 1e-5}
	for name, c := range map[string]struct {
		change        func(*Calibration)
		field, allows string
	}{
		"ε < 0": {func(q *Calibration) { q.Epsilon = -1 }, "target_epsilon", "≥ 0"},
		"ε NaN": {func(q *Calibration) { q.Epsilon = math.NaN() }, "target_epsilon", "≥ 0"},
		"ε ∞":   {func(q *Calibration) { q.Epsilon = math.Inf(1) }, "target_epsilon", "≥ 0"},
		"δ 0": {func(q *Calibration) { q.Delta = 0 }, "target_delta",
			"a number above 0: with δ = 0, ε is ∞ whatever is chosen"},
		"δ 1":   {func(q *Calibration) { q.Delta = 1 }, "target_delta", "[0, 1)"},
		"δ NaN": {func(q *Calibration) { q.Delta = math.NaN() }, "target_delta", "[0, 1)"},
		"no solve": {func(q *Calibration) { q.Solve = 0 }, "solve",
			"STANDARD_DEVIATION, COUNT or SAMPLING_PROBABILITY"},
		"no mechanism": {func(q *Calibration) { q.Event.Mechanism = nil }, "event.mechanism", "one of"},
		"no count":     {func(q *Calibration) { q.Event.Count = 0 }, "event.count", "whole number"},
		"pure noise": {func(q *Calibration) { q.Event.Mechanism = mechanism.PureDP{Epsilon: 1} },
			"solve", "COUNT for a pure_dp"},
		"sampled pure": {func(q *Calibration) {
			q.Event.Mechanism = mechanism.PoissonSampled{SamplingProbability: 0.1,
				Mechanism: mechanism.PureDP{Epsilon: 1}}
		}, "solve", "COUNT for a poisson_sampled"},
		"no noise of its own": {func(q *Calibration) {
			q.Event.Mechanism = mechanism.TruncatedLaplace{Scale: 1, Bound: 9, Sensitivity: 1}
		}, "solve", "COUNT for a truncated_laplace, which fails more often"},
		"two noises": {func(q *Calibration) {
			q.Event.Mechanism = mechanism.AboveThreshold{ThresholdScale: 1, QueryScale: 2, Sensitivity: 1, Positives: 1}
		}, "solve", "COUNT for a above_threshold, which has two noises"},
		"either noise": {func(q *Calibration) { q.Event.Mechanism = mechanism.Histogram{} }, "solve",
			"given of laplace_scale and standard_deviation"},
		"not sampled": {func(q *Calibration) {
			q.Solve, q.Event.Mechanism = SolveSamplingProbability, mechanism.Gaussian{NoiseMultiplier: 1}
		}, "solve", "a gaussian"},
		"no sensitivity": {func(q *Calibration) { q.Event.Mechanism = mechanism.Gaussian{StandardDeviation: 1} },
			"event.mechanism.gaussian.sensitivity", "exactly one"},
		"no rate": {func(q *Calibration) {
			q.Event.Mechanism = mechanism.PoissonSampled{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}
		}, "event.mechanism.poisson_sampled.sampling_probability", "(0, 1]"},
	} {
		q := good
		c.change(&q)
		_, err := Calibrate(q)
		var bad *mechanism.ParameterError
		if !errors.As(err, &bad) || bad.Field != c.field || bad.Value == "" ||
			!strings.Contains(bad.Allowed, c.allows) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The parameter itself does not matter: absent, or anything.
	want := calibrate(t, good)
	for _, m := range []mechanism.Mechanism{
		mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: mechanism.Gaussian{}},
		sampledGaussian(0.1, math.NaN()), sampledGaussian(0.1, -1), sampledGaussian(0.1, 1e300),
	} {
		q := good
		q.Event.Mechanism = m
		if got := calibrate(t, q); math.Abs(got.Value/want.Value-1) > Tolerance || got.Field != "noise_multiplier" {
			t.Errorf("%v: %+v, want %v", m, got, want.Value)
		}
	}
	for _, m := range []mechanism.PoissonSampled{{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}},
		{BatchSize: 10, DatasetSize: 5, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}} {
		q := good
		q.Solve, q.Event.Mechanism = SolveSamplingProbability, m
		holds(t, q, calibrate(t, q))
	}
}

// A stop leaves the best that is proven to fit.
func TestCalibrateStopped(t *testing.T) {
	q := Calibration{Fixed: compose(t, mechanism.AddOrRemoveOne),
		Event: mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: 1000}, Solve: SolveStandardDeviation,
		Epsilon: 1, Delta: 1e-5}
	best := calibrate(t, q)
	for asks := range 40 {
		n, late := 0, false
		q.Stop = func() bool { n++; late = n > asks; return late }
		got := calibrate(t, q)
		if (got.Exceeding == nil) != late {
			t.Errorf("stopped after %d: %+v", asks, got)
		}
		if got.Value < best.Value*(1-Tolerance) || got.Answer.Epsilon > q.Epsilon {
			t.Fatalf("stopped after %d: %+v, at leisure %v", asks, got, best.Value)
		}
		if a := ask(t, compose(t, mechanism.AddOrRemoveOne, got.Event), AtDelta(q.Delta)); a.Epsilon > q.Epsilon {
			t.Fatalf("stopped after %d: σ = %v has ε = %v", asks, got.Value, a.Epsilon)
		}
	}
}

// With no time at all the first value that fits is the answer; where none can be
// found there is no answer.
func TestCalibrateWithoutTime(t *testing.T) {
	q := Calibration{Fixed: compose(t, mechanism.AddOrRemoveOne),
		Event: mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 3},
		Solve: SolveCount, Epsilon: 1, Delta: 1e-5, Stop: func() bool { return true }}
	s, err := newSearch(q)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.run(); err != nil || s.probes != 1 || got.Value != 3 || got.Exceeding != nil {
		t.Errorf("%+v, %v after %d probes; want 3 after 1", got, err, s.probes)
	}
	q.Epsilon, q.Event.Mechanism = 1e-9, mechanism.Gaussian{NoiseMultiplier: 1}
	if got, err := Calibrate(q); !errors.Is(err, ErrStopped) {
		t.Errorf("%+v, %v; want ErrStopped", got, err)
	}
	q.Fixed = compose(t, mechanism.AddOrRemoveOne, q.Event)
	if got, err := Calibrate(q); !errors.Is(err, ErrStopped) {
		t.Errorf("%+v, %v; want ErrStopped", got, err)
	}
}

func TestJoin(t *testing.T) {
	g, p := mechanism.Gaussian{NoiseMultiplier: 1}, mechanism.PureDP{Epsilon: 1}
	a := compose(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: g, Count: 2})
	b := compose(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: p, Count: 1},
		mechanism.Event{Mechanism: g, Count: 3})
	c, err := Join(a, b)
	if err != nil || c.Adjacency != mechanism.ReplaceOne || len(c.Parts) != 2 ||
		c.Parts[0] != (mechanism.Part{Mechanism: g, Count: 5}) ||
		c.Parts[1] != (mechanism.Part{Mechanism: p, Count: 1}) {
		t.Errorf("%+v, %v", c, err)
	}
	if a.Parts[0].Count != 2 {
		t.Error("Join changed its argument")
	}
	a.Parts[0].Count = math.MaxInt64 - 2
	if _, err := Join(a, b); err == nil || !strings.Contains(err.Error(), "at most 2 more") {
		t.Errorf("%v", err)
	}
}
