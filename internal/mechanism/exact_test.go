// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"strings"
	"testing"
)

// Which exact costs each kind has, and which of them a group of it has too. Whoever adds a kind
// decides here: of a cost that is missing the guards take what package loss computes, rounded up.
func TestExactCostsOfAllKinds(t *testing.T) {
	want := map[string]string{
		"gaussian":                  "μ²",
		"laplace":                   "ε",
		"poisson_sampled":           "μ²",
		"randomized_response":       "ε",
		"pure_dp":                   "ε",
		"approximate_dp":            "ε",
		"zero_concentrated_dp":      "ρ",
		"gaussian_dp":               "μ²",
		"discrete_gaussian":         "group ρ",
		"discrete_laplace":          "group ε",
		"truncated_laplace":         "group ε",
		"exponential":               "group ε, group ρ",
		"report_noisy_max":          "group ε, group ρ",
		"above_threshold":           "group ε",
		"inverse_sensitivity":       "group ε, group ρ",
		"histogram":                 "group ε, μ²",
		"counting_queries":          "μ²",
		"renyi_dp":                  "order",
		"privacy_loss_table":        "none: its losses are the table's",
		"name_and_shame":            "ε, ρ",
		"composed":                  "μ²",
		"group":                     "none: that of what it runs, times its size",
		"parallel":                  "none: the largest of its parts",
		"repeat_and_select":         "none: Rényi divergences of a random number of runs",
		"fixed_size_sampled":        "μ²",
		"truncated_poisson_sampled": "none: a mixture",
		"shuffled":                  "μ²",
		"random_allocation":         "μ²",
		"mixture_of_gaussians":      "μ²",
		"tree_aggregation":          "none: μ is the root of a sum over its nodes",
		"banded_matrix":             "none: μ is the root of a sum over its matrix",
		"dp_sgd":                    "none: that of its steps",
		"general_matrix":            "none: μ is the root of a sum over its matrix",
		"sampled_matrix":            "none: that of its steps, whose μ is a root",
		"allocated_matrix":          "none: μ is the root of a sum over its matrix",
		"shuffled_reports":          "ε",
	}
	for _, k := range Kinds() {
		m := zero(k)
		var has []string
		for _, c := range []struct {
			name string
			ok   bool
		}{
			{"ε", is[hasEpsilon](m)}, {"ρ", is[hasRho](m)}, {"group ε", is[hasGroupEpsilon](m)},
			{"group ρ", is[hasGroupRho](m)},
			{"μ²", is[hasMuSquared](m)}, {"order", is[hasOrder](m)},
		} {
			if c.ok {
				has = append(has, c.name)
			}
		}
		if got := strings.Join(has, ", "); got != want[k.Name] &&
			!(got == "" && strings.HasPrefix(want[k.Name], "none: ")) {
			t.Errorf("by its methods (exact.go) %[1]s has the exact costs %[2]q, and the list in this test says "+
				"%[3]q: add or change the row for %[1]s there; without any it begins with \"none: \" and says why",
				k.Name, got, want[k.Name])
		}
	}
}

func is[T any](m Mechanism) bool {
	_, ok := m.(T)
	return ok
}
