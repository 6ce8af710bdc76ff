package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

const ownSocketHelp = `Only the daemon's owner can do this, over its own socket:
--server unix:DIR/accountant.sock with the daemon's data directory DIR.`

func (p *program) refund() *cobra.Command {
	c := &cobra.Command{
		Use:   "refund NAME --position POSITION --reason REASON --nothing-released",
		Short: "Give back what an entry charged",
		Long: `Give back all that one entry charged (a charge, a commit, or the expiry of a
reservation), once. You assert that nothing computed for it was, or will be,
released. Every later answer and statement lists that as an assumption, and its
guarantee is descriptive.

` + ownSocketHelp + `

` + requestIDHelp,
		Example:           `  accountctl refund team/mnist --position 7 --reason "crashed before the first output" --nothing-released --server unix:data/accountant.sock`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	refund := &accountantv1.Refund{}
	c.Flags().Uint64Var(&refund.Position, "position", 0, "the `POSITION` of the entry")
	c.Flags().StringVar(&refund.Reason, "reason", "", "why; kept in the ledger and shown with every answer")
	c.Flags().BoolVar(&refund.NothingReleased, "nothing-released", false, "assert that nothing computed for the entry was, or will be, released")
	id := requestIDFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := needs(c, "position", "reason", "nothing-released"); err != nil {
			return err
		}
		answer, key, err := onceWith(p, c, *id, func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.RefundResponse, error) {
			return daemon.RefundOnce(ctx, args[0], key, refund)
		})
		return p.written("refunded", output, answer, key, err)
	}
	return c
}

func (p *program) raise() *cobra.Command {
	c := &cobra.Command{
		Use:   "raise NAME (--budget BUDGET … | --plan FILE) --reason REASON",
		Short: "Make a ledger's budgets, or its plan, larger",
		Long: `Make the budgets of a ledger larger: give all of them, with the same guards and
orders, none smaller than before. Or give the whole new plan of a ledger that has
one, with no count smaller than before; --budget then says what it must keep within.

Once something was charged or set aside, the guarantee of later answers is
descriptive: whoever raises a budget after having seen outputs may have done so
because of them. With --independent-of-outputs you assert that it was not so.

` + budgetHelp + `

` + ownSocketHelp + `

` + requestIDHelp,
		Example: `  accountctl raise shared --budget epsilon=10,delta=1e-5,guard=rdp,order=12 --reason "planned for the second quarter" --independent-of-outputs --server unix:data/accountant.sock
  accountctl raise team/mnist --plan longer.json --reason "more epochs" --server unix:data/accountant.sock`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	raise := &accountantv1.Raise{}
	budgets := budgetsFlag(c)
	plan := c.Flags().String("plan", "", "a workload `FILE`: the whole new plan; - is standard input")
	c.Flags().StringVar(&raise.Reason, "reason", "", "why; kept in the ledger and shown with every answer")
	c.Flags().BoolVar(&raise.IndependentOfOutputs, "independent-of-outputs", false, "assert that the decision to raise did not depend on outputs")
	id := requestIDFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(*budgets) == 0 && *plan == "" {
			return usage(c, "--budget or --plan is missing")
		}
		if err := needs(c, "reason"); err != nil {
			return err
		}
		raise.Budgets = *budgets
		if *plan != "" {
			var err error
			if raise.Plan, err = p.readWorkload(c.Context(), *plan); err != nil {
				return err
			}
		}
		answer, key, err := onceWith(p, c, *id, func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.RaiseResponse, error) {
			return daemon.RaiseOnce(ctx, args[0], key, raise)
		})
		return p.written("raised", output, answer, key, err)
	}
	return c
}
