// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func show(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show a dataset and what is left of its budget",
		Long: `Show a dataset: who answers for it, its versions, its budget and what is left of that.
Its entries and its head can be asked for by the name of its record: accountctl ledger entries
dataset:ID.`,
		Example: `  accountctl dataset show survey
  accountctl dataset show survey --output json`,
		Args: cli.Arguments("ID"),
	}
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		answer, err := cli.Ask(p, c,
			func(ctx context.Context, daemon *client.Client) (*accountantv1.GetDatasetResponse, error) {
				return daemon.GetDataset(ctx, args[0])
			})
		if err != nil {
			return err
		}
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		return write(p, answer.GetDataset())
	}
	return c
}
