// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
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
		"a group of 255": of(mechanism.Group{Size: 255,
			Mechanism: sampled(0.01, mechanism.Gaussian{NoiseMultiplier: 20})}, 1000),
		"truncated": of(mechanism.TruncatedPoissonSampled{BatchSize: 256, DatasetSize: 60000,
			MaximumBatchSize: 320, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}, 1000),
		"the best of ten": of(
			mechanism.RepeatAndSelect{Mechanism: sampled(0.01, mechanism.Gaussian{NoiseMultiplier: 1}), Mean: 10}, 5),
		"sampled Laplace":    of(sampled(1e-3, laplace(0.1)), 100_000),
		"a sampled Gaussian": of(sampled(1e-3, mechanism.Gaussian{NoiseMultiplier: 0.8}), 100),
	}
	for i := range 200 {
		p := float64(i) / 1e5
		all["many"] = append(all["many"],
			mechanism.Event{Mechanism: sampled(0.01+p, mechanism.Gaussian{NoiseMultiplier: 1}), Count: 3},
			mechanism.Event{Mechanism: sampled(0.01+p, laplace(1)), Count: 2})
	}
	for i := range 40 {
		all["tables"] = append(all["tables"], of(tableOf(4096, 0.02+float64(i)/1e5), 1)...)
	}
	all["a sampled table"] = of(sampled(0.01, tableOf(4096, 0.3)), 100)
	all["a mixture"] = of(mixtureOf(256), 10)
	all["a release on parts"] = of(partsOf(16, true), 1)
	all["parts by outputs"] = of(partsOf(16, false), 2)
	return all
}

// tableOf is a table of n losses of about the same mass, between about −width/2 and width/2.
func tableOf(n int, width float64) mechanism.Mechanism {
	losses, masses, sum := make([]float64, n), make([]float64, n), 0.0
	for i := range n {
		losses[i], masses[i] = (float64(i)/float64(n)-0.5)*width, 1/float64(n)
		sum += masses[i] * math.Exp(-losses[i])
	}
	for i := range losses { // Q has no more than 1
		losses[i] += math.Log(sum)
	}
	return mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(losses...), Masses: mechanism.NumbersOf(masses...)}
}

// mixtureOf is a mixture of n Gaussians.
func mixtureOf(n int) mechanism.Mechanism {
	distances, shares := make([]float64, n), make([]float64, n)
	for i := range n {
		distances[i], shares[i] = 2*float64(i)/float64(n), 1/float64(n)
	}
	return mechanism.MixtureOfGaussians{StandardDeviation: 2,
		Sensitivities: mechanism.NumbersOf(distances...), Probabilities: mechanism.NumbersOf(shares...)}
}

// partsOf is a release on n disjoint parts, each of a group of 255 with another sample.
func partsOf(n int, fixed bool) mechanism.Mechanism {
	var parts []mechanism.Mechanism
	for i := range n {
		step := mechanism.PoissonSampled{SamplingProbability: 0.001 + float64(i)/1e5,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: 30}}
		parts = append(parts, mechanism.Group{Size: 255, Mechanism: step})
	}
	return mechanism.Parallel{Parts: mechanism.ListOf(parts...), PartitionFixedInAdvance: fixed}
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
		if strings.Contains(name, "group") || strings.Contains(name, "part") { // takes too long at leisure
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
	return fmt.Sprintf("ε %g ≥ %g, ln δ %g ≥ %g by %s", a.Epsilon, lower(a.EpsilonLower), a.LogDelta,
		lower(a.LogDeltaLower), a.Analysis)
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
					if a, err := session.Ask(c, q); err != nil && !errors.Is(err, ErrStopped) ||
						err == nil && !(a.Epsilon > 0) {
						t.Errorf("%s: in a session: %+v, %v", name, a, err)
					}
				}
			}
		}
	}
}

// asks are the ways to compute what events cost, each told when to stop by in.
func asks(events []mechanism.Event) map[string]func(t testing.TB, in *num.Interrupt) {
	ways := map[string]func(t testing.TB, in *num.Interrupt){}
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
		c, err := mechanism.Compose(adj, events)
		if err != nil {
			continue
		}
		for name, q := range map[string]Question{"by δ": AtDelta(1e-5), "by ε": AtEpsilon(1)} {
			ways[fmt.Sprint(adj, " ", name)] = func(t testing.TB, in *num.Interrupt) {
				q.in, q.Stop = in, in.Stopped
				if _, err := new(Session).Ask(c, q); err != nil && !errors.Is(err, ErrStopped) {
					t.Error(err)
				}
			}
		}
		for _, b := range []Budget{
			{Guard: GuardBasic, Epsilon: 1, Delta: 1e-3}, {Guard: GuardApproximateZCDP, Rho: 1, Delta: 1e-3},
			{Guard: GuardGDP, Mu: 1}, {Guard: GuardRDP, Epsilon: 1, Delta: 1e-6},
		} {
			ways[fmt.Sprint(adj, " ", b.Guard)] = func(t testing.TB, in *num.Interrupt) {
				in.Try(func() {
					l, err := b.ResolveWithin(c, in) // an order is looked for; some have none
					if err != nil {
						return
					}
					for _, p := range c.Parts {
						l.Shares(p.Mechanism, adj, in)
					}
				})
			}
		}
	}
	return ways
}

// However a question is asked and whatever about, no more work is declared between two
// questions whether to stop than takes 10 ms.
func TestStopIsAskedOften(t *testing.T) {
	t.Parallel()
	const checks = 30
	for name, events := range costly() {
		for way, ask := range asks(events) {
			var in *num.Interrupt
			last, asked := 0, 0
			in = num.NewInterrupt(func() bool {
				if work := in.Spent() - last; work > 10_000_000 {
					t.Errorf("%s, %s: %d ms of work without a question whether to stop", name, way, work/1_000_000)
				}
				last = in.Spent()
				asked++
				return asked > checks
			})
			ask(t, in)
		}
	}
}

// What takes longer for a larger mechanism says so: a loop that declares nothing would run
// on after a stop, however long it is.
func TestWorkIsDeclared(t *testing.T) {
	t.Parallel()
	rate := func(m mechanism.Mechanism) mechanism.Mechanism {
		return mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: m}
	}
	orders := func(n int) mechanism.Mechanism {
		at, epsilons := make([]float64, n), make([]float64, n)
		for i := range n {
			at[i], epsilons[i] = 2+float64(i), 0.1+float64(i)/float64(n)
		}
		return mechanism.RenyiDP{Orders: mechanism.NumbersOf(at...), Epsilons: mechanism.NumbersOf(epsilons...)}
	}
	for _, c := range []struct {
		name string
		of   func(n int) mechanism.Mechanism
		n    int // and eight times as many
	}{
		{"losses", func(n int) mechanism.Mechanism { return tableOf(n, 0.3) }, 512},
		{"sampled losses", func(n int) mechanism.Mechanism { return rate(tableOf(n, 0.3)) }, 512},
		{"orders", orders, 16},
		{"components", mixtureOf, 32},
		{"parts that are tables", func(n int) mechanism.Mechanism {
			var parts []mechanism.Mechanism
			for i := range n {
				parts = append(parts, tableOf(64, 0.1+float64(i)/100))
			}
			return mechanism.Parallel{Parts: mechanism.ListOf(parts...)}
		}, 8},
	} {
		declared := func(n int) float64 {
			q := AtDelta(1e-3)
			q.in = num.NewInterrupt(func() bool { return false })
			if _, err := new(Session).Ask(compose(t, mechanism.AddOrRemoveOne,
				mechanism.Event{Mechanism: c.of(n), Count: 1}), q); err != nil {
				t.Fatal(err)
			}
			return float64(q.in.Spent())
		}
		if few, many := declared(c.n), declared(8*c.n); !(few > 0) || many < 2*few {
			t.Errorf("%d %s: %.3g ms of work are declared; of eight times as many %.3g", c.n, c.name, few/1e6, many/1e6)
		}
	}
}
