package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func (p *program) ledgerReconcile() *cobra.Command {
	c := &cobra.Command{
		Use:   "reconcile NAME (--charge FILE | --accept-loss REASON)",
		Short: "Say what a restored ledger has lost",
		Long: `A ledger that was restored from a backup takes nothing until somebody has said what
was charged to it after the backup was made, which is lost.

  --charge FILE         charges that: a workload with everything that was released since,
                        from the logs of the jobs; one without events says that there
                        was nothing. It is charged even if it is more than a budget
                        or the plan allows, as it was released all the same; then the
                        guarantee of every later answer is descriptive. If more of it is
                        found later, it may be charged by another reconcile.
  --accept-loss REASON  does not count it. Every later answer and statement lists that
                        as an assumption, and its guarantee is descriptive.

Unsure? Charge more rather than less. Writers from before the restore stay refused: a
new process, or client, goes on.

` + ownSocketHelp + `

` + requestIDHelp,
		Example: `  accountctl ledger reconcile team/mnist --charge since-monday.json --reason "from the jobs' logs" --server unix:data/accountant.sock
  accountctl ledger reconcile team/mnist --accept-loss "logs are gone, too" --server unix:data/accountant.sock`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	charged := c.Flags().String("charge", "", "a workload `FILE` with what was lost; - is standard input")
	accept := c.Flags().String("accept-loss", "", "accept that what was lost is not counted, and why: the `REASON` is shown with every answer")
	reason := c.Flags().String("reason", "", "with --charge: where this is known from; kept in the ledger and shown with every answer")
	id := requestIDFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		charging, accepting := c.Flags().Changed("charge"), c.Flags().Changed("accept-loss")
		switch {
		case charging == accepting:
			return usage(c, "--charge and --accept-loss: allowed: one of them")
		case accepting && (*accept == "" || c.Flags().Changed("reason")):
			return usage(c, "--accept-loss: allowed: the reason, and no --reason beside it")
		}
		lost := &accountantv1.Reconcile{AcceptLoss: accepting, Reason: *reason + *accept}
		what := &charge{}
		if charging {
			w, err := p.readWorkload(c.Context(), *charged)
			if err == nil {
				err = checkWorkload(*charged, w)
			}
			if err != nil {
				return err
			}
			what = &charge{w.GetEvents(), *charged, w.GetAdjacency()}
			lost.Events = what.events
		}
		answer, key, err := onceWith(p, c, *id, func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.ReconcileResponse, error) {
			if err := what.matches(ctx, daemon, args[0]); err != nil {
				return nil, err
			}
			return daemon.ReconcileOnce(ctx, args[0], key, lost)
		})
		return p.written("reconciled", output, answer, key, err)
	}
	return c
}
