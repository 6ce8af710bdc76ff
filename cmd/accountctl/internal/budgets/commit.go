// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func commit(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "commit NAME --reservation POSITION (--file FILE | MECHANISM flags …)",
		Short: "Charge a part of what was reserved",
		Long: `Charge events that a reservation holds; it is never refused for lack of budget. A
reservation of which nothing is left is closed.

What was reserved in several ledgers is committed in all of them or in none. NAME is
then the ledger that reserve has named beside the position, such as system:sets/3.`,
		Example: `  accountctl reservation commit team/mnist --reservation 12 --file done.json --label step=500
  accountctl reservation commit team/census --reservation 3 laplace --scale 10 --sensitivity 1
  accountctl reservation commit system:sets/3 --reservation 17 --file done.json`,
	}
	what := &accountantv1.Commit{}
	calls.AddFlags(c, what)
	charge := calls.Charge{Pattern: "accountctl reservation commit NAME %s --reservation 3", Done: "committed"}
	charge.Send = func(ctx context.Context, daemon *client.Client,
		e calls.Events) (*accountantv1.WriteResponse, error) {
		return daemon.CommitOnce(ctx, e.Ledger, e.Key, what.GetReservation(), e.List, e.Labels)
	}
	return charge.Command(p, c)
}
