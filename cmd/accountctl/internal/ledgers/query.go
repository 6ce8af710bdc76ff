// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
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
	request := answers.QuestionFlags(c)
	verbose := answers.VerboseFlag(c)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		of, _, err := ledgers.Take(c, args)
		if err != nil {
			return err
		}
		name, one := of.One()
		if !one || c.Flags().Changed("delta") || c.Flags().Changed("epsilon") { // one has a δ of its own
			if err := answers.OneGiven(c); err != nil {
				return err
			}
		}
		byDelta := answers.ByDelta(request)
		if one {
			request.Subject = &accountantv1.QueryPrivacyRequest_Ledger{Ledger: name}
			call := calls.Call[*accountantv1.QueryPrivacyResponse]{Request: request}
			call.Show = func(p *cli.Program, _ string, a *accountantv1.QueryPrivacyResponse) error {
				return answers.WriteLedger(p, a, byDelta, *verbose)
			}
			return call.Run(p, c, output.Value)
		}
		given := client.Epsilon(request.GetEpsilon())
		if byDelta {
			given = client.Delta(request.GetDelta())
		}
		if request.MaxGap != nil {
			given = given.WithMaxGap(request.GetMaxGap())
		}
		answer, err := cli.Ask(p, c,
			func(ctx context.Context, daemon *client.Client) (*accountantv1.QueryPrivacySetResponse, error) {
				return of.Of(daemon).Query(ctx, given)
			})
		if err != nil {
			return err
		}
		p.Warn(several.Warnings(answer))
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		return several.WriteAnswer(p, answer, byDelta)
	}
	return c
}
