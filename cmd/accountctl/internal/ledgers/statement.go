package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

const formatMarkdown = "markdown"

func statement(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "statement NAME",
		Short: "Write a ledger's privacy statement, for a model card",
		Long: `Write what a model card needs to say of a ledger: whose privacy is protected, in
which dataset, what was run, ε at several δ, and what these numbers rest on. Every
number is rounded to the safe side.`,
		Example: `  accountctl statement team/mnist > privacy.md
  accountctl statement team/mnist --delta 1e-5 --delta 1e-7 --output json`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	deltas := c.Flags().Float64Slice("delta", nil, "`δ` in (0, 1) at which ε is stated; may be repeated (default: "+
		"1e-5, 1e-6, 1e-8, 1e-10, and those of the budgets)")
	output := cli.ChoiceFlag(c, "output", "o", formatMarkdown, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := cli.Ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.Statement, error) {
			return daemon.Statement(ctx, args[0], *deltas...)
		})
		if err != nil {
			return err
		}
		p.Warn(s.GetWarnings())
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(s)
		}
		_, err = p.Out.WriteString(answers.Markdown(s))
		return err
	}
	return c
}
