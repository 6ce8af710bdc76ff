// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"math/rand"
	"reflect"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

func drawEvent(t *rapid.T, adj mechanism.Adjacency) mechanism.Event {
	positive := func(name string, low, high float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, name))
	}
	all := []func() mechanism.Mechanism{
		func() mechanism.Mechanism { return mechanism.Gaussian{NoiseMultiplier: positive("σ", 0.5, 100)} },
		func() mechanism.Mechanism { return mechanism.GaussianDP{Mu: positive("μ", 0.01, 2)} },
		func() mechanism.Mechanism {
			return mechanism.Laplace{Scale: positive("b", 0.5, 100), Sensitivity: 1}
		},
		func() mechanism.Mechanism { return mechanism.PureDP{Epsilon: positive("ε", 1e-3, 2)} },
		func() mechanism.Mechanism {
			return mechanism.ApproximateDP{Epsilon: positive("ε", 1e-3, 2), Delta: positive("δ", 1e-15, 1e-7)}
		},
		func() mechanism.Mechanism { return mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 0.5)} },
		func() mechanism.Mechanism {
			return mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 0.5), Delta: positive("δ", 1e-15, 1e-7)}
		},
		func() mechanism.Mechanism { return mechanism.NameAndShame{Delta: positive("δ", 1e-15, 1e-7)} },
		func() mechanism.Mechanism {
			e := positive("ε", 1e-3, 0.5)
			return mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-e, 0, e),
				Masses: mechanism.NumbersOf(0.3*math.Exp(-e), 0.7-0.3*math.Exp(-e)-1e-9, 0.3), InfiniteMass: 1e-9}
		},
		func() mechanism.Mechanism {
			m := mechanism.RepeatAndSelect{Mechanism: mechanism.PureDP{Epsilon: positive("ε", 1e-3, 0.5)},
				Mean: positive("mean", 1, 20)}
			if adj == mechanism.AddOrRemoveOne {
				return mechanism.Parallel{Parts: mechanism.ListOf[mechanism.Mechanism](m,
					mechanism.Laplace{Scale: positive("b", 0.5, 100), Sensitivity: 1})}
			}
			return m
		},
		func() mechanism.Mechanism {
			e := positive("ε", 1e-3, 0.1)
			return mechanism.RenyiDP{Orders: mechanism.NumbersOf(1.5, 2, 8, 64),
				Epsilons: mechanism.NumbersOf(e, 1.3*e, 6*e, 50*e)}
		},
		func() mechanism.Mechanism {
			return composed(mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: positive("σ", 1, 100)},
				Count: 2},
				mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: positive("ε", 1e-3, 0.1)}, Count: 3})
		},
		func() mechanism.Mechanism {
			return mechanism.DPSGD{NoiseMultiplier: positive("σ", 0.7, 10), BatchSize: 10, DatasetSize: 1000,
				Epochs: positive("epochs", 0.1, 10)}
		},
		func() mechanism.Mechanism {
			return sampledGaussian(positive("q", 1e-5, 0.999), positive("σ", 0.5, 10))
		},
		func() mechanism.Mechanism {
			return mechanism.PoissonSampled{SamplingProbability: positive("q", 1e-5, 0.999),
				Mechanism: mechanism.Laplace{Scale: positive("b", 0.5, 100), Sensitivity: 1}}
		},
		func() mechanism.Mechanism {
			p := mechanism.PoissonSampled{SamplingProbability: positive("q", 1e-5, 0.999)}
			switch {
			case adj != mechanism.AddOrRemoveOne:
				p.Mechanism = mechanism.RandomizedResponse{Epsilon: positive("ε", 1e-3, 2),
					Buckets: rapid.Uint64Range(2, 50).Draw(t, "k")}
			case rapid.Bool().Draw(t, "pure"):
				p.Mechanism = mechanism.PureDP{Epsilon: positive("ε", 1e-3, 2)}
			default:
				p.Mechanism = mechanism.ApproximateDP{Epsilon: positive("ε", 1e-3, 2),
					Delta: positive("δ", 1e-15, 1e-7)}
			}
			return p
		},
		func() mechanism.Mechanism {
			return mechanism.DiscreteGaussian{StandardDeviation: positive("σ", 0.5, 100),
				Sensitivity: float64(rapid.IntRange(1, 20).Draw(t, "Δ"))}
		},
		func() mechanism.Mechanism {
			return mechanism.DiscreteLaplace{Scale: positive("b", 0.5, 100),
				Sensitivity: float64(rapid.IntRange(1, 20).Draw(t, "Δ"))}
		},
		func() mechanism.Mechanism {
			return mechanism.TruncatedLaplace{Scale: positive("b", 0.5, 100), Bound: 1e4, Sensitivity: 1}
		},
		func() mechanism.Mechanism {
			return mechanism.Exponential{Epsilon: positive("ε", 1e-3, 2)}
		},
		func() mechanism.Mechanism {
			return mechanism.ReportNoisyMax{Distribution: mechanism.MaxNoise(rapid.IntRange(1, 3).Draw(t, "noise")),
				Epsilon: positive("ε", 1e-3, 2)}
		},
		func() mechanism.Mechanism { return drawBatches(t, adj, positive) },
		func() mechanism.Mechanism {
			return mechanism.Group{Size: rapid.Uint64Range(1, 5).Draw(t, "size"),
				Mechanism: rapid.SampledFrom([]mechanism.Mechanism{
					mechanism.Laplace{Scale: positive("b", 2, 100), Sensitivity: 1},
					mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 0.05)},
					mechanism.ApproximateDP{Epsilon: positive("ε", 1e-3, 0.5), Delta: 1e-12},
					sampledGaussian(0.1, positive("σ", 1, 10)),
					mechanism.DiscreteGaussian{StandardDeviation: positive("σ", 2, 100), Sensitivity: 1},
					mechanism.DiscreteLaplace{Scale: positive("b", 2, 100), Sensitivity: 1},
					mechanism.TruncatedLaplace{Scale: positive("b", 0.5, 100), Bound: 1e4, Sensitivity: 1},
					mechanism.Histogram{LaplaceScale: positive("b", 2, 100)},
				}).Draw(t, "of one")}
		},
		func() mechanism.Mechanism {
			return mechanism.MixtureOfGaussians{StandardDeviation: positive("σ", 1, 100),
				Sensitivities: mechanism.NumbersOf(0, 1, 2), Probabilities: mechanism.NumbersOf(0.75, 0.125, 0.125)}
		},
		func() mechanism.Mechanism { return mechanism.Histogram{LaplaceScale: positive("b", 0.5, 100)} },
		func() mechanism.Mechanism {
			return mechanism.RandomizedResponse{Epsilon: positive("ε", 1e-3, 2),
				Buckets: rapid.Uint64Range(2, 50).Draw(t, "k")}
		},
	}
	n := len(all)
	if adj == mechanism.AddOrRemoveOne {
		n--
	}
	return mechanism.Event{Mechanism: all[rapid.IntRange(0, n-1).Draw(t, "kind")](),
		Count: rapid.Uint32Range(1, 300).Draw(t, "count")}
}

// drawBatches draws a mechanism on batches other than Poisson samples, or over many steps.
func drawBatches(t *rapid.T, adj mechanism.Adjacency,
	positive func(name string, low, high float64) float64) mechanism.Mechanism {
	g := mechanism.Gaussian{NoiseMultiplier: positive("σ", 1, 100)}
	taking := mechanism.Participation{Steps: rapid.Uint64Range(1, 100).Draw(t, "steps"), Participations: 1}
	all := []mechanism.Mechanism{
		mechanism.Shuffled{BatchSize: 10, DatasetSize: 1000, Mechanism: g},
		mechanism.TreeAggregation{NoiseMultiplier: g.NoiseMultiplier, Participation: taking},
		mechanism.BandedMatrix{NoiseMultiplier: g.NoiseMultiplier, Participation: taking,
			Coefficients: mechanism.NumbersOf(1, 0.5)},
		mechanism.TruncatedPoissonSampled{SamplingProbability: 0.01, DatasetSize: 1000,
			MaximumBatchSize: 40, Mechanism: g},
	}
	if adj == mechanism.ReplaceOne {
		all = append(all, mechanism.FixedSizeSampled{BatchSize: 10, DatasetSize: 1000, Mechanism: g})
	}
	return rapid.SampledFrom(all).Draw(t, "batches")
}

func drawEvents(t *rapid.T) (mechanism.Adjacency, []mechanism.Event) {
	adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne,
		mechanism.ZeroOut}).Draw(t, "adjacency")
	events := make([]mechanism.Event, rapid.IntRange(1, 4).Draw(t, "events"))
	for i := range events {
		events[i] = drawEvent(t, adj)
	}
	return adj, events
}

func drawQuestion(t *rapid.T) Question {
	if rapid.Bool().Draw(t, "asked by δ") {
		return AtDelta(math.Exp(-rapid.Float64Range(0.01, 600).Draw(t, "−ln δ")))
	}
	return AtEpsilon(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 100)).Draw(t, "ε"))
}

func mustAsk(t *rapid.T, adj mechanism.Adjacency, events []mechanism.Event, q Question) Answer {
	c, err := mechanism.Compose(adj, events)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Ask(c, q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// value is what was asked for, on a scale on which more is worse.
func value(a Answer, q Question) float64 {
	if q.Delta != nil {
		return a.Epsilon
	}
	return a.LogDelta
}

// proven is what the answer cannot have overstated: its lower bound where it is
// an interval, pld's, and otherwise the answer.
func proven(a Answer, q Question) float64 {
	lower := a.LogDeltaLower
	if q.Delta != nil {
		lower = a.EpsilonLower
	}
	switch {
	case a.Analysis != PLD:
		return value(a, q)
	case lower == nil:
		return math.Inf(-1)
	}
	return *lower
}

// Neither the order of reports nor how they are grouped matters, to the last
// bit: an answer can be replayed.
func TestOrderAndGroupingDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawEvents(t)
		q := drawQuestion(t)
		want := mustAsk(t, adj, events, q)
		var single []mechanism.Event
		for _, e := range events {
			for range e.Count {
				single = append(single, mechanism.Event{Mechanism: e.Mechanism, Count: 1})
			}
		}
		rand.New(rand.NewSource(int64(len(single)))).Shuffle(len(single),
			func(i, j int) { single[i], single[j] = single[j], single[i] })
		if got := mustAsk(t, adj, single, q); !reflect.DeepEqual(got, want) {
			t.Fatalf("one by one, shuffled: %+v\nin groups: %+v", got, want)
		}
	})
}

// More steps never lower the answer, beyond the search's 1e−9 and pld's interval.
func TestMoreStepsNeverCostLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawEvents(t)
		q := drawQuestion(t)
		before := proven(mustAsk(t, adj, events, q), q)
		more := append(append([]mechanism.Event{}, events...), drawEvent(t, adj))
		after := value(mustAsk(t, adj, more, q), q)
		if after < before-1e-9*(1+math.Abs(before)) {
			t.Fatalf("%v after %+v, %v with one more", before, events, after)
		}
	})
}

// The answer is the least of all analyses, above its lower bound; the
// questions agree: δ(ε(δ)) ≤ δ.
func TestAnswerIsLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawEvents(t)
		q := drawQuestion(t)
		a := mustAsk(t, adj, events, q)
		winner := false
		for _, r := range a.Analyses {
			if r.Unsupported != "" {
				if r != (Result{Analysis: r.Analysis, Unsupported: r.Unsupported}) {
					t.Fatalf("unsupported with numbers: %+v", r)
				}
				continue
			}
			bound := r.Epsilon
			if q.Epsilon != nil {
				bound = r.LogDelta
				// Basic composition adds up δ, all others have its logarithm.
				consistent := r.Delta == math.Min(1, num.ExpUp(r.LogDelta))
				if r.Analysis == Basic {
					consistent = r.LogDelta == num.LogUp(r.Delta)
				}
				if !(r.Delta >= 0 && r.Delta <= 1) || !consistent {
					t.Fatalf("%+v", r)
				}
			}
			if math.IsNaN(bound) || bound < value(a, q) {
				t.Fatalf("answer %+v above %+v", a, r)
			}
			winner = winner || r.Analysis == a.Analysis && bound == value(a, q)
		}
		if !winner {
			t.Fatalf("%+v is no analysis's bound", a)
		}
		if a.EpsilonLower != nil && *a.EpsilonLower > a.Epsilon || a.DeltaLower != nil && *a.DeltaLower > a.Delta {
			t.Fatalf("lower bound above: %+v", a)
		}
		if q.Delta != nil && a.Epsilon > 0 && !math.IsInf(a.Epsilon, 1) {
			// The true δ there is at most the one asked for: no lower bound on it is above.
			back := mustAsk(t, adj, events, AtEpsilon(a.Epsilon))
			if l := back.LogDeltaLower; l != nil && *l > num.LogUp(*q.Delta) {
				t.Fatalf("ε(%v) = %v, but ln δ there is at least %v", *q.Delta, a.Epsilon, *l)
			}
			// ε is within the search's 1e−9, however steep δ is there; pld's within its gap.
			back = mustAsk(t, adj, events, AtEpsilon(a.Epsilon+1e-9*(1+a.Epsilon)))
			if l := math.Log(*q.Delta); a.Analysis != PLD && back.LogDelta > l+1e-6*(1-l) {
				t.Fatalf("ε(%v) = %v, but ln δ there is %v", *q.Delta, a.Epsilon, back.LogDelta)
			}
		}
	})
}

// Smaller δ never costs less.
func TestEpsilonFallsWithDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawEvents(t)
		x := rapid.Float64Range(0.01, 600).Draw(t, "−ln δ")
		y := x + rapid.Float64Range(0, 50).Draw(t, "more")
		a, b := mustAsk(t, adj, events, AtDelta(math.Exp(-x))), mustAsk(t, adj, events, AtDelta(math.Exp(-y)))
		if at := proven(a, AtDelta(math.Exp(-x))); b.Epsilon < at*(1-1e-9) {
			t.Fatalf("ε ≥ %v at the larger δ, %v at the smaller", at, b.Epsilon)
		}
	})
}
