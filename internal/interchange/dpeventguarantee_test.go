// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
	"pgregory.net/rapid"
)

// What the newest source of dp_accounting writes of the classes that came after 0.6.0, with the ε
// that its own accountants say (bench/peers/interchange.py newest): an upper bound, never below
// what is proven here from below.
func TestNewestFilesOfPeers(t *testing.T) {
	raw, err := os.ReadFile("testdata/newest.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Rows []struct {
			Name, Adjacency, Accountant string
			Event                       json.RawMessage
			Delta, Epsilon, Above       float64 // theirs is above ours by so much at most
		}
	}
	if err := json.Unmarshal(quoted(raw), &data); err != nil || len(data.Rows) < 20 {
		t.Fatal(len(data.Rows), err)
	}
	for _, r := range data.Rows {
		c := composition(t, DPEvent, r.Event, pb.Workload_Adjacency(pb.Workload_Adjacency_value[r.Adjacency]))
		a, err := accountant.Ask(c, accountant.AtDelta(r.Delta))
		if err != nil {
			t.Fatal(err)
		}
		lower := 0.0
		if a.EpsilonLower != nil {
			lower = *a.EpsilonLower
		}
		if r.Epsilon < lower-1e-6 || a.Epsilon > r.Epsilon+1e-4 || r.Epsilon > a.Epsilon+r.Above {
			t.Errorf("%s %s: ε(%v) in [%v, %v], theirs (%s) %v", r.Name, r.Adjacency, r.Delta, lower, a.Epsilon,
				r.Accountant, r.Epsilon)
		}
	}
}

func TestReadNewestDPEvents(t *testing.T) {
	gaussian := `{` + module + `"class_name": "GaussianDpEvent", "noise_multiplier": 2}`
	g := mechanism.Gaussian{NoiseMultiplier: 2}
	for _, test := range []struct {
		class, fields string
		want          mechanism.Mechanism // nil: nothing is released
	}{
		{"EpsilonDelta", `"epsilon": 1, "delta": 0`, mechanism.PureDP{Epsilon: 1}},
		{"EpsilonDelta", `"epsilon": 1, "delta": 1e-6`, mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-6}},
		{"EpsilonDelta", `"epsilon": 0, "delta": 1e-6`, mechanism.NameAndShame{Delta: 1e-6}},
		{"EpsilonDelta", `"epsilon": 0, "delta": 0.0`, nil},
		{"ExponentialMechanism", `"epsilon": 0.5`, mechanism.Exponential{Epsilon: 0.5}},
		{"ExponentialMechanism", `"epsilon": 0`, nil},
		{"PermuteAndFlip", `"epsilon": 0.5`,
			mechanism.ReportNoisyMax{Distribution: mechanism.ExponentialMax, Epsilon: 0.5}},
		{"PermuteAndFlip", `"epsilon": 0`, nil},
		{"DiscreteGaussian", `"sigma": 4, "sensitivity": 2.0, "dimension": 1`,
			mechanism.DiscreteGaussian{StandardDeviation: 4, Sensitivity: 2, Coordinates: 1}},
		{"DiscreteGaussian", `"sigma": 4, "sensitivity": 1.5, "dimension": 7`,
			mechanism.DiscreteGaussian{StandardDeviation: 4, Sensitivity: 1.5, Coordinates: 7}},
		{"DiscreteGaussian", `"sigma": 4, "sensitivity": 2, "dimension": null`,
			mechanism.DiscreteGaussian{StandardDeviation: 4, Sensitivity: 2, Coordinates: 2}},
		{"DiscreteGaussian", `"sigma": 4`,
			mechanism.DiscreteGaussian{StandardDeviation: 4, Sensitivity: 1, Coordinates: 2}},
		{"DiscreteGaussian", `"sigma": 4, "sensitivity": 0`, nil},
		{"RandomAllocation", `"num_selected": 10, "num_steps": 100, "event": ` + gaussian,
			mechanism.RandomAllocation{Steps: 100, Selected: 10, Mechanism: g}},
		{"RandomAllocation", `"num_selected": 0, "num_steps": 100, "event": ` + gaussian, nil},
		{"RepeatAndSelect", `"mean": 4, "shape": 1.0, "event": ` + gaussian,
			mechanism.RepeatAndSelect{Gamma: 0.25, Eta: 1, Mechanism: g}},
	} {
		c := composition(t, DPEvent, []byte(`{`+module+`"class_name": "`+test.class+`DpEvent", `+test.fields+`}`),
			pb.Workload_ADD_OR_REMOVE_ONE)
		if test.want == nil && len(c.Parts) == 0 {
			continue
		}
		if len(c.Parts) != 1 || c.Parts[0] != (mechanism.Part{Mechanism: test.want, Count: 1}) {
			t.Errorf("%s %s: %v, want %v", test.class, test.fields, c.Parts, test.want)
		}
	}
}

func TestNewestDPEventsThatAreRefused(t *testing.T) {
	gaussian := `{` + module + `"class_name": "GaussianDpEvent", "noise_multiplier": 2}`
	for _, test := range []struct{ adjacency, class, fields, want string }{
		{"ZERO_OUT", "EpsilonDelta", `"epsilon": -1, "delta": 0`, "event.epsilon: -1; allowed: a number ≥ 0"},
		{"ZERO_OUT", "EpsilonDelta", `"epsilon": 1, "delta": 1`, "event.delta: 1; allowed: a number from 0 to below 1"},
		{"ZERO_OUT", "EpsilonDelta", `"epsilon": Infinity, "delta": 0`, "event.epsilon: Infinity"},
		{"ZERO_OUT", "EpsilonDelta", `"epsilon": 1`, "event.delta: missing; allowed: required"},
		{"ZERO_OUT", "ExponentialMechanism", `"epsilon": NaN`, "event.epsilon: NaN"},
		{"ZERO_OUT", "PermuteAndFlip", `"epsilon": "1"`, `event.epsilon: "1"; allowed: a number`},
		{"ZERO_OUT", "DiscreteGaussian", `"sigma": 0`, "event.sigma: 0"},
		{"ZERO_OUT", "DiscreteGaussian", `"sigma": 1, "sensitivity": 1.5, "dimension": 1`,
			"event.sensitivity: 1.5; allowed: a whole number"},
		{"ZERO_OUT", "DiscreteGaussian", `"sigma": 1, "dimension": 0`, "event.dimension: 0"},
		{"ZERO_OUT", "DiscreteGaussian", `"sigma": 1, "dimensions": 2`, "event.dimensions: 2; allowed: no such field"},
		{"REPLACE_ONE", "RandomAllocation", `"num_selected": 1, "num_steps": 9, "event": ` + gaussian,
			"RandomAllocationDpEvent under REPLACE_ONE"},
		{"ZERO_OUT", "RandomAllocation", `"num_selected": 10, "num_steps": 9, "event": ` + gaussian,
			"event.num_selected: 10; allowed: a whole number from 0 to num_steps, 9"},
		{"ZERO_OUT", "RandomAllocation", `"num_selected": 1, "num_steps": 9, "event": {` + module +
			`"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.5, "event": ` + gaussian + `}`,
			"event.event: a sample of a sample"},
		{"ZERO_OUT", "RepeatAndSelect", `"mean": 1e10, "shape": 2, "event": ` + gaussian, "event.mean: 1e10"},
		{"ZERO_OUT", "RepeatAndSelect", `"mean": 2, "shape": 1e10, "event": ` + gaussian, "event.shape: 1e10"},
		{"REPLACE_ONE", "SampledWithReplacement", `"source_dataset_size": 9, "sample_size": 2, "event": ` + gaussian,
			"event.class_name: SampledWithReplacementDpEvent; allowed: a class that a mechanism expresses"},
	} {
		_, _, err := Read(DPEvent, []byte(`{`+module+`"class_name": "`+test.class+`DpEvent", `+test.fields+`}`),
			pb.Workload_Adjacency(pb.Workload_Adjacency_value[test.adjacency]))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want %s", test.class, test.fields, err, test.want)
		}
	}
}

// Peers that compose the exponential mechanism once get it once for each time.
func TestExponentialOneByOne(t *testing.T) {
	data, notes, err := Write(DPEvent, mechanism.Composition{Adjacency: mechanism.ZeroOut,
		Parts: []mechanism.Part{{Mechanism: mechanism.Exponential{Epsilon: 1}, Count: 3}}})
	if err != nil || strings.Count(string(data), "ExponentialMechanismDpEvent") != 3 ||
		strings.Contains(string(data), "SelfComposed") || !strings.Contains(strings.Join(notes, " "), "newer than") {
		t.Errorf("%s %q %v", data, notes, err)
	}
	_, notes, err = Read(DPEvent, []byte(`{`+module+`"class_name": "SelfComposedDpEvent", "count": 2, "event": {`+module+
		`"class_name": "ExponentialMechanismDpEvent", "epsilon": 1}}`), pb.Workload_ZERO_OUT)
	if err != nil || !strings.Contains(strings.Join(notes, " "), "once whatever its count") {
		t.Errorf("%q %v", notes, err)
	}
}

// A matrix mechanism is written as the Gaussians that it is: the same μ, rounded up.
func TestMatricesAsGaussians(t *testing.T) {
	noise := mechanism.StepNoise{NoiseMultiplier: 3}
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		for _, m := range []mechanism.Mechanism{
			mechanism.GaussianDP{Mu: 0.3},
			mechanism.GeneralMatrix{StepNoise: noise, Coefficients: mechanism.NumbersOf(1, 0.5, 0.25),
				Participation: mechanism.Participation{Steps: 20, Participations: 2, MinimumSeparation: 2}},
			mechanism.BandedMatrix{NoiseMultiplier: 3, Coefficients: mechanism.NumbersOf(1, 0.5),
				Participation: mechanism.Participation{Steps: 20, Participations: 4, MinimumSeparation: 5}},
			mechanism.SampledMatrix{StepNoise: noise, Coefficients: mechanism.NumbersOf(1, 0.5, 0.25), Steps: 31,
				SamplingProbability: 0.1},
			mechanism.SampledMatrix{StepNoise: noise, Coefficients: mechanism.NumbersOf(1, 0.5, 0.25), Steps: 2,
				SamplingProbability: 1},
		} {
			c, err := mechanism.Compose(adj, []mechanism.Event{{Mechanism: m, Count: 2}})
			if err != nil {
				t.Fatal(err)
			}
			data, _, err := Write(DPEvent, c)
			if err != nil {
				t.Fatal(err)
			}
			back := composition(t, DPEvent, data, wire.FromAdjacency(adj))
			before, err := accountant.AskBy(c, accountant.AtDelta(1e-6), accountant.RDP)
			if err != nil {
				t.Fatal(err)
			}
			after, err := accountant.AskBy(back, accountant.AtDelta(1e-6), accountant.RDP)
			if err != nil || math.Abs(after.Epsilon-before.Epsilon) > 1e-8*before.Epsilon {
				t.Errorf("%v %v: %s: ε = %v, was %v, %v", m, adj, data, after.Epsilon, before.Epsilon, err)
			}
			l, err := kinds.Of(m, adj)
			if err != nil {
				continue
			}
			if mu, ok := loss.MuOf(l); ok {
				again, err := kinds.Of(back.Parts[0].Mechanism, adj)
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := loss.MuOf(again); got < mu || got > mu*(1+1e-14) {
					t.Errorf("%v %v: μ = %v, was %v", m, adj, got, mu)
				}
			}
		}
	}
}

// The mean at γ is no less than what was asked for, and at the next γ that a step of a millionth of
// a millionth leads to it is less; and what is written is read as no larger a γ.
func TestGammaOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := 1 + math.Exp(rapid.Float64Range(-20, 20).Draw(t, "ln(mean − 1)"))
		eta := rapid.SampledFrom([]float64{0, 1e-9, 0.5, 1, 2.5, 100, 1e6}).Draw(t, "η")
		gamma := gammaOf(mean, eta)
		if !(gamma > 0 && gamma < 1) {
			t.Fatalf("γ = %v", gamma)
		}
		if got := summedMean(gamma, eta); got > 0 && (got < mean*(1-1e-9) || got > mean*(1+1e-9)) {
			t.Fatalf("η = %v: γ = %v has mean %v by its sum, want %v", eta, gamma, got, mean)
		}
		if eta == 1 {
			return
		}
		if got := meanRuns(gamma, eta); got < mean {
			t.Fatalf("η = %v: γ = %v has mean %v, want at least %v", eta, gamma, got, mean)
		}
		if back := gammaOf(meanRuns(gamma, eta)*(1+slackRuns), eta); back > gamma {
			t.Fatalf("η = %v: γ = %v became %v", eta, gamma, back)
		}
	})
}

// summedMean adds up k·P(k), P(k) ∝ (1−γ)^k·Π_{l<k} (l+η)/(l+1) (Papernot and Steinke 2022, Def. 1),
// and is 0 where that takes too long.
func summedMean(gamma, eta float64) float64 {
	if gamma < 1e-3 || eta > 100 {
		return 0
	}
	log, most := math.Log1p(-gamma), math.Inf(-1)
	var logs []float64
	for k := 1; k < 200_000; k++ {
		if k > 1 { // the factor of l = 0 is the same for all
			log += math.Log1p(-gamma) + math.Log((float64(k-1)+eta)/float64(k))
		}
		logs, most = append(logs, log), math.Max(most, log)
		if log < most-60 {
			break
		}
	}
	var sum, mean float64
	for i, l := range logs {
		p := math.Exp(l - most)
		sum, mean = sum+p, mean+float64(i+1)*p
	}
	return mean / sum
}
