// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func query(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "query (NAME[,NAME …] | --prefix TEXT) [--delta D | --epsilon E]",
		Short: "Ask what ledgers have spent",
		Long: `Ask for the least proven upper bound on ε at a given δ, or on δ at a given ε, of
a ledger, over every analysis that is valid for all of it: of the whole plan, of what
the whole budgets allow, or, without either, of what was charged. The guarantee says
which; running is always of what was charged so far. Of one ledger δ is without --delta
and --epsilon the ledger's own: that of the first of its budgets that is an ε at a δ, or
1e-6.

Of several ledgers it says what each one costs, and what they cost together: for a
record that is in all of them, and for one that is in at most one.

` + several.Help,
		Example: `  accountctl query team/mnist
  accountctl query team/mnist --delta 1e-5
  accountctl query team/mnist --delta 1e-5 --max-gap 1e-9
  accountctl query team/mnist --epsilon 1 --output json
  accountctl query --prefix days/ --from 2026-11-01 --to 2026-11-30 --delta 1e-6`,
		ValidArgsFunction: p.CompleteLedger,
	}
	ledgers := several.AddFlags(c)
	c.Args = ledgers.Arguments(false)
	q := answers.QuestionFlags(c)
	verbose := answers.VerboseFlag(c)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		of, _, err := ledgers.Take(c, args)
		if err != nil {
			return err
		}
		name, one := of.One()
		request := &accountantv1.QueryPrivacyRequest{}
		var given client.Given // the ledger's own δ
		if !one || c.Flags().Changed("delta") || c.Flags().Changed("epsilon") {
			if err := q.Fill(c, request); err != nil {
				return err
			}
			if given = client.Epsilon(q.Epsilon); answers.ByDelta(request) {
				given = client.Delta(q.Delta)
			}
		}
		if gap := answers.GivenGap(c, q.Gap); gap != nil {
			given = given.WithMaxGap(*gap)
		}
		if !one {
			answer, err := cli.Ask(p, c,
				func(ctx context.Context, daemon *client.Client) (*accountantv1.QueryPrivacySetResponse, error) {
					return of.Of(daemon).Query(ctx, given)
				})
			switch {
			case err != nil:
				return err
			case output.Value == cli.FormatJSON:
				p.Warn(several.Warnings(answer))
				return p.WriteJSON(answer)
			}
			p.Warn(several.Warnings(answer))
			return several.WriteAnswer(p, answer, answers.ByDelta(request))
		}
		answer, err := cli.Ask(p, c,
			func(ctx context.Context, daemon *client.Client) (*accountantv1.QueryPrivacyResponse, error) {
				return daemon.Query(ctx, name, given)
			})
		if err != nil {
			return err
		}
		p.Warn(answer.GetWarnings())
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		return answers.WriteLedger(p, answer, answers.ByDelta(request), *verbose)
	}
	return c
}
