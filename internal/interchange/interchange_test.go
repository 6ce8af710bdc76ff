// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
	"pgregory.net/rapid"
)

// composition reads a file and checks what it gives.
func composition(t testing.TB, format string, data []byte, adj pb.Workload_Adjacency) mechanism.Composition {
	t.Helper()
	w, _, err := Read(format, data, adj)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	_, c, err := wire.ToWorkload(w)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return c
}

// What dp_accounting and Opacus wrote themselves, with the ε they say of it
// (bench/peers/interchange.py): their upper bounds are above ours by no more than their
// own error, and never below.
func TestFilesOfPeers(t *testing.T) {
	var data struct {
		DPEvents []struct {
			Name, Adjacency        string
			Analysis               string // ours to compare with theirs
			Event                  json.RawMessage
			Delta, Epsilon, Within float64
		}
		Opacus []struct {
			Name           string
			State          json.RawMessage
			Delta, Epsilon float64
			Within         *float64 // of RDPAccountant nothing: it has orders of its own
		}
	}
	raw, err := os.ReadFile("testdata/peers.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &data); err != nil {
		t.Fatal(err)
	}
	if len(data.DPEvents) < 40 || len(data.Opacus) < 6 {
		t.Fatal("rows are missing")
	}
	near := func(name string, c mechanism.Composition, delta, theirs, within float64) {
		a, err := accountant.Ask(c, accountant.AtDelta(delta))
		if err != nil {
			t.Fatal(err)
		}
		if over := theirs - *a.EpsilonLower; over < -1e-6 || math.Abs(theirs-a.Epsilon) > within*(1+a.Epsilon) {
			t.Errorf("%s: ε(%v) = %v, theirs %v", name, delta, a.Epsilon, theirs)
		}
	}
	for _, r := range data.DPEvents {
		c := composition(t, DPEvent, r.Event, pb.Workload_Adjacency(pb.Workload_Adjacency_value[r.Adjacency]))
		if r.Analysis == "rdp" { // real orders here, a grid of them there
			a, err := accountant.AskBy(c, accountant.AtDelta(r.Delta), accountant.RDP)
			if over := r.Epsilon - a.Epsilon; err != nil || over < -1e-6 || over > r.Within*(1+a.Epsilon) {
				t.Errorf("%s %s: ε(%v) = %v, theirs %v, %v", r.Name, r.Adjacency, r.Delta, a.Epsilon, r.Epsilon, err)
			}
			continue
		}
		near(r.Name+" "+r.Adjacency, c, r.Delta, r.Epsilon, r.Within)
	}
	for _, r := range data.Opacus {
		c := composition(t, Opacus, r.State, pb.Workload_ADJACENCY_UNSPECIFIED)
		within := 0.5
		if r.Within != nil {
			within = *r.Within
		}
		near("opacus "+r.Name, c, r.Delta, r.Epsilon, within)
	}
}

const module = `"module_name": "dp_accounting.dp_event", `

func TestReadDPEvent(t *testing.T) {
	gaussian := `{` + module + `"class_name": "GaussianDpEvent", "noise_multiplier": 2}`
	g := mechanism.Gaussian{NoiseMultiplier: 2}
	for _, test := range []struct {
		name, json string
		want       []mechanism.Part
	}{
		{"one", gaussian, []mechanism.Part{{Mechanism: g, Count: 1}}},
		{"nothing", `{` + module + `"class_name": "NoOpDpEvent"}`, nil},
		{"equal ones are one event",
			`{` + module + `"class_name": "ComposedDpEvent", "events": [` + gaussian + `,` + gaussian + `]}`,
			[]mechanism.Part{{Mechanism: g, Count: 2}}},
		{"counts multiply", `{` + module + `"class_name": "SelfComposedDpEvent", "count": 6, "event":
			{` + module + `"class_name": "SelfComposedDpEvent", "count": 7, "event": ` + gaussian + `}}`,
			[]mechanism.Part{{Mechanism: g, Count: 42}}},
		{"more than an event's count",
			`{` + module + `"class_name": "SelfComposedDpEvent", "count": 4294967297, "event": ` + gaussian + `}`,
			[]mechanism.Part{{Mechanism: g, Count: 4294967297}}},
		{"k uses of one sample are one sample of k",
			`{` + module + `"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.5, "event":
			{` + module + `"class_name": "SelfComposedDpEvent", "count": 3, "event": ` + gaussian + `}}`,
			[]mechanism.Part{{Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.5,
				Mechanism: mechanism.Composed{Events: mechanism.ListOf(mechanism.Event{Mechanism: g, Count: 3})}},
				Count: 1}}},
		{"an empty sample", `{` + module +
			`"class_name": "PoissonSampledDpEvent", "sampling_probability": 0, "event": ` + gaussian + `}`, nil},
		{"Laplace in units of the sensitivity", `{` + module + `"class_name": "LaplaceDpEvent", "noise_multiplier": 3}`,
			[]mechanism.Part{{Mechanism: mechanism.Laplace{Scale: 3, Sensitivity: 1}, Count: 1}}},
		{"discrete Laplace of e^(−a|x|)",
			`{` + module + `"class_name": "DiscreteLaplaceDpEvent", "noise_parameter": 0.25, "sensitivity": 2}`,
			[]mechanism.Part{{Mechanism: mechanism.DiscreteLaplace{Scale: 4, Sensitivity: 2}, Count: 1}}},
		{"the best of a Poisson number of runs, as json.dump writes it",
			`{` + module + `"class_name": "RepeatAndSelectDpEvent", "mean": 0.75, "shape": Infinity, "event": ` +
				gaussian + `}`,
			[]mechanism.Part{{Mechanism: mechanism.RepeatAndSelect{Mean: 0.75, Mechanism: g}, Count: 1}}},
		{"the same with the word in quotes",
			`{` + module + `"class_name": "RepeatAndSelectDpEvent", "mean": 8, "shape": "Infinity", "event": ` +
				gaussian + `}`,
			[]mechanism.Part{{Mechanism: mechanism.RepeatAndSelect{Mean: 8, Mechanism: g}, Count: 1}}},
		{"zCDP", `{` + module + `"class_name": "ZCDpEvent", "rho": 0.5, "xi": 0.0}`,
			[]mechanism.Part{{Mechanism: mechanism.ZeroConcentratedDP{Rho: 0.5}, Count: 1}}},
	} {
		c := composition(t, DPEvent, []byte(test.json), pb.Workload_ADD_OR_REMOVE_ONE)
		if len(c.Parts) != len(test.want) {
			t.Errorf("%s: %+v", test.name, c.Parts)
			continue
		}
		for i, p := range c.Parts {
			if p != test.want[i] {
				t.Errorf("%s: %+v, want %+v", test.name, p, test.want[i])
			}
		}
	}
	response := `{` + module + `"class_name": "RandomizedResponseDpEvent", "noise_parameter": 0.5, "num_buckets": 3}`
	w, notes, err := Read(DPEvent,
		[]byte(`{`+module+`"class_name": "SelfComposedDpEvent", "count": 9, "event": `+response+`}`),
		pb.Workload_REPLACE_ONE)
	if err != nil || len(w.Events) != 1 || w.Events[0].Count != 9 || len(notes) != 1 ||
		!strings.Contains(notes[0], "composes randomized response once") {
		t.Errorf("%v, notes %q, %v", w, notes, err)
	}
	// dp_accounting's null record answers uniformly at random (from_randomized_response of
	// dp_accounting 0.6.0, "Case REPLACE_SPECIAL"): the number changes, and a note says so.
	sampled := `{` + module +
		`"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.5, "event": ` + response + `}`
	for _, event := range []string{response, sampled} {
		_, notes, err := Read(DPEvent, []byte(event), pb.Workload_ZERO_OUT)
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "null record") {
			t.Errorf("%s under ZERO_OUT: notes %q, %v", event, notes, err)
		}
		if _, notes, err := Read(DPEvent, []byte(event), pb.Workload_REPLACE_ONE); err != nil || len(notes) != 0 {
			t.Errorf("%s under REPLACE_ONE: notes %q, %v", event, notes, err)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	for _, test := range []struct{ format, adjacency, json, want string }{
		{"dpevent", "ZERO_OUT", `{}`, `format: "dpevent"; allowed: dp-event, opacus`},
		{DPEvent, "ZERO_OUT", `{`, "file: "},
		{DPEvent, "ZERO_OUT", `{} {}`, "more than one JSON value"},
		{DPEvent, "", `{}`, "adjacency: missing"},
		{DPEvent, "ZERO_OUT", `["dp_accounting.dp_event", "GaussianDpEvent", 2.0]`,
			"json.dumps drops a named tuple's field names"},
		{DPEvent, "ZERO_OUT", `{"module_name": "other", "class_name": "GaussianDpEvent"}`, "event.module_name"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "SampledWithReplacementDpEvent"}`, "event.class_name"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "RepeatAndSelectDpEvent", "mean": 3, "shape": -0.5, "event": {}}`, "event.shape: -0.5"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "RepeatAndSelectDpEvent", "mean": 1, "shape": 1, "event": {}}`, "event.mean: 1"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "RepeatAndSelectDpEvent", "mean": 0, "shape": Infinity, "event": {}}`,
			"event.mean: 0; allowed: a number > 0"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "RepeatAndSelectDpEvent", "mean": Infinity, "shape": Infinity, "event": {}}`,
			"event.mean: Infinity; allowed: a finite number"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "RepeatAndSelectDpEvent", "mean": 2, "shape": -Infinity, "event": {}}`,
			`event.shape: "-Infinity"; allowed: a number from 0`},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "GaussianDpEvent", "noise_multiplier": Infinity}`,
			"event.noise_multiplier: Infinity; allowed: a finite number"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "GaussianDpEvent", "noise_multiplier": NaN}`,
			"event.noise_multiplier: NaN; allowed: a finite number"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "ComposedDpEvent", "events": [{` + module +
			`"class_name": "SelfComposedDpEvent", "event": {}, "count": -Infinity}]}`,
			"event.events[0].count: -Infinity; allowed: a finite number"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "MixtureOfGaussiansDpEvent", "standard_deviation": 1, "sensitivities": [1, NaN], "sampling_probs": [1]}`, "event.sensitivities[1]: NaN"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "Infinity \" NaN", "x": 1}`,
			`event.class_name: "Infinity \" NaN"`},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": Infinitely}`, "file: "},
		{Opacus, "", `[[Infinity, 0.01, 5]]`, "history[0][0]: Infinity"},
		{Opacus, "", `[[1, NaN, 5]]`, "history[0][1]: NaN"},
		{DPEvent, "ADD_OR_REMOVE_ONE",
			`{` + module +
				`"class_name": "SampledWithoutReplacementDpEvent", "source_dataset_size": 10, "sample_size": 1, "event": {}}`, "SampledWithoutReplacementDpEvent under ADD_OR_REMOVE_ONE"},
		{DPEvent, "REPLACE_ONE",
			`{` + module +
				`"class_name": "SampledWithoutReplacementDpEvent", "source_dataset_size": 10, "sample_size": 1, "event":
			{` + module + `"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.5, "event": {` + module +
				`"class_name": "GaussianDpEvent", "noise_multiplier": 2}}}`, "a sample of a sample"},
		{DPEvent, "REPLACE_ONE",
			`{` + module +
				`"class_name": "MixtureOfGaussiansDpEvent", "standard_deviation": 1, "sensitivities": [1], "sampling_probs": [1]}`, "MixtureOfGaussiansDpEvent under REPLACE_ONE"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "MixtureOfGaussiansDpEvent", "standard_deviation": 1, "sensitivities": 1, "sampling_probs": [1]}`, "event.sensitivities: 1"},
		{DPEvent, "ADD_OR_REMOVE_ONE",
			`{` + module +
				`"class_name": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 1, "step_counts": 4}`,
			"SingleEpochTreeAggregationDpEvent under ADD_OR_REMOVE_ONE"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 1, "step_counts": [4, 0.5]}`,
			"event.step_counts[1]: 0.5"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "NonPrivateDpEvent"}`, "a finite loss"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "GaussianDpEvent"}`, "event.noise_multiplier: missing"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "GaussianDpEvent", "noise_multiplier": 0}`,
			"event.noise_multiplier: 0; allowed: a number > 0"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "GaussianDpEvent", "noise_multiplier": "2"}`, "a number"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "GaussianDpEvent", "noise_multiplier": 2, "sensitivity": 3}`,
			"no such field of GaussianDpEvent"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "ZCDpEvent", "rho": 2, "xi": 0.1}`, "event.xi"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "SelfComposedDpEvent", "event": {}, "count": 1.5}`,
			"event.count: 1.5"},
		{DPEvent, "ZERO_OUT", `{` + module +
			`"class_name": "SelfComposedDpEvent", "event": {}, "count": 9007199254740992}`, "2^45"},
		{DPEvent, "ZERO_OUT", `{` + module + `"class_name": "ComposedDpEvent", "events": {}}`, "a list of events"},
		{DPEvent, "ZERO_OUT", strings.Repeat(`{`+module+`"class_name": "SelfComposedDpEvent", "count": 1, "event": `,
			40) + `1` + strings.Repeat("}", 40), "deep"},
		{Opacus, "REPLACE_ONE", `[]`, "adjacency: REPLACE_ONE"},
		{Opacus, "", `{"history": [], "mechanism": "rdp", "epsilon": 1}`, "epsilon: 1"},
		{Opacus, "", `{"mechanism": "rdp"}`, "history: null"},
		{Opacus, "", `[[1.1, 0.01]]`, "history[0]"},
		{Opacus, "", `[[1.1, 0.01, 5], [0, 0.01, 5]]`, "history[1][0]: 0"},
		{Opacus, "", `[[1.1, 1.5, 5]]`, "history[0][1]: 1.5"},
		{Opacus, "", `[[1.1, 0.5, -5]]`, "history[0][2]: -5"},
		{Opacus, "", `[[1.1, 0.5, 1406.25]]`, "history[0][2]: 1406.25"},
		{Opacus, "", `[[1.1, 0.5, 2.00000000000000000001]]`, "history[0][2]: 2.00000000000000000001"},
		{Opacus, "", `[[1.1, 0.5, 1e-400]]`, "history[0][2]: 1e-400"}, // which as a float64 is 0 steps
		{Opacus, "", `[[1.1, 0.5, "5"]]`, `history[0][2]: "5"`},
		{Opacus, "", `[[1.1, 0.5, true]]`, "history[0][2]: true"},
	} {
		_, _, err := Read(test.format, []byte(test.json),
			pb.Workload_Adjacency(pb.Workload_Adjacency_value[test.adjacency]))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %.80s: %v, want %s", test.format, test.json, err, test.want)
		}
	}
}

// All that cannot be expressed is named.
func TestWorkloadsThatAreRefused(t *testing.T) {
	pure, response := mechanism.PureDP{Epsilon: 1}, mechanism.RandomizedResponse{Epsilon: 1}
	gaussian := mechanism.Gaussian{NoiseMultiplier: 2}
	for _, test := range []struct {
		format string
		adj    mechanism.Adjacency
		parts  []mechanism.Part
		want   []string
	}{
		{DPEvent, mechanism.ReplaceOne,
			[]mechanism.Part{{Mechanism: mechanism.InverseSensitivity{Epsilon: 1}, Count: 1},
				{Mechanism: mechanism.Laplace{Scale: 1, Sensitivity: 1}, Count: 1},
				{Mechanism: response, Count: 20_000}},
			[]string{"inverse_sensitivity(ε=1): DpEvent has no class",
				"laplace(b=1, Δ=1): dp_accounting has Laplace", "20000 times"}},
		{DPEvent, mechanism.AddOrRemoveOne,
			[]mechanism.Part{{Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: pure}, Count: 1},
				{Mechanism: mechanism.ZeroConcentratedDP{Rho: 1, Delta: 0.1}, Count: 1}},
			[]string{"PLDAccountant samples Gaussian and Laplace", "ZCDpEvent has no δ"}},
		{DPEvent, mechanism.ReplaceOne,
			[]mechanism.Part{{Mechanism: mechanism.FixedSizeSampled{BatchSize: 1, DatasetSize: 9, Mechanism: gaussian},
				Count: 1}, {Mechanism: mechanism.MixtureOfGaussians{StandardDeviation: 1,
				Sensitivities: mechanism.NumbersOf(1), Probabilities: mechanism.NumbersOf(1)}, Count: 1},
				{Mechanism: mechanism.RepeatAndSelect{Gamma: 0.5, Eta: 1, Mechanism: gaussian}, Count: 1},
				{Mechanism: mechanism.TreeAggregation{NoiseMultiplier: 1,
					Participation: mechanism.Participation{Steps: 4}}, Count: 1}},
			[]string{"only RdpAccountant knows such batches", "mixtures of Gaussians under",
				"only RdpAccountant knows repetitions", "one participation under zero-out"}},
		{DPEvent, mechanism.AddOrRemoveOne,
			[]mechanism.Part{{Mechanism: mechanism.TruncatedPoissonSampled{SamplingProbability: 0.1, DatasetSize: 9,
				MaximumBatchSize: 2, Mechanism: gaussian}, Count: 1},
				{Mechanism: mechanism.RepeatAndSelect{Mean: 0.5, Mechanism: gaussian}, Count: 1},
				{Mechanism: mechanism.RepeatAndSelect{Gamma: 0.1, Eta: -0.5, Mechanism: gaussian}, Count: 1},
				{Mechanism: mechanism.RepeatAndSelect{Mean: 3, Mechanism: mechanism.Composed{
					Events: mechanism.ListOf(mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 1,
						Delta: 0.1}, Count: 2})}}, Count: 1},
				{Mechanism: mechanism.RandomAllocation{Steps: 9, Passes: 2, Mechanism: gaussian}, Count: 1},
				{Mechanism: mechanism.ReportNoisyMax{Distribution: mechanism.LaplaceMax, Epsilon: 1}, Count: 1},
				{Mechanism: mechanism.Exponential{Epsilon: 1}, Count: 10_001},
				{Mechanism: mechanism.TruncatedPoissonSampled{SamplingProbability: 0.1, DatasetSize: 9,
					MaximumBatchSize: 2, Mechanism: mechanism.Laplace{Scale: 1, Sensitivity: 1}}, Count: 1}},
			[]string{"counts the added record", "no mean below 1", "no shape below 0",
				"adds the δ of what is repeated once", "afresh for each pass", "class for it with Laplace noise",
				"10001 times; RdpAccountant composes it once", "with Gaussian noise only"}},
		{Opacus, mechanism.AddOrRemoveOne,
			[]mechanism.Part{{Mechanism: pure, Count: 1},
				{Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.1,
					Mechanism: mechanism.Laplace{Scale: 1, Sensitivity: 1}}, Count: 1}},
			[]string{"pure_dp(ε=1): Opacus knows Gaussian", "laplace"}},
		{DPEvent, mechanism.ZeroOut, []mechanism.Part{{Mechanism: response, Count: 1}},
			[]string{"null record (REPLACE_SPECIAL) answers uniformly"}},
		{Opacus, mechanism.ZeroOut, nil, []string{"adjacency: ZERO_OUT"}},
		{"other", mechanism.ZeroOut, nil, []string{`format: "other"`}},
	} {
		_, _, err := Write(test.format, mechanism.Composition{Adjacency: test.adj, Parts: test.parts})
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", test.format, err, want)
			}
		}
	}
}

// The kinds that no class of DpEvent expresses. A new kind is in this list or in dpEventKinds.
func TestKindsWithoutDPEvent(t *testing.T) {
	without := []string{
		"renyi_dp", "privacy_loss_table", // declared
		"truncated_laplace", "above_threshold", "inverse_sensitivity", "histogram", "counting_queries", "group",
		"parallel", "shuffled", "allocated_matrix", "shuffled_reports",
	}
	known := map[string]bool{}
	for _, k := range mechanism.Kinds() {
		known[k.Name] = true
		if _, ok := dpEventKinds[k.Name]; ok == slices.Contains(without, k.Name) {
			t.Errorf("%[1]s is written as a DpEvent: %[2]v: add %[1]s to the list in this test if "+
				"no class expresses it, and otherwise to dpEventKinds", k.Name, ok)
		}
	}
	for name := range dpEventKinds {
		if !known[name] {
			t.Errorf("%s is no kind", name)
		}
	}
}

// What is written and read again costs what it cost, or more by the rounding of the
// noise; read and written again it stays the same.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne,
			mechanism.ZeroOut}).Draw(t, "adjacency")
		format := DPEvent
		if adj == mechanism.AddOrRemoveOne && rapid.Bool().Draw(t, "opacus") {
			format = Opacus
		}
		gaussian := func() mechanism.Gaussian {
			sigma, d := rapid.Float64Range(0.5, 100).Draw(t, "σ"), rapid.Float64Range(0.1, 10).Draw(t, "Δ")
			return rapid.SampledFrom([]mechanism.Gaussian{{NoiseMultiplier: sigma},
				{StandardDeviation: sigma, Sensitivity: d}, {StandardDeviation: sigma, Distance: d}}).Draw(t,
				"gaussian")
		}
		sampled := func() mechanism.Mechanism {
			g := gaussian()
			if g.Distance != 0 {
				g = mechanism.Gaussian{NoiseMultiplier: 2}
			}
			return mechanism.PoissonSampled{BatchSize: rapid.Uint64Range(1, 100).Draw(t, "batch"),
				DatasetSize: 12345, Mechanism: g}
		}
		all := []func() mechanism.Mechanism{
			func() mechanism.Mechanism { return gaussian() }, sampled,
			func() mechanism.Mechanism {
				return mechanism.Composed{Events: mechanism.ListOf(mechanism.Event{Mechanism: gaussian(), Count: 2},
					mechanism.Event{Mechanism: sampled(), Count: 3})}
			},
		}
		if format == DPEvent && adj != mechanism.ReplaceOne {
			all = append(all, func() mechanism.Mechanism {
				return mechanism.Laplace{Scale: 20, Distance: rapid.Float64Range(0.1, 3).Draw(t, "d")}
			})
		}
		if adj == mechanism.ReplaceOne {
			all = append(all, func() mechanism.Mechanism {
				return mechanism.RandomizedResponse{Epsilon: rapid.Float64Range(0.01, 3).Draw(t, "ε"),
					Buckets: rapid.Uint64Range(2, 9).Draw(t, "k")}
			})
		}
		if format == DPEvent && adj != mechanism.AddOrRemoveOne {
			all = append(all, func() mechanism.Mechanism {
				return mechanism.TruncatedPoissonSampled{SamplingProbability: 0.01, DatasetSize: 1000,
					MaximumBatchSize: rapid.Uint64Range(5, 50).Draw(t, "most"),
					Mechanism: mechanism.Gaussian{StandardDeviation: 7,
						Sensitivity: rapid.Float64Range(1, 5).Draw(t, "Δ")}}
			})
		}
		if format == DPEvent && adj != mechanism.ReplaceOne {
			all = append(all, func() mechanism.Mechanism {
				return mechanism.MixtureOfGaussians{StandardDeviation: rapid.Float64Range(1, 9).Draw(t, "σ"),
					Sensitivities: mechanism.NumbersOf(0, 1.5, 0.3),
					Probabilities: mechanism.NumbersOf(0.5, 0.125, 0.375)}
			}, func() mechanism.Mechanism {
				// Other reciprocals move by a step each time, to the safe side.
				return mechanism.RepeatAndSelect{Gamma: math.Ldexp(1, -rapid.IntRange(1, 10).Draw(t, "γ")),
					Eta: 1, Mechanism: gaussian()}
			})
		}
		if format == DPEvent {
			epsilon := rapid.Float64Range(0.01, 3).Draw(t, "ε")
			all = append(all, func() mechanism.Mechanism { return mechanism.PureDP{Epsilon: epsilon} },
				func() mechanism.Mechanism { return mechanism.ApproximateDP{Epsilon: epsilon, Delta: 1e-9} },
				func() mechanism.Mechanism { return mechanism.NameAndShame{Delta: 1e-9} },
				func() mechanism.Mechanism {
					return mechanism.Exponential{Scale: 7, Sensitivity: epsilon,
						Monotone: rapid.Bool().Draw(t, "monotone")}
				},
				func() mechanism.Mechanism {
					return mechanism.ReportNoisyMax{Distribution: rapid.SampledFrom([]mechanism.MaxNoise{
						mechanism.ExponentialMax, mechanism.GumbelMax}).Draw(t, "noise"), Epsilon: epsilon}
				},
				func() mechanism.Mechanism { return mechanism.GaussianDP{Mu: epsilon} })
		}
		if format == DPEvent && adj != mechanism.ReplaceOne {
			all = append(all, func() mechanism.Mechanism {
				return mechanism.DiscreteGaussian{StandardDeviation: 9, Distance: 3,
					Coordinates: rapid.Uint64Range(0, 3).Draw(t, "coordinates")}
			}, func() mechanism.Mechanism {
				return mechanism.RandomAllocation{Steps: rapid.Uint64Range(3, 30).Draw(t, "steps"),
					Selected:  rapid.Uint64Range(1, 3).Draw(t, "selected"),
					Mechanism: mechanism.Gaussian{NoiseMultiplier: 5}}
			})
		}
		if format == DPEvent && adj == mechanism.ZeroOut {
			all = append(all, func() mechanism.Mechanism {
				return mechanism.TreeAggregation{StandardDeviation: rapid.Float64Range(1, 50).Draw(t, "σ"),
					Sensitivity: 0.7, Participation: mechanism.Participation{Steps: rapid.Uint64Range(1,
						5000).Draw(t, "steps")}}
			})
		}
		var list []mechanism.Event
		for range rapid.IntRange(0, 3).Draw(t, "events") {
			list = append(list, mechanism.Event{Mechanism: all[rapid.IntRange(0, len(all)-1).Draw(t, "kind")](),
				Count: rapid.Uint32Range(1, 5).Draw(t, "count")})
		}
		c, err := mechanism.Compose(adj, list)
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := Write(format, c)
		if err != nil {
			t.Fatal(err)
		}
		w, _, err := Read(format, data, wire.FromAdjacency(adj))
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		_, back, err := wire.ToWorkload(w)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		before, _ := accountant.AskBy(c, accountant.AtDelta(1e-6), accountant.RDP)
		after, _ := accountant.AskBy(back, accountant.AtDelta(1e-6), accountant.RDP)
		// The rdp search ends within 1e−9.
		if after.Epsilon < before.Epsilon*(1-1e-8)-1e-12 || after.Epsilon > before.Epsilon*(1+1e-8)+1e-12 {
			t.Fatalf("%s: ε = %v, of %+v %v", data, after.Epsilon, list, before.Epsilon)
		}
		again, _, err := Write(format, back)
		if err != nil {
			t.Fatal(err)
		}
		second, _, err := Read(format, again, wire.FromAdjacency(adj))
		if err != nil {
			t.Fatal(err)
		}
		if _, same, err := wire.ToWorkload(second); err != nil || !slices.Equal(same.Parts, back.Parts) {
			t.Fatalf("%v\nthen %v, %v", back, same, err)
		}
	})
}

// Noise is rounded down, and by no more than one step.
func TestRatioDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma, d := rapid.Float64Range(1e-3, 1e3).Draw(t, "σ"), rapid.Float64Range(1e-3, 1e3).Draw(t, "Δ")
		q := ratioDown(sigma, d)
		if math.FMA(q, d, -sigma) > 0 || math.FMA(math.Nextafter(q, 2*q), d, -sigma) <= 0 && q*d != sigma {
			t.Fatalf("%v/%v = %v", sigma, d, q)
		}
		if r := reciprocalUp(d); math.FMA(r, d, -1) < 0 ||
			math.FMA(math.Nextafter(r, 0), d, -1) >= 0 || ratioDown(1, r) > d {
			t.Fatalf("1/%v = %v", d, r)
		}
		// ν gives back an ε that is no less.
		epsilon, k := rapid.Float64Range(1e-3, 30).Draw(t, "ε"), float64(rapid.IntRange(2, 1000).Draw(t, "k"))
		nu := responseNoise(epsilon, k)
		// 1 − ν has lost digits
		if e := math.Log1p(k * (1 - nu) / nu); e < epsilon*(1-1e-14) || e > epsilon+1e-14*k+1e-13 {
			t.Fatalf("ε = %v, ν = %v, ε again %v", epsilon, nu, e)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{`+module+`"class_name": "SelfComposedDpEvent", "count": 3, "event": {`+module+
		`"class_name": "GaussianDpEvent", "noise_multiplier": 2}}`), true)
	f.Add([]byte(`{"history": [[1.1, 0.01, 5]], "mechanism": "rdp"}`), false)
	f.Fuzz(func(t *testing.T, data []byte, event bool) {
		format, adj := Opacus, pb.Workload_ADJACENCY_UNSPECIFIED
		if event {
			format, adj = DPEvent, pb.Workload_REPLACE_ONE
		}
		w, _, err := Read(format, data, adj)
		if err != nil {
			return
		}
		if _, c, err := wire.ToWorkload(w); err == nil {
			if _, _, err := Write(format, c); err != nil && !strings.HasPrefix(err.Error(), "workload: ") {
				t.Fatal(err)
			}
		}
	})
}
