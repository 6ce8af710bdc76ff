// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func ledgerReconcile(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "reconcile NAME (--charge FILE [--contribution WHOSE] [--reason REASON] | --accept-loss REASON) " +
			"[--propose]",
		Short: "Say what a ledger has lost by a restore or a failover",
		Long: `A ledger that was restored from a backup, or of which a failover of the database has
lost entries, takes nothing until somebody has said what was charged to it after the
backup was made, or was in those entries.

  --charge FILE         charges that: a workload with everything that was
                        released since, from the logs of the jobs; one without
                        events says that there was nothing. It is charged even
                        if it is more than a budget or the plan allows, as it
                        was released all the same; then the guarantee of every
                        later answer is descriptive. If more of it is found
                        later, it may be charged by another reconcile.
  --accept-loss REASON  does not count it. Every later answer and statement
                        lists that as an assumption, and its guarantee is
                        descriptive.

With --charge, --contribution says whether charges to several ledgers at once are
among what is lost: over-all if there are none, or if their sensitivity was over all
of the ledgers; otherwise the contribution that they had. Answers about several
ledgers count them as charges to each of those ledgers then. A file without events
needs no --contribution.

Unsure? Charge more rather than less. Writers from before the loss stay refused: a new
process, or client, goes on.`,
		Example: `  accountctl ledger reconcile team/mnist --charge since-monday.json --contribution over-all --reason "from the jobs' logs" --server unix:data/accountant.sock
  accountctl ledger reconcile team/mnist --accept-loss "logs are gone, too" --server unix:data/accountant.sock`,
	}
	charged := c.Flags().String("charge", "", "a workload `FILE` with what was lost; - is standard input")
	accept := c.Flags().String("accept-loss", "",
		"accept that what was lost is not counted, and why: the `REASON` is shown with every answer")
	by := several.AddContribution(c)
	lost, what := &accountantv1.Reconcile{}, &workloads.Charge{}
	w := calls.Write{Action: lost, Done: "reconciled"}
	w.Read = func(c *cobra.Command, _ []string) (err error) {
		charging, accepting := c.Flags().Changed("charge"), c.Flags().Changed("accept-loss")
		switch {
		case charging == accepting:
			return cli.Usage(c, "--charge and --accept-loss: allowed: one of them")
		case accepting && (*accept == "" || c.Flags().Changed("reason") || c.Flags().Changed("contribution")):
			return cli.Usage(c, "--accept-loss: allowed: the reason, and neither --reason nor --contribution beside it")
		case accepting:
			lost.AcceptLoss, lost.Reason = true, *accept
			return nil
		}
		if what, err = workloads.ReadCharge(c.Context(), p, *charged); err != nil {
			return err
		}
		if lost.Events = what.Events; len(lost.Events) > 0 {
			lost.Contribution, err = by.OfLost(c)
		}
		return err
	}
	w.Complete = func(ctx context.Context, daemon *client.Client, ledger string) error {
		return what.Matches(ctx, daemon, ledger)
	}
	return w.Command(p, c)
}
