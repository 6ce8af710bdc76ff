package budgets

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/spelling"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/writes"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func raise(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "raise NAME (--budget BUDGET … | --plan FILE) --reason REASON",
		Short: "Make a ledger's budgets, or its plan, larger",
		Long: `Make the budgets of a ledger larger: give all of them, with the same guards and
orders, none smaller than before. Or give the whole new plan of a ledger that has
one, with no count smaller than before; --budget then says what it must keep within.

Once something was charged or set aside, the guarantee of later answers is
descriptive: whoever raises a budget after having seen outputs may have done so
because of them. With --independent-of-outputs you assert that it was not so.

` + spelling.BudgetHelp + `

` + writes.OwnSocketHelp + `

` + writes.RequestIDHelp,
		Example: `  accountctl raise shared --budget epsilon=10,delta=1e-5,guard=rdp,order=12 --reason "planned for the second quarter" --independent-of-outputs --server unix:data/accountant.sock
  accountctl raise team/mnist --plan longer.json --reason "more epochs" --server unix:data/accountant.sock`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	raise := &accountantv1.Raise{}
	budgets := spelling.BudgetsFlag(c)
	plan := c.Flags().String("plan", "", "a workload `FILE`: the whole new plan; - is standard input")
	c.Flags().StringVar(&raise.Reason, "reason", "", "why; kept in the ledger and shown with every answer")
	c.Flags().BoolVar(&raise.IndependentOfOutputs, "independent-of-outputs", false, "assert that the decision to raise did not depend on outputs")
	w := writes.AddFlags(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(*budgets) == 0 && *plan == "" {
			return cli.Usage(c, "--budget or --plan is missing")
		}
		if err := cli.Needs(c, "reason"); err != nil {
			return err
		}
		raise.Budgets = *budgets
		if *plan != "" {
			var err error
			if raise.Plan, err = workloads.Read(c.Context(), p, *plan); err != nil {
				return err
			}
		}
		return w.Run(c, "raised", func(ctx context.Context, daemon *client.Client, key string) (writes.Answer, error) {
			return daemon.RaiseOnce(ctx, args[0], key, raise)
		})
	}
	return c
}
