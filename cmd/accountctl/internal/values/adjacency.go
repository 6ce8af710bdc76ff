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
	if !slices.Contains(spelling.Adjacencies(), s) {
		return 0, cli.Usage(c, "--adjacency: %q; allowed: %s", s, strings.Join(spelling.Adjacencies(), ", "))
	}
	return accountantv1.Workload_Adjacency(accountantv1.Workload_Adjacency_value[strings.ToUpper(strings.ReplaceAll(s,
		"-", "_"))]), nil
}
