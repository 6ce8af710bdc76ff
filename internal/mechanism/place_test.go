// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Where each kind may stand inside others, with the parameters that allow most. Whoever adds a
// kind decides here.
func TestPlacesOfAllKinds(t *testing.T) {
	want := map[string]string{
		"gaussian": "group, sampled group, mixture, sample, sampled list, fixed size, truncated, " +
			"shuffled, allocated",
		"laplace":                   "group, sampled group, sample, fixed size, truncated, allocated",
		"poisson_sampled":           "group",
		"randomized_response":       "group, sampled group, sample, report",
		"pure_dp":                   "group, sampled group, sample, fixed size, report",
		"approximate_dp":            "group, sample, fixed size",
		"zero_concentrated_dp":      "group, sample, fixed size",
		"gaussian_dp":               "group, sampled group, mixture, sample",
		"discrete_gaussian":         "group, sample",
		"discrete_laplace":          "group, sample",
		"truncated_laplace":         "group, sample",
		"exponential":               "group",
		"report_noisy_max":          "group",
		"above_threshold":           "group",
		"inverse_sensitivity":       "group",
		"histogram":                 "group",
		"counting_queries":          "group",
		"renyi_dp":                  "sample, fixed size",
		"privacy_loss_table":        "sample",
		"name_and_shame":            "",
		"composed":                  "sample",
		"group":                     "",
		"parallel":                  "",
		"repeat_and_select":         "",
		"fixed_size_sampled":        "",
		"truncated_poisson_sampled": "",
		"shuffled":                  "group",
		"random_allocation":         "",
		"mixture_of_gaussians":      "",
		"tree_aggregation":          "group",
		"banded_matrix":             "group",
		"dp_sgd":                    "",
		"general_matrix":            "group",
		"sampled_matrix":            "",
		"allocated_matrix":          "",
		"shuffled_reports":          "",
	}
	for _, k := range Kinds() {
		var list []string
		for i, name := range []string{"group", "sampled group", "mixture", "sample", "sampled list", "fixed size",
			"truncated", "shuffled", "allocated", "report"} {
			if zero(k).places().has(inGroup << i) {
				list = append(list, name)
			}
		}
		listed, decided := want[k.Name]
		if got := strings.Join(list, ", "); got != listed || !decided {
			t.Errorf("by its method places %[1]s may stand in %[2]q, and the list in this test says %[3]q: "+
				"add or change the row for %[1]s there, once you have decided where it may stand", k.Name, got, listed)
		}
	}
}

// What an error says is allowed are the kinds that are.
func TestAllowedIsWhatIsTaken(t *testing.T) {
	refused := NameAndShame{1e-9}
	for _, c := range []struct {
		outer Mechanism
		where place
	}{
		{Group{Size: 2, Mechanism: refused}, inGroup},
		{Group{Size: 2, Mechanism: PoissonSampled{SamplingProbability: 0.5, Mechanism: ApproximateDP{1, 1e-5}}},
			inSampledGroup},
		{PoissonSampled{SamplingProbability: 0.5, Mechanism: refused}, onPoissonSample},
		{PoissonSampled{SamplingProbability: 0.5, Mechanism: composed(PureDP{1})}, inSampledList},
		{FixedSizeSampled{BatchSize: 1, DatasetSize: 2, Mechanism: refused}, onFixedSizeSample},
		{TruncatedPoissonSampled{SamplingProbability: 0.5, DatasetSize: 9, MaximumBatchSize: 3, Mechanism: refused},
			onTruncatedSample},
		{Shuffled{BatchSize: 1, DatasetSize: 2, Mechanism: refused}, onShuffledBatch},
		{RandomAllocation{Steps: 2, Mechanism: refused}, onAllocatedBatch},
		{ShuffledReports{Reports: 2, Mechanism: refused}, onReport},
	} {
		var pe *ParameterError
		if err := c.outer.Check(AddOrRemoveOne); !errors.As(err, &pe) {
			t.Errorf("%v: %v", c.outer, err)
			continue
		}
		said := map[string]bool{}
		allowed := pe.Allowed
		if strings.Contains(allowed, "docs/mechanisms.md") && len(kindsAt(c.where)) > mostAllowed {
			allowed = kindsAt(c.where)
		}
		_, others, complement := strings.Cut(allowed, "every mechanism but ")
		for _, k := range Kinds() {
			if complement {
				said[k.Name] = !slices.Contains(regexp.MustCompile(`\w+`).FindAllString(others, -1), k.Name)
			} else {
				said[k.Name] = slices.Contains(regexp.MustCompile(`\w+`).FindAllString(allowed, -1), k.Name)
			}
		}
		maps.DeleteFunc(said, func(_ string, ok bool) bool { return !ok })
		if len(pe.Error()) > 300 {
			t.Errorf("an error of %d bytes: %v", len(pe.Error()), pe)
		}
		taken := map[string]bool{}
		for _, k := range Kinds() {
			if zero(k).places().has(c.where) {
				taken[k.Name] = true
			}
		}
		if !maps.Equal(said, taken) {
			t.Errorf("%s says %v, allowed are %v", c.outer.Kind(), slices.Sorted(maps.Keys(said)),
				slices.Sorted(maps.Keys(taken)))
		}
	}
}

// zero is a descriptor of the kind with no parameter given.
func zero(k *Kind) Mechanism { return reflect.Zero(k.Type()).Interface().(Mechanism) }
