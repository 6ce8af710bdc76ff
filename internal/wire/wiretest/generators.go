// SPDX-License-Identifier: Apache-2.0

package wiretest

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Positive draws a parameter in (0, ∞), often at an edge.
func Positive() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{0x1p-1022, 1e-300, 0.1, 1, 1.1, 1 << 53, math.MaxFloat64}),
		rapid.Float64Range(0x1p-1022, math.MaxFloat64),
	)
}

// Chance draws a parameter in (0, 1).
func Chance() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{0x1p-1022, 1e-300, 0.1, 0.5, math.Nextafter(1, 0)}),
		rapid.Float64Range(0x1p-1022, math.Nextafter(1, 0)),
	)
}

// Mechanisms draws a descriptor that is valid under REPLACE_ONE.
func Mechanisms() *rapid.Generator[mechanism.Mechanism] {
	return rapid.Custom(func(t *rapid.T) mechanism.Mechanism {
		p := func(name string) float64 { return Positive().Draw(t, name) }
		g := mechanism.Gaussian{NoiseMultiplier: p("noise multiplier")}
		if rapid.Bool().Draw(t, "by sensitivity") {
			g = mechanism.Gaussian{StandardDeviation: p("σ"), Sensitivity: p("Δ")}
		}
		dataset := rapid.Uint64Range(1, mechanism.MaxDatasetSize).Draw(t, "dataset")
		bound := p("bound")
		whole := func() float64 { return float64(rapid.Uint64Range(1, mechanism.MaxWhole/2).Draw(t, "whole")) }
		return rapid.SampledFrom([]mechanism.Mechanism{
			g,
			mechanism.Gaussian{StandardDeviation: p("σ"), Distance: p("distance")},
			mechanism.Laplace{Scale: p("b"), Sensitivity: p("Δ")},
			mechanism.Laplace{Scale: p("b"), Distance: p("distance")},
			mechanism.PoissonSampled{SamplingProbability: Chance().Draw(t, "q"), Mechanism: g},
			mechanism.PoissonSampled{BatchSize: rapid.Uint64Range(1, dataset).Draw(t, "batch"),
				DatasetSize: dataset, Mechanism: g},
			mechanism.PoissonSampled{SamplingProbability: Chance().Draw(t, "q"),
				Mechanism: mechanism.Laplace{Scale: p("b"), Sensitivity: p("Δ")}},
			mechanism.PoissonSampled{SamplingProbability: Chance().Draw(t, "q"),
				Mechanism: mechanism.RandomizedResponse{Epsilon: p("ε")}},
			mechanism.RandomizedResponse{Epsilon: p("ε"),
				Buckets: rapid.SampledFrom([]uint64{0, 2, 3, mechanism.MaxBuckets}).Draw(t, "k")},
			mechanism.RandomizedResponse{Noise: Chance().Draw(t, "ν"),
				Buckets: rapid.Uint64Range(2, mechanism.MaxBuckets).Draw(t, "k")},
			mechanism.PureDP{Epsilon: p("ε")},
			mechanism.ApproximateDP{Epsilon: p("ε"), Delta: Chance().Draw(t, "δ")},
			mechanism.ZeroConcentratedDP{Rho: p("ρ")},
			mechanism.GaussianDP{Mu: p("μ")},
			mechanism.ZeroConcentratedDP{Rho: p("ρ"), Delta: Chance().Draw(t, "δ")},
			mechanism.RenyiDP{Orders: mechanism.NumbersOf(1+Chance().Draw(t, "α")/2+0x1p-30, 2, 3),
				Epsilons: mechanism.NumbersOf(p("ε"), p("ε"), p("ε"))},
			mechanism.NameAndShame{Delta: Chance().Draw(t, "δ")},
			mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-rapid.Float64Range(0, 0.1).Draw(t, "l"),
				rapid.Float64Range(0.2, 600).Draw(t, "l")), Masses: mechanism.NumbersOf(0.5, 0.25), InfiniteMass: 0.25},
			mechanism.RepeatAndSelect{Mechanism: g, Gamma: Chance().Draw(t, "γ"),
				Eta: rapid.Float64Range(0.5, 3).Draw(t, "η")},
			ComposedOf(mechanism.Event{Mechanism: g, Count: rapid.Uint32Range(1, 1<<31).Draw(t, "count")},
				mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: p("ε")}, Count: 1}),
			mechanism.DPSGD{NoiseMultiplier: p("σ"), MaxGradNorm: p("Δ"), BatchSize: 1, DatasetSize: dataset,
				Steps: rapid.Uint64Range(1, math.MaxUint32).Draw(t, "steps")},
			mechanism.DiscreteGaussian{StandardDeviation: p("σ"), Sensitivity: whole(),
				Coordinates: rapid.Uint64Range(0, 3).Draw(t, "coordinates")},
			mechanism.DiscreteLaplace{Scale: p("b"), Distance: whole()},
			mechanism.TruncatedLaplace{Scale: p("b"), Bound: bound, Distance: bound},
			mechanism.Exponential{Scale: p("b"), Sensitivity: p("Δ"), Monotone: rapid.Bool().Draw(t, "monotone")},
			mechanism.ReportNoisyMax{Distribution: mechanism.MaxNoise(rapid.IntRange(1, 3).Draw(t, "noise")),
				Scale: p("b"), Sensitivity: p("Δ"), Monotone: rapid.Bool().Draw(t, "monotone")},
			mechanism.AboveThreshold{ThresholdScale: p("b1"), QueryScale: p("b2"), Sensitivity: p("Δ"),
				Positives: rapid.Uint64Range(1, mechanism.MaxPositives).Draw(t, "c"),
				Monotone:  rapid.Bool().Draw(t, "monotone")},
			mechanism.AboveThreshold{ThresholdEpsilon: p("ε1"), QueryEpsilon: p("ε2")},
			mechanism.InverseSensitivity{Epsilon: p("ε")},
			mechanism.Histogram{LaplaceScale: p("b")},
			mechanism.CountingQueries{Queries: rapid.Uint64Range(1, mechanism.MaxWhole).Draw(t, "k"), Rho: p("ρ")},
			mechanism.Group{Size: rapid.Uint64Range(1, mechanism.MaxGroup).Draw(t, "size"), Mechanism: g},
			mechanism.FixedSizeSampled{BatchSize: rapid.Uint64Range(1, dataset).Draw(t, "batch"),
				DatasetSize: dataset, Mechanism: g},
			mechanism.TruncatedPoissonSampled{SamplingProbability: Chance().Draw(t, "q"), DatasetSize: max(dataset, 2),
				MaximumBatchSize: dataset, Mechanism: g},
			mechanism.Shuffled{BatchSize: rapid.Uint64Range(1, dataset).Draw(t, "batch"),
				DatasetSize: dataset, Mechanism: g},
			mechanism.MixtureOfGaussians{StandardDeviation: p("σ"), Sensitivities: mechanism.NumbersOf(0, p("Δ")),
				Probabilities: mechanism.NumbersOf(0.75, 0.25)},
			mechanism.TreeAggregation{NoiseMultiplier: p("noise multiplier"),
				Participation: someParticipation().Draw(t, "participation")},
			mechanism.BandedMatrix{StandardDeviation: p("σ"), Sensitivity: p("Δ"),
				Participation: someParticipation().Draw(t, "participation"),
				Coefficients: mechanism.NumbersOf(append([]float64{1},
					rapid.SliceOfN(rapid.Float64Range(1e-3, 2), 0, 30).Draw(t, "c")...)...)},
			mechanism.SampledMatrix{StepNoise: mechanism.StepNoise{NoiseMultiplier: p("noise")},
				Coefficients: mechanism.NumbersOf(1, 0.5), Steps: rapid.Uint64Range(1, 1<<32-1).Draw(t, "steps"),
				SamplingProbability: Chance().Draw(t, "q")},
		}).Draw(t, "mechanism")
	})
}

func someParticipation() *rapid.Generator[mechanism.Participation] {
	return rapid.Custom(func(t *rapid.T) mechanism.Participation {
		steps := rapid.Uint64Range(1, mechanism.MaxDatasetSize).Draw(t, "steps")
		return mechanism.Participation{Steps: steps,
			Participations:    rapid.Uint64Range(0, steps).Draw(t, "participations"),
			MinimumSeparation: rapid.Uint64Range(0, mechanism.MaxDatasetSize).Draw(t, "separation")}
	})
}

func Events(from, to int) *rapid.Generator[[]mechanism.Event] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mechanism.Event {
		return mechanism.Event{
			Mechanism: Mechanisms().Draw(t, "mechanism"),
			Count: rapid.OneOf(rapid.SampledFrom([]uint32{1, 127, 128, math.MaxUint32}),
				rapid.Uint32Range(1, math.MaxUint32)).Draw(t, "count"),
		}
	}), from, to)
}

// Labels draws labels, nil if there are none.
func Labels() *rapid.Generator[[]ledger.Label] {
	return rapid.Custom(func(t *rapid.T) []ledger.Label {
		m := rapid.MapOfN(rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,62}`), Texts(maxText), 0,
			maxLabels).Draw(t, "labels")
		var labels []ledger.Label
		for _, k := range slices.Sorted(maps.Keys(m)) {
			labels = append(labels, ledger.Label{Key: k, Value: m[k]})
		}
		return labels
	})
}

// Texts draws valid UTF-8 of at most limit bytes, often exactly that long.
func Texts(limit int) *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "42", `"\<&>`, "\x00\n\u2028", "é日本", strings.Repeat("x", limit)}),
		rapid.StringN(0, limit/4, limit),
	)
}

func Writers() *rapid.Generator[ledger.Writer] {
	return rapid.Custom(func(t *rapid.T) ledger.Writer {
		return ledger.Writer{
			Principal: "unverified:" + rapid.StringMatching(`[A-Za-z0-9._@-]{1,128}`).Draw(t, "principal"),
			Name: rapid.OneOf(
				rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`),
				rapid.StringMatching(`request/[A-Za-z0-9._-]{1,128}`),
			).Draw(t, "name"),
		}
	})
}

func Entries() *rapid.Generator[ledger.Entry] {
	return rapid.Custom(func(t *rapid.T) ledger.Entry {
		e := ledger.Entry{
			Position: rapid.Uint64Min(1).Draw(t, "position"), Writer: Writers().Draw(t, "writer"),
			Sequence: 1, Time: Times().Draw(t, "time"), Action: Actions().Draw(t, "action"),
		}
		if !strings.HasPrefix(e.Writer.Name, "request/") {
			e.Sequence = rapid.Uint64Min(1).Draw(t, "sequence")
		}
		if _, ok := e.Action.(ledger.Approvable); ok && rapid.Bool().Draw(t, "approved") {
			e.Approval = &approval
		}
		if rapid.Bool().Draw(t, "part of a set") {
			e.Set = &ledger.SetPart{Contribution: ledger.Contribution(rapid.IntRange(1, 4).Draw(t, "contribution")),
				Journal:  rapid.Uint8Range(0, ledger.Journals-1).Draw(t, "journal"),
				Position: rapid.Uint64Min(1).Draw(t, "set's position"),
				Members:  rapid.Uint32Range(1, ledger.MaxMembers).Draw(t, "members")}
			e.First = e.Set.Members > 1 && rapid.Bool().Draw(t, "first of its contribution")
			e.Writer = ledger.SetWriter(e.Writer.Principal)
			e.Sequence = rapid.Uint64Min(1).Draw(t, "sequence of the set's lane")
		}
		e.Policy = rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "policy")
		copy(e.Digest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
		return e
	})
}

func Times() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64(), func(n int64) time.Time { return time.Unix(0, n).UTC() })
}

func Specs() *rapid.Generator[ledger.Spec] {
	return rapid.Custom(func(t *rapid.T) ledger.Spec {
		return ledger.Spec{
			Name: rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,62}(/[a-z0-9][a-z0-9._-]{0,62}){0,2}`).Draw(t,
				"name"),
			Adjacency: rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne,
				mechanism.ZeroOut}).Draw(t, "adjacency"),
			PrivacyUnit:    Texts(maxUnit).Draw(t, "unit"),
			DatasetID:      Texts(maxText).Draw(t, "dataset"),
			DatasetVersion: Texts(maxText).Draw(t, "version"),
			Owner:          Texts(maxText).Draw(t, "owner"),
			Labels:         Labels().Draw(t, "labels"),
		}
	})
}
