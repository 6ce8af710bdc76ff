// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func forecast(p *cli.Program) *cobra.Command {
	call := calls.Call[*accountantv1.QueryForecastResponse]{
		Request: &accountantv1.QueryForecastRequest{},
		Show: func(p *cli.Program, _ string, a *accountantv1.QueryForecastResponse) error {
			p.Paragraph(a.GetText())
			return nil
		},
	}
	return call.Command(p, &cobra.Command{
		Use:   "forecast NAME",
		Short: "Guess when a ledger's budget is used up",
		Long: `Guess when a ledger's budget is used up, from how fast it was spent in the last week,
or since the ledger was created if that is later. It is a guess and no guarantee: jobs
come in bursts. The budget is enforced whatever is guessed here.`,
		Example: `  accountctl ledger forecast team/mnist
  accountctl ledger forecast team/mnist --output json`,
	})
}
