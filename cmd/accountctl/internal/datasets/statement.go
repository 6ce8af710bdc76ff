// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

const formatMarkdown = "markdown"

func statementOf(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "statement ID",
		Short: "Write a dataset's privacy statement, over all its ledgers",
		Long: `Write a dataset's privacy statement as Markdown: what holds for all that was, and will
be, released from all its ledgers together, and what each of them takes. A dataset that
shares another one's budget has that one's statement.`,
		Example: `  accountctl dataset statement survey > privacy.md
  accountctl dataset statement survey --delta 1e-6 --output json`,
		Args: cli.Arguments("ID"),
	}
	deltas := c.Flags().Float64Slice("delta", nil, "`δ` in (0, 1) at which ε is stated; may be repeated (default: "+
		"1e-5, 1e-6, 1e-8, 1e-10, and those of the budgets)")
	output := cli.ChoiceFlag(c, "output", "o", formatMarkdown, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		answer, err := cli.AskDocument(p, c,
			func(ctx context.Context, daemon *client.Client) (*accountantv1.GetDatasetStatementResponse, error) {
				return daemon.DatasetStatement(ctx, args[0], *deltas...)
			})
		if err != nil {
			return err
		}
		p.Warn(answer.GetStatement().GetWarnings())
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		_, err = p.Out.WriteString(answer.GetStatement().GetMarkdown())
		return err
	}
	return c
}
