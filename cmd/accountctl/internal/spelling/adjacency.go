package spelling

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// ParseAdjacency reads the value of --adjacency.
func ParseAdjacency(c *cobra.Command, s string) (accountantv1.Workload_Adjacency, error) {
	if s == "" {
		return 0, cli.Usage(c, "--adjacency is missing; allowed: %s", strings.Join(Adjacencies(), ", "))
	}
	if !slices.Contains(Adjacencies(), s) {
		return 0, cli.Usage(c, "--adjacency: %q; allowed: %s", s, strings.Join(Adjacencies(), ", "))
	}
	return accountantv1.Workload_Adjacency(accountantv1.Workload_Adjacency_value[strings.ToUpper(strings.ReplaceAll(s,
		"-", "_"))]), nil
}

// Adjacencies are the API's, as flags spell them.
func Adjacencies() []string {
	var out []string
	for i := 1; i < len(accountantv1.Workload_Adjacency_name); i++ {
		out = append(out, Adjacency(accountantv1.Workload_Adjacency(i)))
	}
	return out
}

// Adjacency is an adjacency as --adjacency takes it.
func Adjacency(a accountantv1.Workload_Adjacency) string {
	return strings.ToLower(Dashed(a.String()))
}
