// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/statement"
)

const formatMarkdown = "markdown"

func statementOf(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "statement NAME",
		Short: "Write a ledger's privacy statement, for a model card",
		Long: `Write a ledger's privacy statement as Markdown, for a model card. It begins with
one paragraph that can stand alone: what holds, at which ε and δ, for whom, and the
numbers that were reported. Then it says what is protected, what holds for people with
several records, what an attacker can do, who has to be trusted, and what would hold
if the data had been shuffled. Tables with every number and the assumptions follow.

With --registry it writes a record for the registry of deployments that OpenDP keeps
(github.com/opendp/deployments-registry-data), as YAML. FILE is a record of the same
shape with what only people know, such as who publishes what and why; the ledger's
numbers are filled in, at the first --delta.

Every number is rounded to the safe side. docs/statement.md compares the statement
with that of TensorFlow Privacy and with what NIST SP 800-226 asks for.`,
		Example: `  accountctl statement team/mnist > privacy.md
  accountctl statement team/mnist --delta 1e-5 --delta 1e-7 --output json
  accountctl statement team/mnist --registry people.yaml > mnist.yaml`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	deltas := c.Flags().Float64Slice("delta", nil, "`δ` in (0, 1) at which ε is stated; may be repeated (default: "+
		"1e-5, 1e-6, 1e-8, 1e-10, and those of the budgets)")
	output := cli.ChoiceFlag(c, "output", "o", formatMarkdown, cli.FormatJSON)
	registry := c.Flags().String("registry", "", "write a record for OpenDP's registry of deployments; `FILE` has what "+
		"only people know")
	c.RunE = func(c *cobra.Command, args []string) error {
		var people []byte
		if *registry != "" {
			if c.Flags().Changed("output") {
				return cli.UsageOf(c, "--registry", "--registry and --output are both given; allowed: one of them")
			}
			var err error
			if people, err = p.ReadFile(c.Context(), *registry); err != nil {
				return err
			}
		}
		s, err := cli.AskDocument(p, c,
			func(ctx context.Context, daemon *client.Client) (*accountantv1.Statement, error) {
				return daemon.Statement(ctx, args[0], *deltas...)
			})
		if err != nil {
			return err
		}
		p.Warn(s.GetWarnings())
		if *registry != "" {
			delta := statement.Delta(s)
			if len(*deltas) > 0 {
				delta = (*deltas)[0]
			}
			record, err := statement.Registry(s, delta, people)
			if err != nil {
				return cli.BadFile(*registry, err)
			}
			_, err = p.Out.WriteString(record)
			return err
		}
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(s)
		}
		_, err = p.Out.WriteString(s.GetMarkdown())
		return err
	}
	return c
}
