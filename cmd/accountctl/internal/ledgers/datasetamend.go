// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

func datasetAmend(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "amend ID [--budget BUDGET …] [--independent-of-outputs] " +
			"[--add-version VERSION [--derived-from ID@VERSION …]] [--max-charge SHARE] [--max-ledger SHARE] " +
			"[--title TITLE] [--owner OWNER …] [--label KEY=VALUE …] [--confirm] --reason REASON [--propose]",
		Short: "Change a dataset's budget, caps, versions or description",
		Long: `Change a dataset's record; what is not given stays as it is. A budget can only be made
larger: give all of them, with the same guards and orders. Once something was charged or
set aside, the guarantee of later statements is descriptive, unless you assert with
--independent-of-outputs that the decision did not depend on outputs.

A version that is added shares the dataset's budget. Caps hold for what comes later.

Where the access policy asks for two people, one officer proposes another budget or cap
with --propose, and another person approves it (accountctl approvals approve dataset:ID).
--confirm proposes again to confirm a registration whose proposal was withdrawn, or not
approved in time.

` + values.BudgetHelp,
		Example: `  accountctl dataset amend survey --add-version 2027 --derived-from survey@2026 --reason "second wave" --server unix:data/accountant.sock
  accountctl dataset amend survey --budget epsilon=10,delta=1e-5,guard=rdp --independent-of-outputs --reason "agreed for the second wave" --server unix:data/accountant.sock`,
	}
	m, caps := &accountantv1.AmendDataset{}, &accountantv1.DatasetCaps{}
	version := c.Flags().String("add-version", "", "a `VERSION` that shares the budget from now on")
	derived := c.Flags().StringArray("derived-from", nil, "what the new version overlaps, `ID@VERSION`; may be repeated")
	capsFlags(c, caps)
	w := calls.Write{Action: m, Done: "amended"}
	w.Read = func(c *cobra.Command, args []string) error {
		switch {
		case c.Flags().Changed("add-version"):
			m.AddVersion = &accountantv1.DatasetVersion{
				Of:          &accountantv1.DatasetReference{Id: args[0], Version: *version},
				DerivedFrom: parseReferences(*derived)}
		case len(*derived) > 0:
			return cli.Usage(c, "--derived-from without --add-version; allowed: both")
		}
		return nil
	}
	w.Complete = func(ctx context.Context, daemon *client.Client, _ string) error {
		return completeAmendment(ctx, c, daemon, c.Flags().Arg(0), m, caps)
	}
	return w.Command(p, c)
}

// completeAmendment gives an amendment what was not given and cannot be other than before: the guards
// of the budgets with their orders, and a cap beside the one that changes.
func completeAmendment(ctx context.Context, c *cobra.Command, daemon *client.Client, id string,
	m *accountantv1.AmendDataset, caps *accountantv1.DatasetCaps) error {
	charge, share := c.Flags().Changed("max-charge"), c.Flags().Changed("max-ledger")
	if len(m.Budgets) == 0 && !charge && !share {
		return nil
	}
	answer, err := daemon.GetLedger(ctx, ledger.DatasetName(id))
	if err != nil {
		return err
	}
	d := answer.GetLedger()
	if charge || share {
		if !charge {
			caps.Charge = d.GetDataset().GetSpec().GetCaps().GetCharge()
		}
		if !share {
			caps.Ledger = d.GetDataset().GetSpec().GetCaps().GetLedger()
		}
		m.Caps = caps
	}
	for i, b := range m.GetBudgets() {
		if has := d.GetBudgets(); i < len(has) && b.GetGuard() == accountantv1.Budget_GUARD_UNSPECIFIED {
			b.Guard, b.Order = has[i].GetBudget().GetGuard(), has[i].GetBudget().Order
		}
	}
	return nil
}
