// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// The fuzz targets of this file keep to the range that answers are promised for,
// whatever the fuzzer draws: σ 1e−3 … 1e6, q 1e−12 … 1, counts 1 … 1e9,
// δ 1e−300 … 0.999.

// within spreads a draw evenly over the logarithms of low … high.
func within(draw uint32, low, high float64) float64 {
	u := float64(draw) / math.MaxUint32
	return math.Max(low, math.Min(high, low*math.Pow(high/low, u)))
}

// ranged is one event of the range, from any three draws.
func ranged(kind uint8, a, b, n uint32) mechanism.Event {
	sigma, q := within(a, 1e-3, 1e6), within(b, 1e-12, 1)
	g := mechanism.Gaussian{NoiseMultiplier: sigma}
	sampled := mechanism.PoissonSampled{SamplingProbability: q, Mechanism: g}
	all := []mechanism.Mechanism{
		sampled, g, sampled, mechanism.Laplace{Scale: sigma, Sensitivity: 1}, sampled,
		mechanism.PureDP{Epsilon: 1 / sigma}, mechanism.ApproximateDP{Epsilon: 1 / sigma, Delta: q / 2},
		mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: float64(1 + b%1000)},
		mechanism.DiscreteLaplace{Scale: sigma, Sensitivity: float64(1 + b%1000)},
		mechanism.Exponential{Epsilon: 1 / sigma},
		mechanism.TruncatedLaplace{Scale: sigma, Bound: 10 * sigma, Distance: 20 * sigma * q * (1 - 1e-9)},
		mechanism.ZeroConcentratedDP{Rho: 1 / sigma},
		mechanism.RandomizedResponse{Epsilon: 1 / sigma, Buckets: 2 + uint64(b%100)},
	}
	return mechanism.Event{Mechanism: all[int(kind)%len(all)], Count: uint32(within(n, 1, 1e9))}
}

// rangedEvents are one or two of them, what the adjacency does not allow left out.
func rangedEvents(adj mechanism.Adjacency, kinds uint16, a, b, n, a2, b2, n2 uint32) []mechanism.Event {
	all := []mechanism.Event{ranged(uint8(kinds), a, b, n)}
	if kinds&0x8000 != 0 {
		all = append(all, ranged(uint8(kinds>>8), a2, b2, n2))
	}
	var events []mechanism.Event
	for _, e := range all {
		if e.Check(adj) == nil {
			events = append(events, e)
		}
	}
	return events
}

func rangedAdjacency(kinds uint16) mechanism.Adjacency {
	if kinds&0x80 != 0 {
		return mechanism.ReplaceOne
	}
	return mechanism.AddOrRemoveOne
}

// addRanged adds seeds that are spread over the range.
func addRanged(add func(kinds uint16, draws [8]uint32)) {
	state := uint64(1)
	for range 6 {
		var d [8]uint32
		for i := range d {
			state = state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
			d[i] = uint32(state >> 32)
		}
		add(uint16(state>>16), d)
	}
}

// FuzzAskRange: both questions, and what each says of the other. Where no analysis
// knows a lower bound there is nothing to compare.
func FuzzAskRange(f *testing.F) {
	addRanged(func(k uint16, d [8]uint32) { f.Add(k, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]) })
	f.Fuzz(askRange)
}

func askRange(t *testing.T, kinds uint16, a, b, n, a2, b2, n2, x, y uint32) {
	adj := rangedAdjacency(kinds)
	events := rangedEvents(adj, kinds, a, b, n, a2, b2, n2)
	c, err := mechanism.Compose(adj, events)
	if err != nil {
		t.Fatal(err)
	}
	byDelta, byEpsilon := AtDelta(within(x, 1e-300, 0.999)), AtEpsilon(within(y, 1e-6, 1e5)-1e-6)
	check(t, c, byDelta)
	check(t, c, byEpsilon)

	// δ(ε(δ)) ≤ δ and δ at the lower end of ε(δ) ≥ δ.
	e, logDelta := ask(t, c, byDelta), math.Log(*byDelta.Delta)
	slack := 1e-12 * (1 - logDelta)
	if !math.IsInf(e.Epsilon, 1) {
		if at := ask(t, c, AtEpsilon(e.Epsilon)); at.LogDeltaLower != nil && *at.LogDeltaLower > logDelta+slack {
			t.Fatalf("%v: ε(%v) ≤ %v, but ln δ there ≥ %v", events, *byDelta.Delta, e.Epsilon, *at.LogDeltaLower)
		}
	}
	if l := e.EpsilonLower; l != nil && *l > 0 && !math.IsInf(*l, 1) {
		if at := ask(t, c, AtEpsilon(*l)); at.LogDelta < logDelta-slack {
			t.Fatalf("%v: ε(%v) ≥ %v, but ln δ there ≤ %v", events, *byDelta.Delta, *l, at.LogDelta)
		}
	}
	// A part costs no more than the whole: one application of the first has a
	// closed curve, or Chernoff's bound and no lower one.
	if len(events) > 0 {
		one, err := mechanism.Compose(adj, []mechanism.Event{{Mechanism: events[0].Mechanism, Count: 1}})
		if err != nil {
			t.Fatal(err)
		}
		whole, part := ask(t, c, byEpsilon), ask(t, one, byEpsilon)
		if l := part.LogDeltaLower; l != nil && !(whole.LogDelta >= *l-1e-12*(1-*l)) {
			t.Fatalf("%v: ln δ(%v) ≤ %v, but one application of the first alone ≥ %v", events,
				*byEpsilon.Epsilon, whole.LogDelta, *l)
		}
	}
}

// FuzzCalibrateRange: a value that is found fits when it is asked about again, and the
// one said not to fit is not proven to.
func FuzzCalibrateRange(f *testing.F) {
	addRanged(func(k uint16, d [8]uint32) { f.Add(k, d[0], d[1], d[2], d[3], d[4]) })
	f.Fuzz(calibrateRange)
}

func calibrateRange(t *testing.T, kinds uint16, a, b, n, x, y uint32) {
	q := Calibration{
		Fixed: mechanism.Composition{Adjacency: rangedAdjacency(kinds)}, Event: ranged(uint8(kinds), a, b, n),
		Solve: Solve(kinds>>8%3 + 1), Epsilon: within(x, 1e-4, 1e4), Delta: within(y, 1e-300, 0.999), Stop: soon(3000),
	}
	got, err := Calibrate(q)
	if err != nil {
		var bad *mechanism.ParameterError
		var elsewhere *mechanism.AdjacencyError
		if !errors.As(err, &bad) && !errors.As(err, &elsewhere) && !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		return
	}
	if !(got.Answer.Epsilon <= q.Epsilon) {
		t.Fatalf("%+v: %+v", q, got)
	}
	if got.Exceeding == nil {
		return // there was no time
	}
	if again := ask(t, with(q.Fixed, got.Event), AtDelta(q.Delta)); again.Epsilon > q.Epsilon {
		t.Fatalf("%+v: %+v; asked again ε = %v", q, got, again.Epsilon)
	}
}

// FuzzCurveRange: δ falls along the curve, its bounds are in order, and they hold
// what a single question says.
func FuzzCurveRange(f *testing.F) {
	addRanged(func(k uint16, d [8]uint32) { f.Add(k, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]) })
	f.Fuzz(curveRange)
}

func curveRange(t *testing.T, kinds uint16, a, b, n, a2, b2, n2, x, y uint32) {
	adj := rangedAdjacency(kinds)
	c, err := mechanism.Compose(adj, rangedEvents(adj, kinds, a, b, n, a2, b2, n2))
	if err != nil {
		t.Fatal(err)
	}
	low, high := within(x, 1e-6, 1e3), within(y, 1e-6, 1e3)
	if low > high {
		low, high = high, low
	}
	curve, err := AskCurve(c, CurveQuestion{Epsilons: []float64{low, high}, Stop: soon(3000)})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range curve.Points {
		if !(p.LogDelta <= 0 && p.Delta >= 0 && p.Delta <= 1 && p.LogDelta <= num.LogUp(p.Delta)+1e-9) ||
			i > 0 && p.LogDelta > curve.Points[i-1].LogDelta {
			t.Fatalf("%+v: %+v", c, curve.Points)
		}
		if l := p.LogDeltaLower; l != nil && !(*l <= p.LogDelta) {
			t.Fatalf("%+v: %+v: lower end %v", c, p, *l)
		}
	}
	if !(curve.AdvantageLower >= 0 && curve.AdvantageLower <= curve.Advantage && curve.Advantage <= 1) {
		t.Fatalf("%+v: advantage %v … %v", c, curve.AdvantageLower, curve.Advantage)
	}
	single := ask(t, c, AtEpsilon(low))
	if l := curve.Points[0].LogDeltaLower; l != nil && *l > single.LogDelta ||
		single.LogDeltaLower != nil && *single.LogDeltaLower > curve.Points[0].LogDelta {
		t.Fatalf("%+v: the curve has %+v, asked alone %+v", c, curve.Points[0], single)
	}
}
