package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func query(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "query NAME (--delta D | --epsilon E)",
		Short: "Ask what a ledger has spent",
		Long: `Ask for the least proven upper bound on ε at a given δ, or on δ at a given ε, of
a ledger, over every analysis that is valid for all of it: of the whole plan, of what
the whole budgets allow, or, without either, of what was charged. The guarantee says
which; running is always of what was charged so far.`,
		Example: `  accountctl query team/mnist --delta 1e-5
  accountctl query team/mnist --delta 1e-5 --max-gap 1e-9
  accountctl query team/mnist --epsilon 1 --output json`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	q := answers.QuestionFlags(c)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		request := &accountantv1.QueryPrivacyRequest{}
		if err := q.Fill(c, request); err != nil {
			return err
		}
		given := client.Epsilon(q.Epsilon)
		if answers.ByDelta(request) {
			given = client.Delta(q.Delta)
		}
		if request.MaxGap != nil {
			given = given.WithMaxGap(q.Gap)
		}
		answer, err := cli.Ask(p, c,
			func(ctx context.Context, daemon *client.Client) (*accountantv1.QueryPrivacyResponse, error) {
				return daemon.Query(ctx, args[0], given)
			})
		if err != nil {
			return err
		}
		p.Warn(answer.GetWarnings())
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		return answers.WriteLedger(p, answer, answers.ByDelta(request))
	}
	return c
}
