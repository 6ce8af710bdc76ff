// SPDX-License-Identifier: Apache-2.0

// Package values holds flags whose values are the API's: an adjacency, labels and budgets.
package values

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// ParseAdjacency reads the value of --adjacency.
func ParseAdjacency(c *cobra.Command, s string) (accountantv1.Workload_Adjacency, error) {
	if s == "" {
		return 0, cli.Usage(c, "--adjacency is missing; allowed: %s", strings.Join(spelling.Adjacencies(), ", "))
	}
	name := strings.ToUpper(strings.ReplaceAll(s, "-", "_")) // as workload files spell it
	if !slices.Contains(spelling.Adjacencies(), strings.ToLower(spelling.Dashed(name))) {
		meant := cli.Meant(s, spelling.Adjacencies())
		if other := otherAdjacencies[name]; other != 0 {
			meant = "did you mean " + spelling.Adjacency(other) + "? "
		}
		return 0, cli.Usage(c, "--adjacency: %q; %sallowed: %s", s, meant, strings.Join(spelling.Adjacencies(), ", "))
	}
	return accountantv1.Workload_Adjacency(accountantv1.Workload_Adjacency_value[name]), nil
}

// otherAdjacencies are what papers and other libraries call them.
var otherAdjacencies = map[string]accountantv1.Workload_Adjacency{
	"ADD_REMOVE":      accountantv1.Workload_ADD_OR_REMOVE_ONE,
	"ADD_REMOVE_ONE":  accountantv1.Workload_ADD_OR_REMOVE_ONE,
	"ADD_OR_REMOVE":   accountantv1.Workload_ADD_OR_REMOVE_ONE,
	"UNBOUNDED":       accountantv1.Workload_ADD_OR_REMOVE_ONE,
	"BOUNDED":         accountantv1.Workload_REPLACE_ONE,
	"REPLACE":         accountantv1.Workload_REPLACE_ONE,
	"REPLACE_SPECIAL": accountantv1.Workload_ZERO_OUT,
	"SUBSTITUTE":      accountantv1.Workload_REPLACE_ONE,
	"SUBSTITUTION":    accountantv1.Workload_REPLACE_ONE,
}
