// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func commit(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "commit NAME --reservation POSITION (--file FILE | MECHANISM flags …)",
		Short: "Charge a part of what was reserved",
		Long: `Charge events that a reservation holds; it is never refused for lack of budget. A
reservation of which nothing is left is closed.

What was reserved in several ledgers is committed in all of them or in none. NAME is
then the ledger that reserve has named beside the position, such as system:sets/3.

` + mechanisms.Help + `

` + calls.RequestIDHelp + `

` + workloads.Help,
		Example: `  accountctl reservation commit team/mnist --reservation 12 --file done.json --label step=500
  accountctl reservation commit team/census --reservation 3 laplace --scale 10 --sensitivity 1
  accountctl reservation commit system:sets/3 --reservation 17 --file done.json`,
		ValidArgsFunction: workloads.CompleteCharge(p),
	}
	flags := workloads.AddChargeFlags(c, "accountctl reservation commit NAME %s --reservation 3")
	reservation := reservationFlag(c)
	c.Args = workloads.ChargeArgs
	w := calls.AddWriteFlags(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, "reservation"); err != nil {
			return err
		}
		charge, err := flags.Read(p, c, args[1:])
		if err != nil {
			return err
		}
		var costs []string
		answer, err := calls.Once(w, c, func(ctx context.Context, daemon *client.Client,
			key string) (*accountantv1.WriteResponse, error) {
			if several.Reserved(args[0]) {
				return daemon.CommitOnce(ctx, args[0], key, *reservation, charge.Events, flags.Labels())
			}
			if err := charge.Matches(ctx, daemon, args[0]); err != nil {
				return nil, err
			}
			if err := charge.Warn(ctx, p, daemon, args[0]); err != nil {
				return nil, err
			}
			answer, err := daemon.CommitOnce(ctx, args[0], key, *reservation, charge.Events, flags.Labels())
			costs = w.Costs(ctx, daemon, args[0], charge.Events, err)
			return answer, err
		})
		switch {
		case err != nil:
			return several.Refused(p, w.Output.Value == cli.FormatJSON, err)
		case w.Output.Value == cli.FormatJSON:
			return p.WriteJSON(answer)
		}
		return w.Receipt("committed", answer, costs...)
	}
	return c
}
