// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func raise(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "raise NAME (--budget BUDGET … | --plan MECHANISM flags … | --plan FILE) --reason REASON " +
			"[--independent-of-outputs] [--propose]",
		Short: "Make a ledger's budgets, or its plan, larger",
		Long: `Make the budgets of a ledger larger: give all of them, with the same guards and
orders, none smaller than before. Or give the whole new plan of a ledger that has
one, with no count smaller than before; --budget then says what it must keep within.
The plan is a mechanism with its flags, others after a lone +, or a workload file.

Once something was charged or set aside, the guarantee of later answers is
descriptive: whoever raises a budget after having seen outputs may have done so
because of them. With --independent-of-outputs you assert that it was not so.

` + values.BudgetHelp,
		Example: `  accountctl raise shared --budget epsilon=10,delta=1e-5,guard=rdp,order=12 --reason "planned for the second quarter" --independent-of-outputs --server unix:data/accountant.sock
  accountctl raise team/mnist --plan longer.json --reason "more epochs" --server unix:data/accountant.sock`,
		Args: workloads.ChargeArgs,
	}
	plan := c.Flags().String("plan", "",
		"the whole new plan: a `MECHANISM` with its flags, or a workload file; - is standard input")
	described := workloads.AddPlanFlags(p, c, "accountctl raise NAME --plan %s --reason REASON", "plan")
	raise := &accountantv1.Raise{}
	w := calls.Write{Action: raise, Done: "raised"}
	w.Read = func(c *cobra.Command, args []string) error {
		if len(raise.Budgets) == 0 && *plan == "" {
			return cli.Usage(c, "--budget or --plan is missing")
		}
		longer, err := readPlan(described, *plan, args[1:])
		if err == nil {
			raise.Plan = longer.Workload
		}
		return err
	}
	w.Complete = func(ctx context.Context, daemon *client.Client, ledger string) error {
		return complete(ctx, daemon, ledger, raise)
	}
	return w.Command(p, c)
}

// readPlan reads the new plan, if there is one.
func readPlan(described *workloads.PlanFlags, plan string, more []string) (*workloads.Planned, error) {
	if plan == "" {
		return &workloads.Planned{}, described.None(more)
	}
	return described.Read(plan, more)
}

// complete gives a raise what was not given and cannot be other than the ledger's: the
// adjacency of a plan from flags, and the guards of the budgets with their orders.
func complete(ctx context.Context, daemon *client.Client, ledger string, raise *accountantv1.Raise) error {
	answer, err := daemon.GetLedger(ctx, ledger)
	if err != nil {
		return err
	}
	if raise.Plan != nil && raise.Plan.Adjacency == accountantv1.Workload_ADJACENCY_UNSPECIFIED {
		raise.Plan.Adjacency = answer.GetLedger().GetSpec().GetAdjacency()
	}
	for i, b := range raise.GetBudgets() {
		if has := answer.GetLedger().GetBudgets(); i < len(has) &&
			b.GetGuard() == accountantv1.Budget_GUARD_UNSPECIFIED {
			b.Guard, b.Order = has[i].GetBudget().GetGuard(), has[i].GetBudget().Order
		}
	}
	return nil
}
