package accountant

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// costly are workloads of which single steps take long, or which have many of them.
func costly() map[string][]mechanism.Event {
	sampled := func(q float64, m mechanism.Mechanism) mechanism.Mechanism {
		return mechanism.PoissonSampled{SamplingProbability: q, Mechanism: m}
	}
	laplace := func(scale float64) mechanism.Mechanism { return mechanism.Laplace{Scale: scale, Sensitivity: 1} }
	of := func(m mechanism.Mechanism, n uint32) []mechanism.Event {
		return []mechanism.Event{{Mechanism: m, Count: n}}
	}
	all := map[string][]mechanism.Event{
		"a group of 255":     of(mechanism.Group{Size: 255, Mechanism: sampled(0.01, mechanism.Gaussian{NoiseMultiplier: 20})}, 1000),
		"truncated":          of(mechanism.TruncatedPoissonSampled{BatchSize: 256, DatasetSize: 60000, MaximumBatchSize: 320, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}, 1000),
		"the best of ten":    of(mechanism.RepeatAndSelect{Mechanism: sampled(0.01, mechanism.Gaussian{NoiseMultiplier: 1}), Mean: 10}, 5),
		"sampled Laplace":    of(sampled(1e-3, laplace(0.1)), 100_000),
		"a sampled Gaussian": of(sampled(1e-3, mechanism.Gaussian{NoiseMultiplier: 0.8}), 100),
	}
	for i := range 200 {
		p := float64(i) / 1e5
		all["many"] = append(all["many"], mechanism.Event{Mechanism: sampled(0.01+p, mechanism.Gaussian{NoiseMultiplier: 1}), Count: 3},
			mechanism.Event{Mechanism: sampled(0.01+p, laplace(1)), Count: 2})
	}
	return all
}

// Wherever a question is stopped, the answer is a bound: never below what is proven from
// below at leisure, nor its lower bound above what is proven from above. And it ends soon:
// Stop is not asked more than a few times after it has said so.
func TestStopAnywhere(t *testing.T) {
	t.Parallel()
	workloads := costly()
	var names []string
	full := map[string][2]Answer{}
	for name, events := range workloads {
		if name == "a group of 255" { // takes too long at leisure
			continue
		}
		names = append(names, name)
		c := compose(t, mechanism.AddOrRemoveOne, events...)
		full[name] = [2]Answer{ask(t, c, AtDelta(1e-5)), ask(t, c, AtEpsilon(1))}
	}
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom(names).Draw(r, "workload")
		byDelta := rapid.Bool().Draw(r, "by delta")
		left := int(math.Exp(rapid.Float64Range(0, math.Log(3000)).Draw(r, "ln of the checks before it stops")))
		c, after := compose(t, mechanism.AddOrRemoveOne, workloads[name]...), 0
		q, want := AtEpsilon(1), full[name][1]
		if byDelta {
			q, want = AtDelta(1e-5), full[name][0]
		}
		q.Stop = func() bool {
			if left--; left < 0 {
				after++
			}
			return left < 0
		}
		a, err := Ask(c, q)
		if errors.Is(err, ErrStopped) {
			return
		}
		if err != nil {
			r.Fatal(err)
		}
		if a.Stopped != (after > 0) {
			r.Fatalf("stopped %v; the answer says %v", after > 0, a.Stopped)
		}
		if a.Epsilon < lower(want.EpsilonLower) || a.LogDelta < lower(want.LogDeltaLower) ||
			lower(a.EpsilonLower) > want.Epsilon || lower(a.LogDeltaLower) > want.LogDelta {
			r.Fatalf("stopped: %s; at leisure: %s", shown(a), shown(want))
		}
		if after > 200 {
			r.Errorf("goes on for %d checks after it was stopped", after)
		}
	})
}

func lower(v *float64) float64 {
	if v == nil {
		return math.Inf(-1)
	}
	return *v
}

func shown(a Answer) string {
	return fmt.Sprintf("ε %g ≥ %g, ln δ %g ≥ %g by %s", a.Epsilon, lower(a.EpsilonLower), a.LogDelta, lower(a.LogDeltaLower), a.Analysis)
}

// What would run for minutes ends when it is told to, with a bound where one was proven.
func TestStopEnds(t *testing.T) {
	t.Parallel()
	for name, events := range costly() {
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
			c, err := mechanism.Compose(adj, events)
			if err != nil {
				continue
			}
			for _, checks := range []int{0, 3, 30} {
				left := checks
				stop := func() bool { left--; return left < 0 }
				q := AtDelta(1e-5)
				q.Stop = stop
				if a, err := Ask(c, q); err != nil && !errors.Is(err, ErrStopped) || err == nil && !(a.Epsilon > 0) {
					t.Errorf("%s: %+v, %v", name, a, err)
				}
				left = checks
				if curve, err := AskCurve(c, CurveQuestion{Stop: stop}); err != nil && !errors.Is(err, ErrStopped) ||
					err == nil && curve.Stopped != (left < 0) {
					t.Errorf("%s: a curve: stopped %v, %v", name, curve.Stopped, err)
				}
				left = checks
				var session Session
				for range 3 {
					if a, err := session.Ask(c, q); err != nil && !errors.Is(err, ErrStopped) || err == nil && !(a.Epsilon > 0) {
						t.Errorf("%s: in a session: %+v, %v", name, a, err)
					}
				}
			}
		}
	}
}
