// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// States that flwr 1.42 has written are read as what they are. Flower's own ε, by dp_accounting's Rényi bounds,
// is above ours for add-or-remove; for a replaced client it counts half of the distance, and is below even the
// lower bound.
func TestFlower(t *testing.T) {
	data, err := os.ReadFile("testdata/flower.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Rows map[string]struct {
			State   json.RawMessage
			Epsilon float64
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	delta := 1e-5
	for name, row := range golden.Rows {
		w, notes, err := Read(Flower, row.State, pb.Workload_ADJACENCY_UNSPECIFIED)
		if err != nil || len(notes) == 0 {
			t.Errorf("%s: %v, notes %q", name, err, notes)
			continue
		}
		_, c, err := wire.ToWorkload(w)
		if err != nil {
			t.Fatal(err)
		}
		a, err := accountant.Ask(c, accountant.Question{Delta: &delta})
		if err != nil {
			t.Fatal(err)
		}
		if name == "fixed" {
			if !(row.Epsilon < *a.EpsilonLower) || c.Adjacency != mechanism.ReplaceOne {
				t.Errorf("fixed: Flower says %v; here at least %v", row.Epsilon, *a.EpsilonLower)
			}
			// Half the distance is what Flower's accountant counts.
			half := w.Events[0].Mechanism.GetFixedSizeSampled().Mechanism.GetGaussian()
			*half.NoiseMultiplier *= 2
			_, c, err = wire.ToWorkload(w)
			if err != nil {
				t.Fatal(err)
			}
			if a, err = accountant.Ask(c, accountant.Question{Delta: &delta}); err != nil {
				t.Fatal(err)
			}
		}
		if !(*a.EpsilonLower <= row.Epsilon && a.Epsilon <= row.Epsilon && a.Epsilon > row.Epsilon/3) {
			t.Errorf("%s: ε ≤ %v, ≥ %v; by Flower %v", name, a.Epsilon, *a.EpsilonLower, row.Epsilon)
		}
	}
}

// What is wrong in a state is named with its place.
func TestWrongFlower(t *testing.T) {
	const right = `{"schema_version": 1, "backend": "rdp", "orders": [2.0], "config": {"target_delta": 1e-05,
		"population_size": 100, "neighboring_relation": "add-or-remove-one", "sampling_method": "poisson",
		"max_epsilon": null}, "compositions": [{"event": {"noise_multiplier": 1.0, "sample_size": 10,
		"population_size": 100}, "count": 5}]}`
	if _, _, err := Read(Flower, []byte(right), pb.Workload_ADJACENCY_UNSPECIFIED); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(Flower, []byte(right), pb.Workload_REPLACE_ONE); err == nil {
		t.Error("another adjacency is taken")
	}
	for _, c := range [][3]string{
		{`"schema_version": 1`, `"schema_version": 2`, "schema_version"},
		{`"rdp"`, `"pld"`, "backend"},
		{`"poisson"`, `"lottery"`, "config.sampling_method"},
		{`"poisson"`, `"without-replacement"`, "config.neighboring_relation"},
		{`"population_size": 100, "neigh`, `"population_size": 50, "neigh`, "compositions[0].event.population_size"},
		{`"noise_multiplier": 1.0`, `"noise_multiplier": 0.0`, "compositions[0].event.noise_multiplier"},
		{`"noise_multiplier": 1.0`, `"noise_multiplier": Infinity`, "compositions[0].event.noise_multiplier"},
		{`"sample_size": 10`, `"sample_size": 101`, "compositions[0].event.sample_size"},
		{`"sample_size": 10`, `"sample_size": 0`, "compositions[0].event.sample_size"},
		{`"count": 5`, `"count": -5`, "compositions[0].count"},
		{`"count": 5`, `"count": 5, "more": 1`, "compositions[0].more"},
		{`"orders": [2.0], `, ``, "file.orders"},
	} {
		wrong := strings.Replace(right, c[0], c[1], 1)
		_, _, err := Read(Flower, []byte(wrong), pb.Workload_ADJACENCY_UNSPECIFIED)
		var p *mechanism.ParameterError
		if !errors.As(err, &p) || p.Field != c[2] {
			t.Errorf("%s: %v; want an error at %s", c[1], err, c[2])
		}
	}
	_, _, err := Write(Flower, mechanism.Composition{})
	if err == nil || strings.Contains(err.Error(), "opacus, flower") {
		t.Errorf("a state of Flower's is written: %v", err)
	}
}
