// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/writes"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func release(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "release NAME --reservation POSITION [--nothing-released --reason REASON]",
		Short: "Give back the rest of what was reserved",
		Long: `Give back what is left of a reservation of your own: nothing was, or will be,
computed from the data for it. What was reserved in several ledgers is given back in
all of them; NAME is then the ledger that reserve has named beside the position, such
as system:sets/3.

With --nothing-released it may be anybody's, such as that of a job that died. You
assert that nothing computed for what is left of it was, or will be, released. Every
later answer and statement lists that as an assumption, and its guarantee is
descriptive. If you cannot assert it, charge the rest: accountctl reservation expire.
` + writes.OwnSocketHelp + `

` + writes.RequestIDHelp,
		Example: `  accountctl reservation release team/mnist --reservation 12 --reason "stopped early"
  accountctl reservation release team/mnist --reservation 12 --nothing-released --reason "its machine died before the first step" --server unix:data/accountant.sock`,
		ValidArgsFunction: p.CompleteLedger,
	}
	reservation := reservationFlag(c)
	c.Args = cli.Arguments("NAME")
	reason := c.Flags().String("reason", "",
		"why; kept in the ledger, and with --nothing-released shown with every answer")
	nothing := c.Flags().Bool("nothing-released", false,
		"assert that nothing computed for it was, or will be, released: for somebody else's reservation")
	w := writes.AddProposing(c, writes.AddFlags(p, c))
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, "reservation"); err != nil {
			return err
		}
		if *nothing && several.Reserved(args[0]) {
			return cli.Usage(c, "--nothing-released is for a reservation in one ledger: free it in each of them")
		}
		if *nothing {
			if err := cli.Needs(c, "reason"); err != nil {
				return err
			}
			free := &accountantv1.Free{Reservation: *reservation, NothingReleased: true, Reason: *reason}
			proposed := func() *accountantv1.Propose {
				return &accountantv1.Propose{Action: &accountantv1.Propose_Free{Free: free}}
			}
			return w.Run(c, "freed", proposed, nil, func(ctx context.Context, daemon *client.Client,
				key string) (writes.Answer, error) {
				return daemon.WriteOnce(ctx, args[0], key, free)
			})
		}
		if c.Flags().Changed("propose") {
			return cli.Usage(c, "--propose without --nothing-released: whoever made a reservation may release it alone")
		}
		err := w.Flags.Run(c, "released", func(ctx context.Context, daemon *client.Client,
			key string) (writes.Answer, error) {
			return daemon.ReleaseOnce(ctx, args[0], key, *reservation, *reason)
		})
		return several.Refused(p, w.Output.Value == cli.FormatJSON, err)
	}
	return c
}
