// SPDX-License-Identifier: Apache-2.0

package losstest

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// Draw draws a mechanism with ordinary parameters that is defined under adj.
func Draw(t *rapid.T, adj mechanism.Adjacency) mechanism.Mechanism {
	positive := func(name string, low, high float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, name))
	}
	all := []func() mechanism.Mechanism{
		func() mechanism.Mechanism {
			return mechanism.Gaussian{StandardDeviation: positive("σ", 0.3, 100), Sensitivity: 1}
		},
		func() mechanism.Mechanism { return mechanism.GaussianDP{Mu: positive("μ", 0.01, 3)} },
		func() mechanism.Mechanism {
			return mechanism.Laplace{Scale: positive("b", 0.1, 100), Sensitivity: 1}
		},
		func() mechanism.Mechanism { return mechanism.PureDP{Epsilon: positive("ε", 1e-4, 5)} },
		func() mechanism.Mechanism {
			return mechanism.ApproximateDP{Epsilon: positive("ε", 1e-4, 5), Delta: positive("δ", 1e-15, 1e-4)}
		},
		func() mechanism.Mechanism { return mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 2)} },
		func() mechanism.Mechanism {
			return mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 2), Delta: positive("δ", 1e-15, 1e-4)}
		},
		func() mechanism.Mechanism {
			a, b, c := positive("a", 1e-6, 3), positive("b", 1e-6, 3), positive("m", 1e-12, 0.3)
			low, high := rapid.Float64Range(0.01, 0.3).Draw(t, "p"), rapid.Float64Range(0.01, 0.3).Draw(t, "p")
			// Q's mass is at most 1: (1 + e^a·low) of P's finite mass or less.
			rest := 1 - c - low - high
			if s := low*math.Exp(a) + rest + high*math.Exp(-b); s > 1 {
				low /= s * math.Exp(a)
				rest = 1 - c - low - high
			}
			if low*math.Exp(a)+rest+high*math.Exp(-b) > 1 {
				return mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(b, 2*b),
					Masses: mechanism.NumbersOf(1-2*c, c), InfiniteMass: c}
			}
			return mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-a, 0, b),
				Masses: mechanism.NumbersOf(low, rest, high), InfiniteMass: c}
		},
		func() mechanism.Mechanism {
			m := mechanism.RepeatAndSelect{Mechanism: mechanism.GaussianDP{Mu: positive("μ", 0.01, 3)}}
			switch rapid.IntRange(0, 2).Draw(t, "how many runs") {
			case 0:
				m.Mean = positive("mean", 0.1, 100)
			case 1:
				m.Gamma, m.Eta = positive("γ", 1e-3, 0.99), rapid.SampledFrom([]float64{-0.7, 0, 1, 2}).Draw(t, "η")
			case 2:
				m.Gamma, m.FirstAboveThreshold = positive("γ", 1e-3, 0.99), true
			}
			return m
		},
		func() mechanism.Mechanism { return mechanism.NameAndShame{Delta: positive("δ", 1e-15, 0.5)} },
		func() mechanism.Mechanism {
			e := positive("ε", 1e-4, 1)
			return mechanism.RenyiDP{Orders: mechanism.NumbersOf(1.01, 2, 9.5, 1e3),
				Epsilons: mechanism.NumbersOf(e, 0.9*e, 5*e, 100*e)}
		},
		func() mechanism.Mechanism { return Table(t) },
		func() mechanism.Mechanism {
			return mechanism.PoissonSampled{SamplingProbability: positive("q", 1e-6, 1),
				Mechanism: mechanism.Composed{Events: mechanism.ListOf(
					mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: positive("σ", 0.7, 20)},
						Count: rapid.Uint32Range(1, 3).Draw(t, "n")})}}
		},
		func() mechanism.Mechanism {
			return mechanism.DiscreteGaussian{StandardDeviation: positive("σ", 0.1, 1e3),
				Sensitivity: float64(rapid.IntRange(1, 20).Draw(t, "Δ"))}
		},
		func() mechanism.Mechanism {
			return mechanism.DiscreteLaplace{Scale: positive("b", 0.1, 1e3),
				Sensitivity: float64(rapid.IntRange(1, 300).Draw(t, "Δ"))}
		},
		func() mechanism.Mechanism {
			b := positive("b", 0.1, 100)
			return mechanism.TruncatedLaplace{Scale: b, Bound: positive("τ", 1, 30*b+1),
				Distance: positive("d", 0.01, 1.9)}
		},
		func() mechanism.Mechanism { return mechanism.Exponential{Epsilon: positive("ε", 1e-4, 20)} },
		func() mechanism.Mechanism {
			return mechanism.AboveThreshold{ThresholdScale: positive("b1", 1, 100), QueryScale: positive("b2", 1, 100),
				Sensitivity: 1, Positives: 3}
		},
		func() mechanism.Mechanism { return mechanism.Histogram{LaplaceScale: positive("b", 0.1, 100)} },
		func() mechanism.Mechanism { return mechanism.InverseSensitivity{Epsilon: positive("ε", 1e-4, 20)} },
		func() mechanism.Mechanism {
			return mechanism.CountingQueries{Queries: rapid.Uint64Range(1, 1000).Draw(t, "queries"),
				Rho: positive("ρ", 1e-5, 2)}
		},
		func() mechanism.Mechanism {
			noise := rapid.SampledFrom([]mechanism.MaxNoise{mechanism.LaplaceMax, mechanism.ExponentialMax,
				mechanism.GumbelMax}).Draw(t, "noise")
			return mechanism.ReportNoisyMax{Epsilon: positive("ε", 1e-4, 20), Distribution: noise}
		},
		func() mechanism.Mechanism {
			return mechanism.PoissonSampled{SamplingProbability: positive("q", 1e-6, 1),
				Mechanism: mechanism.Gaussian{NoiseMultiplier: positive("σ", 0.4, 20)}}
		},
		func() mechanism.Mechanism {
			return mechanism.PoissonSampled{SamplingProbability: positive("q", 1e-9, 1),
				Mechanism: mechanism.Laplace{Scale: positive("b", 0.1, 100), Sensitivity: 1}}
		},
		func() mechanism.Mechanism {
			p := mechanism.PoissonSampled{SamplingProbability: positive("q", 1e-9, 1)}
			if adj != mechanism.AddOrRemoveOne {
				p.Mechanism = mechanism.RandomizedResponse{Epsilon: positive("ε", 1e-4, 5),
					Buckets: rapid.Uint64Range(2, 1000).Draw(t, "k")}
				return p
			}
			p.Mechanism = rapid.SampledFrom([]mechanism.Mechanism{
				mechanism.PureDP{Epsilon: positive("ε", 1e-4, 5)}, mechanism.GaussianDP{Mu: positive("μ", 0.01, 3)},
				mechanism.ApproximateDP{Epsilon: positive("ε", 1e-4, 5), Delta: positive("δ", 1e-15, 1e-4)},
				mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 2)},
			}).Draw(t, "declared")
			return p
		},
		func() mechanism.Mechanism { return Mixture(t) },
		func() mechanism.Mechanism {
			whole, b := float64(rapid.IntRange(1, 40).Draw(t, "Δ")), positive("b", 0.3, 100)
			p := mechanism.PoissonSampled{SamplingProbability: positive("q", 1e-6, 1),
				Mechanism: rapid.SampledFrom([]mechanism.Mechanism{
					mechanism.DiscreteLaplace{Scale: b, Sensitivity: whole},
					mechanism.DiscreteGaussian{StandardDeviation: b, Sensitivity: whole},
					mechanism.DiscreteGaussian{StandardDeviation: b, Sensitivity: whole, Coordinates: 3},
					mechanism.TruncatedLaplace{Scale: b, Bound: 40 + positive("τ", 1, 300), Sensitivity: whole},
				}).Draw(t, "noise")}
			if adj == mechanism.ReplaceOne {
				return p.Mechanism
			}
			if adj == mechanism.AddOrRemoveOne && rapid.IntRange(0, 3).Draw(t, "table") == 0 {
				p.Mechanism = rapid.SampledFrom(SampledNoises).Draw(t, "sampled")
			}
			return p
		},
		func() mechanism.Mechanism {
			g := mechanism.Group{Size: rapid.Uint64Range(1, 12).Draw(t, "size")}
			sampled := mechanism.PoissonSampled{SamplingProbability: positive("q", 1e-6, 1),
				Mechanism: mechanism.Gaussian{NoiseMultiplier: positive("σ", 0.4, 20)}}
			g.Mechanism = rapid.SampledFrom([]mechanism.Mechanism{
				sampled, sampled, mechanism.Laplace{Scale: positive("b", 1, 100), Sensitivity: 1},
				mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 0.1)},
				mechanism.ApproximateDP{Epsilon: positive("ε", 1e-4, 1), Delta: 1e-15},
				mechanism.GaussianDP{Mu: positive("μ", 0.01, 1)},
				mechanism.DiscreteGaussian{StandardDeviation: positive("σ", 0.3, 100), Sensitivity: 2},
				mechanism.DiscreteLaplace{Scale: positive("b", 0.3, 100), Sensitivity: 1},
				mechanism.TruncatedLaplace{Scale: positive("b", 0.3, 100),
					Bound: positive("τ", 13, 300), Sensitivity: 1},
				mechanism.Exponential{Epsilon: positive("ε", 1e-4, 2)},
				mechanism.AboveThreshold{ThresholdEpsilon: positive("ε1", 1e-4, 1), QueryEpsilon: 0.1},
				mechanism.Histogram{LaplaceScale: positive("b", 1, 100)},
				mechanism.TreeAggregation{NoiseMultiplier: positive("σ", 30, 1000), Participation: participation(t)},
			}).Draw(t, "of one")
			return g
		},
		func() mechanism.Mechanism {
			m := mechanism.TruncatedPoissonSampled{SamplingProbability: positive("q", 1e-6, 0.5), DatasetSize: 1000,
				MaximumBatchSize: rapid.Uint64Range(1, 1200).Draw(t, "most"),
				Mechanism:        mechanism.Gaussian{NoiseMultiplier: positive("σ", 0.7, 20)}}
			if rapid.Bool().Draw(t, "Laplace") {
				m.Mechanism = mechanism.Laplace{Scale: positive("b", 0.2, 100), Sensitivity: 1}
			}
			return m
		},
		func() mechanism.Mechanism {
			return mechanism.Shuffled{BatchSize: rapid.Uint64Range(1, 100).Draw(t, "batch"), DatasetSize: 100,
				Mechanism: mechanism.Gaussian{NoiseMultiplier: positive("σ", 1, 100)}}
		},
		func() mechanism.Mechanism {
			if adj == mechanism.ReplaceOne {
				return mechanism.Gaussian{NoiseMultiplier: positive("σ", 1, 100)}
			}
			return mechanism.RandomAllocation{Steps: rapid.Uint64Range(1, 20).Draw(t, "steps"),
				Mechanism: mechanism.Gaussian{NoiseMultiplier: positive("σ", 0.3, 20)}}
		},
		func() mechanism.Mechanism {
			return mechanism.TreeAggregation{NoiseMultiplier: positive("σ", 3, 100), Participation: participation(t)}
		},
		func() mechanism.Mechanism {
			return mechanism.BandedMatrix{NoiseMultiplier: positive("σ", 3, 100), Participation: participation(t),
				Coefficients: mechanism.NumbersOf(1, 0.5, -0.3)}
		},
		func() mechanism.Mechanism {
			noise := mechanism.StepNoise{NoiseMultiplier: positive("σ", 10, 200)}
			if rapid.Bool().Draw(t, "dense") {
				return mechanism.GeneralMatrix{StepNoise: noise, Participation: mechanism.Participation{Steps: 3},
					Entries: mechanism.NumbersOf(1, 0.5, 1, -0.25, 0, 2),
					Period:  rapid.Uint64Range(1, 4).Draw(t, "period")}
			}
			p := participation(t)
			p.Steps, p.Participations = min(p.Steps, 300), min(p.Steps, 2)
			return mechanism.GeneralMatrix{StepNoise: noise, Participation: p,
				Coefficients: mechanism.NumbersOf(1, 0.5), Denominator: mechanism.NumbersOf(1, -0.9)}
		},
		func() mechanism.Mechanism {
			return mechanism.SampledMatrix{StepNoise: mechanism.StepNoise{NoiseMultiplier: positive("σ", 0.5, 20)},
				Coefficients: mechanism.NumbersOf(1, 0.5), Steps: rapid.Uint64Range(1, 2).Draw(t, "steps"), // one turn
				SamplingProbability: positive("q", 1e-6, 1)}
		},
		func() mechanism.Mechanism {
			if adj == mechanism.ReplaceOne {
				return mechanism.Gaussian{NoiseMultiplier: positive("σ", 1, 100)}
			}
			return mechanism.AllocatedMatrix{StepNoise: mechanism.StepNoise{NoiseMultiplier: positive("σ", 1, 20)},
				Coefficients: mechanism.NumbersOf(1, 0.5), Steps: rapid.Uint64Range(1, 60).Draw(t, "steps"),
				Period: rapid.Uint64Range(2, 30).Draw(t, "period")}
		},
		func() mechanism.Mechanism {
			if adj != mechanism.ReplaceOne {
				return Mixture(t)
			}
			return mechanism.FixedSizeSampled{BatchSize: rapid.Uint64Range(1, 1000).Draw(t, "batch"),
				DatasetSize: rapid.SampledFrom([]uint64{1000, 6_000_000}).Draw(t, "records"),
				Mechanism: rapid.SampledFrom([]mechanism.Mechanism{
					mechanism.Gaussian{NoiseMultiplier: positive("σ", 1, 100)},
					mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 0.1)},
					mechanism.Laplace{Scale: positive("b", 1, 100), Sensitivity: 1},
					mechanism.ApproximateDP{Epsilon: positive("ε", 1e-4, 1), Delta: 1e-9},
				}).Draw(t, "of the batch")}
		},
		func() mechanism.Mechanism {
			s := mechanism.ShuffledReports{Reports: rapid.Uint64Range(1, 300).Draw(t, "reports"),
				Mechanism: mechanism.PureDP{Epsilon: positive("ε0", 0.01, 5)}}
			if rapid.Bool().Draw(t, "response") {
				s.Mechanism = mechanism.RandomizedResponse{Epsilon: positive("ε0", 0.01, 5),
					Buckets: rapid.Uint64Range(2, 20).Draw(t, "k")}
			}
			if adj == mechanism.AddOrRemoveOne {
				return mechanism.PureDP{Epsilon: positive("ε", 0.01, 5)}
			}
			return s
		},
		func() mechanism.Mechanism {
			return mechanism.RandomizedResponse{Noise: rapid.Float64Range(0.01, 0.99).Draw(t, "ν"),
				Buckets: rapid.Uint64Range(2, 1000).Draw(t, "k")}
		},
	}
	n := len(all)
	if adj == mechanism.AddOrRemoveOne {
		n-- // randomized response is not defined there
	}
	return all[rapid.IntRange(0, n-1).Draw(t, "kind")]()
}

// Mixture draws a mixture of Gaussians.
func Mixture(t *rapid.T) mechanism.Mechanism {
	n := rapid.IntRange(1, 6).Draw(t, "parts")
	var shifts, weights []float64
	var sum float64
	for range n {
		shifts = append(shifts,
			rapid.SampledFrom([]float64{0, 0.25, 1, 2, rapid.Float64Range(0.01, 2).Draw(t, "c")}).Draw(t, "shift"))
		weights = append(weights, math.Exp(rapid.Float64Range(-12, 0).Draw(t, "ln p")))
		sum += weights[len(weights)-1]
	}
	shifts[0] = 0.5
	for i := range weights {
		weights[i] /= sum
	}
	return mechanism.MixtureOfGaussians{StandardDeviation: math.Exp(rapid.Float64Range(-0.7, 2).Draw(t, "ln σ")),
		Sensitivities: mechanism.NumbersOf(shifts...), Probabilities: mechanism.NumbersOf(weights...)}
}

func participation(t *rapid.T) mechanism.Participation {
	steps := rapid.Uint64Range(1, 5000).Draw(t, "steps")
	return mechanism.Participation{Steps: steps,
		Participations:    min(steps, rapid.Uint64Range(0, 9).Draw(t, "participations")),
		MinimumSeparation: rapid.Uint64Range(0, 500).Draw(t, "separation")}
}

// Table draws a declared table of Rényi divergences, at a few orders anywhere.
func Table(t *rapid.T) mechanism.RenyiDP {
	n := rapid.IntRange(1, 12).Draw(t, "orders")
	scale := math.Exp(rapid.Float64Range(-16, 0).Draw(t, "ln ε"))
	power := rapid.SampledFrom([]float64{0, 1, 3}).Draw(t, "power")
	orders, epsilons := make([]float64, n), make([]float64, n)
	s, last := math.Exp(rapid.Float64Range(-8, 1).Draw(t, "ln first")), 0.0
	for i := range orders {
		orders[i] = 1 + s
		last = math.Max(last, scale*math.Pow(1+s, power))
		epsilons[i] = last
		s += s * math.Exp(rapid.Float64Range(-5, 1).Draw(t, "ln step"))
	}
	return mechanism.RenyiDP{Orders: mechanism.NumbersOf(orders...), Epsilons: mechanism.NumbersOf(epsilons...)}
}

// SampledNoises are noises with outcomes to be sampled from. A unit is a whole number of cells.
var SampledNoises = []mechanism.Mechanism{
	mechanism.DiscreteGaussian{StandardDeviation: 0.3, Sensitivity: 1},
	mechanism.DiscreteGaussian{StandardDeviation: 1, Sensitivity: 2},
	mechanism.DiscreteGaussian{StandardDeviation: 7, Sensitivity: 3},
	mechanism.TruncatedLaplace{Scale: 1, Bound: 6, Sensitivity: 1},
	mechanism.TruncatedLaplace{Scale: 0.5, Bound: 1, Sensitivity: 0.75},
	mechanism.TruncatedLaplace{Scale: 1, Bound: 1, Sensitivity: 1.5}, // supports overlap by less than half
	mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-1, 0.5, 2),
		Masses: mechanism.NumbersOf(0.1, 0.3, 0.55), InfiniteMass: 0.05},
	mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-0.5, 0.5),
		Masses: mechanism.NumbersOf(1/(1+math.Exp(0.5)), 1/(1+math.Exp(-0.5)))},
	mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-2, -0.5),
		Masses: mechanism.NumbersOf(0.05, 0.35), InfiniteMass: 0.6},
}
