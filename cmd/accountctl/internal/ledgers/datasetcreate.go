// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/guards"
)

func datasetCreate(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "create ID --adjacency ADJACENCY --max-records-per-unit N --bound-enforced-by RULE " +
			"(--budget BUDGET … | --derived-from ID@VERSION …) [--independent REASON] " +
			"[--independent-of-outputs --reason REASON] [--max-charge SHARE] [--max-ledger SHARE] " +
			"[--version VERSION] [--title TITLE] [--owner OWNER …] [--privacy-unit UNIT] [--label KEY=VALUE …] " +
			"[--propose]",
		Short: "Register a dataset",
		Long: `Register a dataset. From then on every new ledger with this --dataset-id takes its
budget from the dataset's, and is refused once that is used up. Ledgers that carry the
identifier already are adopted: what they may spend, and have spent, is charged to the
dataset. If one of them cannot be adopted, nothing is changed, and the error names it.

A dataset that has a person in common with a registered one is derived from it and
shares its budget: --derived-from. Otherwise it has a budget of its own. If other
datasets are registered, --independent says why nobody's data is in both; statements
list that.

Where adopted ledgers were charged, the dataset's budget may have been chosen by what
they have released, so its guarantee is descriptive. With --independent-of-outputs you
assert that it was not so, and --reason says why.

The guard of the budget decides which ledgers the dataset can have, and cannot be changed
later: rdp suits datasets on which models are trained, and approximate-zcdp those whose
ledgers have many kinds of budgets. A ledger with the guard rdp needs an order that is
not smaller than the dataset's. A budget without a guard gets the one under which most
fits of usual mechanisms, and one with the guard rdp and no order gets the best order;
the answer says which it is. docs/datasets.md has a table of what each guard can have.

Where the access policy asks for two people, give --propose: the dataset is registered
and its ledgers are adopted, but nothing more can be taken from its budget until another
officer has approved that (accountctl approvals approve dataset:ID). A dataset that shares
another one's budget needs no approval.

Identifiers that differ only in case, white space or invisible characters are the same.

` + values.BudgetHelp + `

` + calls.OwnSocketHelp,
		Example: `  accountctl dataset create survey --version 2026 --adjacency add-or-remove-one --privacy-unit user --max-records-per-unit 1 --bound-enforced-by "one row for each account" --budget epsilon=8,delta=1e-5,guard=rdp --max-ledger 0.5 --server unix:data/accountant.sock
  accountctl dataset create survey-eu --adjacency add-or-remove-one --privacy-unit user --max-records-per-unit 1 --bound-enforced-by "rows of survey" --derived-from survey@2026 --server unix:data/accountant.sock`,
		Args: cli.Arguments("ID"),
	}
	req := &accountantv1.CreateDatasetRequest{}
	spec := &accountantv1.DatasetSpec{Caps: &accountantv1.DatasetCaps{}}
	derived := c.Flags().StringArray("derived-from", nil,
		"a registered dataset that it overlaps, `ID@VERSION`, whose budget it shares; may be repeated")
	c.Flags().StringVar(&spec.Independence, "independent", "", "the `REASON` why nobody's data is both here and in "+
		"another registered dataset")
	capsFlags(c, spec.Caps)
	calls.AddFlags(c, spec)
	calls.AddFlags(c, req)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, "adjacency", "max-records-per-unit", "bound-enforced-by"); err != nil {
			return err
		}
		if len(spec.Budgets) == 0 && len(*derived) == 0 {
			return cli.Usage(c, "--budget is missing; allowed: --budget, or --derived-from with the dataset whose "+
				"budget it shares")
		}
		spec.Id = args[0]
		spec.DerivedFrom = parseReferences(*derived)
		req.Spec = spec
		answer, err := cli.Ask(p, c,
			func(ctx context.Context, daemon *client.Client) (*accountantv1.CreateDatasetResponse, error) {
				return daemon.CreateDataset(ctx, req)
			})
		if err != nil {
			return err
		}
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		what := "registered dataset"
		if !answer.GetCreated() {
			what = "registered already with this specification: dataset"
		}
		_, err = fmt.Fprintf(p.Out, "%s %s\n", what, cli.Clean(answer.GetLedger().GetDataset().GetSpec().GetId()))
		for _, name := range answer.GetAdopted() {
			if err == nil {
				_, err = fmt.Fprintf(p.Out, "adopted ledger %s\n", name)
			}
		}
		for _, said := range guards.Says(spec.GetBudgets(), answer.GetLedger().GetDataset().GetSpec().GetBudgets()) {
			if err == nil && answer.GetCreated() {
				_, err = fmt.Fprintf(p.Out, "\n%s\n", cli.Wrap(strings.ToUpper(said[:1])+said[1:]+"."))
			}
		}
		if at := answer.GetProposal(); at > 0 && err == nil {
			_, err = fmt.Fprintf(p.Out, "ledgers can take nothing from its budget until another officer approves it: "+
				"accountctl approvals approve %s --proposal %d\n", answer.GetLedger().GetName(), at)
		}
		return err
	}
	return c
}
