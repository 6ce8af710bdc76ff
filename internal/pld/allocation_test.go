// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// allocationRow is a workload with the δ of each direction at some ε, or with an interval that holds
// the δ of the larger one.
type allocationRow struct {
	losstest.Workload
	Truth []struct{ Epsilon, Remove, Add, LogDelta losstest.Number }

	Epsilon, Low, High float64
}

type allocationRows struct{ Rows, Sampled, Several []allocationRow }

func readAllocation(t *testing.T) (data allocationRows) {
	losstest.Read(t, "testdata/allocation.json", &data)
	if len(data.Rows) < 26 || len(data.Sampled) < 23 || len(data.Several) < 380 {
		t.Fatalf("%d, %d and %d rows", len(data.Rows), len(data.Sampled), len(data.Several))
	}
	return data
}

// Epochs of one to three steps, Gaussian and Laplace noise, against the oracle's integrals.
func TestAllocationAgainstOracle(t *testing.T) {
	for _, row := range readAllocation(t).Rows {
		c := pldtest.Workload(t, row.Workload)
		for _, u := range row.Truth {
			epsilon, want := u.Epsilon.Value, u.LogDelta.Value
			b, reason := LogDelta(c, epsilon, Wanted{})
			slack := 1e-13 * (1 + math.Abs(want))
			if reason != "" || !(b.Lower <= want+slack && want-slack <= b.Upper) {
				t.Errorf("%s: ln δ(%v) in [%v, %v] %s, it is %v", row.Name, epsilon, b.Lower, b.Upper, reason, want)
			}
			if !(b.Upper-b.Lower <= 1e-2) {
				t.Errorf("%s: ln δ(%v) in [%v, %v] is wide", row.Name, epsilon, b.Lower, b.Upper)
			}
			delta := math.Exp(want)
			if delta > 0.5 || epsilon == 0 {
				continue
			}
			e, reason := Epsilon(c, delta, Wanted{})
			if reason != "" || !(e.Lower <= epsilon*(1+1e-12) && epsilon*(1-1e-12) <= e.Upper) {
				t.Errorf("%s: ε(%v) in [%v, %v] %s, it is %v", row.Name, delta, e.Lower, e.Upper, reason, epsilon)
			}
			if !(e.Upper-e.Lower <= 1e-3*math.Max(1, epsilon)) {
				t.Errorf("%s: ε(%v) in [%v, %v] is wide", row.Name, delta, e.Lower, e.Upper)
			}
		}
	}
}

// Each direction alone: the pair of an epoch dominates the truth, and what is attained is dominated.
func TestDirectionsOfAllocationAgainstOracle(t *testing.T) {
	type member interface{ Attained() loss.Loss }
	for _, row := range readAllocation(t).Rows {
		above := pldtest.Loss(t, row.Events[0].Mechanism.Mechanism, mechanism.AddOrRemoveOne)
		below := above
		if m, ok := above.(member); ok && above.Facts().Dominating {
			below = m.Attained()
		} else {
			continue // one step
		}
		for _, u := range row.Truth {
			for d, want := range map[loss.Direction]float64{loss.Remove: u.Remove.Value, loss.Add: u.Add.Value} {
				if want < 1e-20 {
					continue
				}
				high := losstest.Hockey(above.Pair(d, loss.Dominating, nil), u.Epsilon.Value, 10)
				low := losstest.Hockey(below.Pair(d, loss.Dominated, nil), u.Epsilon.Value, 10)
				if !(low <= want*(1+1e-9) && want*(1-1e-9) <= high && high-low <= 1e-2*want) {
					t.Errorf("%s %v: δ(%v) in [%v, %v], it is %v", row.Name, d, u.Epsilon.Value, low, high, want)
				}
			}
		}
	}
}

// Larger epochs, alone and composed, against intervals from samples.
func TestAllocationAgainstSamples(t *testing.T) {
	rows := readAllocation(t).Sampled
	for i := 0; i < len(rows); i += testaid.Every(4) {
		row := rows[i]
		b, reason := LogDelta(pldtest.Workload(t, row.Workload), row.Epsilon, Wanted{})
		if reason != "" || !(math.Exp(b.Lower) <= row.High && math.Exp(b.Upper) >= row.Low) {
			t.Errorf("%s: δ(%v) in [%v, %v] %s; by samples [%v, %v]", row.Name, row.Epsilon,
				math.Exp(b.Lower), math.Exp(b.Upper), reason, row.Low, row.High)
		}
		if !(b.Upper-b.Lower <= 1e-2) {
			t.Errorf("%s: ln δ(%v) in [%v, %v] is wide", row.Name, row.Epsilon, b.Lower, b.Upper)
		}
	}
}

// A record in several steps costs no more than is charged, and no less than is said to be spent whatever the
// analysis (docs/math/allocation.md §1.11.4).
func TestAllocationOfSeveralSteps(t *testing.T) {
	t.Parallel()
	for i, row := range readAllocation(t).Several {
		if i >= 5 && i%testaid.Every(8) > 0 { // those that were drawn at random
			continue
		}
		c := pldtest.Workload(t, row.Workload)
		b, reason := LogDelta(c, row.Epsilon, Wanted{})
		if reason != "" || !(math.Exp(b.Upper) >= row.Low) {
			t.Errorf("%s: δ(%v) ≤ %v %s; by samples [%v, %v]", row.Name, row.Epsilon,
				math.Exp(b.Upper), reason, row.Low, row.High)
		}
		if !(math.Exp(b.Lower) <= row.High && math.Exp(b.Lower) > 0) {
			t.Errorf("%s: δ(%v) ≥ %v whatever the analysis; by samples [%v, %v]", row.Name, row.Epsilon,
				math.Exp(b.Lower), row.Low, row.High)
		}
	}
}

// Noise so small or so large that likelihood ratios are no numbers of binary64, and more steps than
// anybody takes: an answer, and one that is no less than what the record's absence would cost.
func TestExtremeAllocations(t *testing.T) {
	for _, m := range []mechanism.Mechanism{
		mechanism.Gaussian{NoiseMultiplier: 0.01}, mechanism.Gaussian{NoiseMultiplier: 1e-5},
		mechanism.Gaussian{NoiseMultiplier: 1e-300}, mechanism.Gaussian{NoiseMultiplier: 1e300},
		mechanism.Laplace{Scale: 1e-3, Sensitivity: 1}, mechanism.Laplace{Scale: 1e-300, Sensitivity: 1},
		mechanism.Laplace{Scale: 1e300, Sensitivity: 1}, mechanism.Gaussian{NoiseMultiplier: 1e6},
	} {
		for _, several := range []mechanism.RandomAllocation{
			{Steps: 5, Selected: 2, Mechanism: m}, {Steps: mechanism.MaxDatasetSize, Selected: 2, Mechanism: m},
		} {
			e := mechanism.Event{Mechanism: several, Count: 1}
			c := pldtest.Compose(t, mechanism.ZeroOut, e)
			if b, reason := Epsilon(c, 1e-6, Wanted{}); !(b.Lower >= 0 && b.Lower <= b.Upper) {
				t.Errorf("%v: ε in %+v %s", several, b, reason)
			}
		}
		for _, steps := range []uint64{2, mechanism.MaxDatasetSize} {
			l, err := kinds.Of(mechanism.RandomAllocation{Steps: steps, Mechanism: m}, mechanism.ZeroOut)
			if err != nil {
				t.Fatal(err)
			}
			one, err := kinds.Of(m, mechanism.ZeroOut)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := Epsilon(loss.Composition{{Loss: l, Count: 1}}, 1e-6, Wanted{})
			most, _ := Epsilon(loss.Composition{{Loss: one, Count: 1}}, 1e-6, Wanted{})
			if !(b.Lower >= 0 && b.Lower <= b.Upper && b.Lower <= most.Upper) {
				t.Errorf("%v in %d steps: ε in [%v, %v], one step costs %v", m, steps, b.Lower, b.Upper, most.Upper)
			}
		}
	}
}

// Passes over one choice make a large distance: the bounds meet there, too.
func TestAllocationAtLargeDistances(t *testing.T) {
	testaid.Long(t, "it computes far tails")
	for _, m := range []mechanism.RandomAllocation{
		{Steps: 235, Passes: 60, Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.5}},
		{Steps: 1000, Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.07}},
	} {
		c := loss.Composition{{Loss: pldtest.Loss(t, m, mechanism.AddOrRemoveOne), Count: 1}}
		if e, _ := Epsilon(c, 1e-6, Wanted{}); !(e.Lower <= e.Upper && e.Upper-e.Lower <= 1e-3*e.Upper) {
			t.Errorf("%v: %+v", m, e)
		}
	}
}

// The loss of one in many steps has a heavy tail, of which the part that is too rare to matter is cut: it must
// hide nothing else by its moment, which may be beyond floating point, nor take more with it than that part.
func TestAllocationWithHeavyTails(t *testing.T) {
	testaid.Long(t, "it computes far tails")
	for _, c := range []struct {
		steps, epochs uint64
		sigma         float64
	}{{30_000, 3, 1}, {100_000, 2, 1}, {100_000, 10, 1}, {100_000, 10, 1 / 1.4}, {100_000, 100, 1 / 1.4}} {
		m := mechanism.RandomAllocation{Steps: c.steps, Mechanism: mechanism.Gaussian{NoiseMultiplier: c.sigma}}
		releases := loss.Composition{{Loss: pldtest.Loss(t, m, mechanism.ZeroOut), Count: c.epochs}}
		for _, delta := range []float64{1e-6, 1e-12} {
			if e, _ := Epsilon(releases, delta, Wanted{}); !(e.Lower <= e.Upper && e.Upper-e.Lower <= 2e-3) {
				t.Errorf("%v, %d times, δ = %v: %+v", m, c.epochs, delta, e)
			}
		}
	}
}

// One step is the mechanism itself. More noise, more steps and fewer epochs never cost more, up to the
// proven width, and other releases may come before or after.
func TestPropertiesOfAllocation(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(20, 1))
	between := func(a, b float64) float64 { return math.Exp(math.Log(a) + (math.Log(b)-math.Log(a))*draw.Float64()) }
	for n := 0; n < 5; n += testaid.Every(5) {
		sigma, steps, epochs := between(0.25, 10), 2+draw.Uint64N(300), 1+draw.Uint32N(20)
		laplace := draw.IntN(3) == 0
		event := func(sigma float64, steps uint64, epochs uint32) mechanism.Event {
			var inner mechanism.Mechanism = mechanism.Gaussian{NoiseMultiplier: sigma}
			if laplace {
				inner = mechanism.Laplace{Scale: sigma, Sensitivity: 1}
			}
			if steps == 0 {
				return mechanism.Event{Mechanism: inner, Count: epochs}
			}
			return mechanism.Event{Mechanism: mechanism.RandomAllocation{Steps: steps, Mechanism: inner}, Count: epochs}
		}
		of := func(events ...mechanism.Event) loss.Bounds {
			e, reason := Epsilon(pldtest.Losses(t, events...), 1e-6, Wanted{})
			if reason != "" || !(0 <= e.Lower && e.Lower <= e.Upper) {
				t.Fatalf("%v: %+v %s", events, e, reason)
			}
			return e
		}
		base := event(sigma, steps, epochs)
		e := of(base)
		if one, plain := of(event(sigma, 1, epochs)), of(event(sigma, 0, epochs)); one != plain {
			t.Errorf("one step costs %+v, the mechanism alone %+v", one, plain)
		}
		for what, less := range map[string]mechanism.Event{
			"more noise": event(sigma*1.05, steps, epochs), "more steps": event(sigma, steps+1+steps/4, epochs),
			"fewer epochs": event(sigma, steps, max(1, epochs-1)),
		} {
			if b := of(less); !(b.Lower <= e.Upper) || !(b.Upper <= e.Upper+1e-3*math.Max(1, e.Upper)) {
				t.Errorf("%v: %+v, with %s (%v) %+v", base, e, what, less, b)
			}
		}
		other, third := pldtest.SampledSteps(0.01, 1, 100), event(sigma*2, steps+7, 1)
		if a, b := of(base, other, third), of(third, base, other); a != b || !(a.Upper >= e.Lower) {
			t.Errorf("%v with others: %+v and %+v", base, a, b)
		}
	}
}
