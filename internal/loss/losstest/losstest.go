// Package losstest reads what the oracle writes, for the tests of the analyses:
// mechanisms in the spelling of the API and numbers with more digits than a
// float64 has. It also draws mechanisms of every kind for property tests.
package losstest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Read decodes a JSON file; it fails the test where it cannot.
func Read(t testing.TB, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Number is a number or a string of digits, rounded to the nearest float64.
// The zero value is absent.
type Number struct {
	Value float64
	Given bool
}

// UnmarshalJSON takes both spellings.
func (n *Number) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if text[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && v != 0 && !math.IsInf(v, 0) { // out of range rounds to 0 or ±Inf
		return err
	}
	n.Value, n.Given = v, true
	return nil
}

// Mechanism is a mechanism in protobuf JSON; nil inside where this program has
// none of that kind.
type Mechanism struct{ mechanism.Mechanism }

// UnmarshalJSON reads {"gaussian": {…}}.
func (m *Mechanism) UnmarshalJSON(raw []byte) error {
	var kinds map[string]json.RawMessage
	if err := json.Unmarshal(raw, &kinds); err != nil {
		return err
	}
	if len(kinds) != 1 {
		return fmt.Errorf("%d kinds in %s", len(kinds), raw)
	}
	for kind, body := range kinds {
		var f struct {
			StandardDeviation, Sensitivity, Distance, NoiseMultiplier  float64
			Scale, Epsilon, Noise, Delta, Rho, Mu                      float64
			SamplingProbability                                        float64
			Buckets, BatchSize, DatasetSize                            json.Number
			Mechanism                                                  *Mechanism
			Bound, LaplaceScale                                        float64
			ThresholdEpsilon, QueryEpsilon, ThresholdScale, QueryScale float64
			Coordinates, Positives, Queries                            json.Number
			Distribution                                               string
			Monotone                                                   bool
			Orders, Epsilons, Losses, Masses                           []float64
			InfiniteMass, Gamma, Eta, Mean                             float64
			Sensitivities, Probabilities                               []float64
			MaximumBatchSize, Size                                     json.Number
			Parts                                                      []Mechanism
			PartitionFixedInAdvance                                    bool
			Events                                                     []Event
		}
		if err := json.Unmarshal(body, &f); err != nil {
			return err
		}
		whole := func(n json.Number) uint64 { v, _ := strconv.ParseUint(string(n), 10, 64); return v }
		switch kind {
		case "gaussian":
			m.Mechanism = mechanism.Gaussian{StandardDeviation: f.StandardDeviation, Sensitivity: f.Sensitivity,
				Distance: f.Distance, NoiseMultiplier: f.NoiseMultiplier}
		case "laplace":
			m.Mechanism = mechanism.Laplace{Scale: f.Scale, Sensitivity: f.Sensitivity, Distance: f.Distance}
		case "randomizedResponse":
			m.Mechanism = mechanism.RandomizedResponse{Epsilon: f.Epsilon, Noise: f.Noise, Buckets: whole(f.Buckets)}
		case "pureDp":
			m.Mechanism = mechanism.PureDP{Epsilon: f.Epsilon}
		case "approximateDp":
			m.Mechanism = mechanism.ApproximateDP{Epsilon: f.Epsilon, Delta: f.Delta}
		case "zeroConcentratedDp":
			m.Mechanism = mechanism.ZeroConcentratedDP{Rho: f.Rho, Delta: f.Delta}
		case "renyiDp":
			m.Mechanism = mechanism.RenyiDP{Orders: mechanism.NumbersOf(f.Orders...), Epsilons: mechanism.NumbersOf(f.Epsilons...)}
		case "privacyLossTable":
			m.Mechanism = mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(f.Losses...), Masses: mechanism.NumbersOf(f.Masses...), InfiniteMass: f.InfiniteMass}
		case "repeatAndSelect":
			m.Mechanism = mechanism.RepeatAndSelect{Mechanism: f.Mechanism.Mechanism, Gamma: f.Gamma, Eta: f.Eta, Mean: f.Mean}
		case "gaussianDp":
			m.Mechanism = mechanism.GaussianDP{Mu: f.Mu}
		case "discreteGaussian":
			m.Mechanism = mechanism.DiscreteGaussian{StandardDeviation: f.StandardDeviation, Sensitivity: f.Sensitivity,
				Distance: f.Distance, Coordinates: whole(f.Coordinates)}
		case "discreteLaplace":
			m.Mechanism = mechanism.DiscreteLaplace{Scale: f.Scale, Sensitivity: f.Sensitivity, Distance: f.Distance}
		case "truncatedLaplace":
			m.Mechanism = mechanism.TruncatedLaplace{Scale: f.Scale, Bound: f.Bound, Sensitivity: f.Sensitivity, Distance: f.Distance}
		case "exponential":
			m.Mechanism = mechanism.Exponential{Epsilon: f.Epsilon, Scale: f.Scale, Sensitivity: f.Sensitivity, Monotone: f.Monotone}
		case "reportNoisyMax":
			noise := map[string]mechanism.MaxNoise{"LAPLACE": mechanism.LaplaceMax, "EXPONENTIAL": mechanism.ExponentialMax, "GUMBEL": mechanism.GumbelMax}
			m.Mechanism = mechanism.ReportNoisyMax{Distribution: noise[f.Distribution], Epsilon: f.Epsilon, Scale: f.Scale,
				Sensitivity: f.Sensitivity, Monotone: f.Monotone}
		case "aboveThreshold":
			m.Mechanism = mechanism.AboveThreshold{ThresholdEpsilon: f.ThresholdEpsilon, QueryEpsilon: f.QueryEpsilon,
				ThresholdScale: f.ThresholdScale, QueryScale: f.QueryScale, Sensitivity: f.Sensitivity,
				Positives: whole(f.Positives), Monotone: f.Monotone}
		case "inverseSensitivity":
			m.Mechanism = mechanism.InverseSensitivity{Epsilon: f.Epsilon}
		case "histogram":
			m.Mechanism = mechanism.Histogram{LaplaceScale: f.LaplaceScale, StandardDeviation: f.StandardDeviation}
		case "countingQueries":
			m.Mechanism = mechanism.CountingQueries{Queries: whole(f.Queries), Rho: f.Rho}
		case "mixtureOfGaussians":
			m.Mechanism = mechanism.MixtureOfGaussians{StandardDeviation: f.StandardDeviation,
				Sensitivities: mechanism.NumbersOf(f.Sensitivities...), Probabilities: mechanism.NumbersOf(f.Probabilities...)}
		case "group":
			m.Mechanism = mechanism.Group{Size: whole(f.Size), Mechanism: f.Mechanism.Mechanism}
		case "fixedSizeSampled":
			m.Mechanism = mechanism.FixedSizeSampled{BatchSize: whole(f.BatchSize), DatasetSize: whole(f.DatasetSize), Mechanism: f.Mechanism.Mechanism}
		case "truncatedPoissonSampled":
			m.Mechanism = mechanism.TruncatedPoissonSampled{SamplingProbability: f.SamplingProbability, BatchSize: whole(f.BatchSize),
				DatasetSize: whole(f.DatasetSize), MaximumBatchSize: whole(f.MaximumBatchSize), Mechanism: f.Mechanism.Mechanism}
		case "shuffled":
			m.Mechanism = mechanism.Shuffled{BatchSize: whole(f.BatchSize), DatasetSize: whole(f.DatasetSize), Mechanism: f.Mechanism.Mechanism}
		case "parallel":
			parts := make([]mechanism.Mechanism, len(f.Parts))
			for i, part := range f.Parts {
				parts[i] = part.Mechanism
			}
			m.Mechanism = mechanism.Parallel{Parts: mechanism.ListOf(parts...), PartitionFixedInAdvance: f.PartitionFixedInAdvance}
		case "composed":
			events := make([]mechanism.Event, len(f.Events))
			for i, e := range f.Events {
				events[i] = mechanism.Event{Mechanism: e.Mechanism.Mechanism, Count: e.Count}
			}
			m.Mechanism = mechanism.Composed{Events: mechanism.ListOf(events...)}
		case "nameAndShame":
			m.Mechanism = mechanism.NameAndShame{Delta: f.Delta}
		case "poissonSampled":
			m.Mechanism = mechanism.PoissonSampled{SamplingProbability: f.SamplingProbability,
				BatchSize: whole(f.BatchSize), DatasetSize: whole(f.DatasetSize), Mechanism: f.Mechanism.Mechanism}
		}
	}
	return nil
}

// Workload is events under an adjacency, with what is true of them.
type Workload struct {
	Name      string
	Adjacency Adjacency
	Events    []Event
	Truth     []Truth
}

// Event is a mechanism and how often it was applied.
type Event struct {
	Mechanism Mechanism
	Count     uint32
}

// Truth pairs an ε with a δ.
type Truth struct {
	Epsilon, Delta, LogDelta Number
	AskedByEpsilon           bool // ε was the row's first key: δ is the answer
}

// UnmarshalJSON notes which key comes first.
func (u *Truth) UnmarshalJSON(raw []byte) error {
	type plain Truth
	if err := json.Unmarshal(raw, (*plain)(u)); err != nil {
		return err
	}
	u.AskedByEpsilon = len(raw) > 9 && string(raw[:9]) == `{"epsilon`
	if !u.AskedByEpsilon {
		for i, c := range raw {
			if c == '"' {
				u.AskedByEpsilon = string(raw[i+1:i+8]) == "epsilon"
				break
			}
		}
	}
	return nil
}

// Composition composes the workload's events, or says that this program has
// not all its mechanisms.
func (w Workload) Composition() (mechanism.Composition, error) {
	events := make([]mechanism.Event, len(w.Events))
	for i, e := range w.Events {
		events[i] = mechanism.Event{Mechanism: e.Mechanism.Mechanism, Count: e.Count}
	}
	return mechanism.Compose(mechanism.Adjacency(w.Adjacency), events)
}

// Adjacency reads the API's spelling.
type Adjacency mechanism.Adjacency

// UnmarshalJSON reads "ADD_OR_REMOVE_ONE".
func (a *Adjacency) UnmarshalJSON(raw []byte) error {
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return err
	}
	for _, v := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		if v.String() == name {
			*a = Adjacency(v)
			return nil
		}
	}
	return fmt.Errorf("adjacency %s", name)
}
