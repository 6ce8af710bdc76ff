// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func list(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the registered datasets",
		Long: `List the registered datasets. On a terminal names are shortened, and budgets and owners
left out; --output wide has them whole.`,
		Example: `  accountctl dataset list
  accountctl dataset list --output jsonl`,
		Args: cli.Arguments(),
	}
	output := cli.OutputFlag(c, cli.FormatWide, cli.FormatJSON, cli.FormatJSONL)
	list := cli.List[*accountantv1.Dataset]{
		Head: func() []any {
			return row(p, "DATASET", "STATE", "ADJACENCY", "UNIT", "BUDGET", "OWNERS", "REGISTERED")
		},
		Row: func(d *accountantv1.Dataset) []any {
			s := d.GetSpec()
			name := spelling.Reference(&accountantv1.DatasetReference{Id: spelling.Identifier(s.GetId()),
				Version: s.GetVersion()})
			return row(p, name, state(d), spelling.Adjacency(s.GetAdjacency()), s.GetPrivacyUnit(),
				budgetText(d), strings.Join(s.GetOwners(), ", "), spelling.Time(d.GetCreateTime()))
		},
		Whole: func(all []*accountantv1.Dataset) proto.Message {
			return &accountantv1.ListDatasetsResponse{Datasets: all}
		},
		Empty: func() string { return cli.NoDataset },
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return p.With(c, func(daemon *client.Client) error {
			return list.Write(p, output.Value, daemon.ListDatasets(c.Context()))
		})
	}
	return c
}

// row is a dataset's row. Where it has to fit a terminal it has short names, no budget and owners,
// and the day alone.
func row(p *cli.Program, name, state, adjacency, unit, budget, owners, registered string) []any {
	if p.Narrow() {
		day, _, _ := strings.Cut(registered, "T")
		return []any{p.Short(name, 24), state, adjacency, p.Short(unit, 12), day}
	}
	return []any{name, state, adjacency, unit, budget, owners, registered}
}
