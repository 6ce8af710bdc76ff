// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/guards"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
)

func ledgerCreate(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "create NAME (--adjacency ADJACENCY | --parent NAME) [--plan MECHANISM flags … | --plan FILE] " +
			"[--budget BUDGET …] [--expected-run MECHANISM flags … | --expected-run FILE] [--explain-guard] " +
			"[--over-all-only] [--privacy-unit UNIT] [--dataset-id ID] [--dataset-version VERSION] [--owner OWNER] " +
			"[--label KEY=VALUE …]",
		Short: "Create a ledger",
		Long: `Create a ledger. Its name is made of segments [a-z0-9][a-z0-9._-]{0,62} joined by
"/". If it exists with the same properties nothing happens; if it exists with
others, that is an error.

The adjacency says which datasets count as neighbours: add-or-remove-one (one
has one record more), replace-one (one record differs) or zero-out (one record
is replaced by a null record).

Without --plan and --budget the ledger only describes: nothing is refused, and
answers hold if nothing depended on outputs. With --plan the mechanisms on the line, or
the events of a workload file, are allowed, in any order, and nothing else. If there is
one of them, and its count is 0, that is as many as fit the budgets. With --budget alone
whatever keeps within all budgets is allowed, and may depend on outputs.

` + mechanisms.Help + `
What --plan and --expected-run name is a file, unless it is a mechanism with its flags.

` + values.BudgetHelp + `

` + guardHelp,
		Example: `  accountctl ledger create mnist --adjacency add-or-remove-one
  accountctl ledger create mnist/dp-sgd --adjacency add-or-remove-one --plan dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60
  accountctl ledger create mnist/run-1 --adjacency add-or-remove-one --plan workload.json
  accountctl ledger create shared --adjacency add-or-remove-one --budget epsilon=8,delta=1e-6
  accountctl ledger create mnist/run-2 --adjacency add-or-remove-one --plan one-step.json --budget epsilon=3,delta=1e-6
  accountctl ledger create shared --adjacency add-or-remove-one --budget epsilon=8,delta=1e-5,guard=rdp --expected-run workload.json
  accountctl ledger create shared/team-a --budget epsilon=2,delta=1e-6 --parent shared
  accountctl ledger create team/census --adjacency replace-one --privacy-unit user --owner alice --label purpose=tables`,
		Args: workloads.ChargeArgs,
	}
	spec := &accountantv1.LedgerSpec{}
	explained := c.Flags().Bool("explain-guard", false, "show what each guard would allow, where one was chosen")
	plan := c.Flags().String("plan", "",
		"what may be charged: a `MECHANISM` with its flags, or a workload file; - is standard input")
	expected := c.Flags().String("expected-run", "", "what the budgets must have room for: a `MECHANISM` with its "+
		"flags, or a workload file; a guard rdp without order gets the best one for it")
	described := workloads.AddPlanFlags(p, c,
		"accountctl ledger create NAME --adjacency add-or-remove-one --plan %s", "plan", "expected-run")
	calls.AddFlags(c, spec)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if spec.Parent == "" {
			if err := cli.Needs(c, "adjacency"); err != nil {
				return err
			}
		}
		spec.Name = args[0]
		dashes, err := readPolicy(c, described, args[1:], spec, *plan, *expected)
		if err != nil {
			return err
		}
		for _, b := range spec.GetBudgets() {
			if b.GetGuard() == accountantv1.Budget_RDP && b.Order == nil && spec.ExpectedRun == nil {
				return cli.Usage(c, "--budget %s: the order of the guard rdp is missing; allowed: order=16 or another "+
					"number > 1, --expected-run with a run to choose it for, or no guard", spelling.Budget(b))
			}
		}
		answer, err := cli.Ask(p, c,
			func(ctx context.Context, daemon *client.Client) (*accountantv1.CreateLedgerResponse, error) {
				return daemon.CreateLedger(ctx, spec)
			})
		if err != nil {
			return explainMisfit(p, spec, dashes, func() bool { return c.Context().Err() != nil }, err)
		}
		if output.Value == cli.FormatJSON {
			p.Warn(guards.Says(spec.GetBudgets(), answer.GetLedger().GetSpec().GetBudgets()))
			return p.WriteJSON(answer)
		}
		what := "created ledger"
		if !answer.GetCreated() {
			what = "exists already with this specification: ledger"
		}
		p.Paragraph(what + " " + answer.GetLedger().GetName())
		if _, plan, unread := wire.ToWorkload(spec.GetPlan()); spec.Plan != nil && unread == nil {
			for _, text := range plan.Assumptions() {
				p.Paragraph("Its plan assumes: " + text)
			}
		}
		chosen, err := guards.Explain(spec, answer.GetLedger().GetSpec(),
			func() bool { return c.Context().Err() != nil })
		for _, ch := range chosen {
			if err == nil {
				err = writeChoice(p, ch, cmp.Or(spec.GetParent(), spec.GetDatasetId()), *explained)
			}
		}
		return err
	}
	return c
}

// readPolicy sets the policy that the flags imply, with its workloads. dashes stand before the
// name of a parameter where the workload is from flags, and not where it is from a file.
func readPolicy(c *cobra.Command, described *workloads.PlanFlags, more []string, spec *accountantv1.LedgerSpec, plan,
	expected string) (dashes string, err error) {
	switch {
	case plan != "":
		spec.Policy = accountantv1.LedgerSpec_PLAN
	case len(spec.Budgets) > 0:
		spec.Policy = accountantv1.LedgerSpec_FILTER
	case spec.Parent != "":
		return "", cli.Usage(c, "--parent without --plan or --budget; allowed: a ledger that has one of them")
	}
	if plan != "" && expected != "" {
		return "", cli.Usage(c, "--plan and --expected-run are both given; allowed: an expected run with --budget "+
			"alone")
	}
	if plan == "" && expected == "" {
		return "", described.None(more)
	}
	w, err := described.Read(plan+expected, more)
	if err != nil {
		return "", err
	}
	if w.File == "" {
		w.Adjacency, dashes = spec.Adjacency, "--"
	}
	if plan != "" {
		spec.Plan = w.Workload
	} else {
		spec.ExpectedRun = w.Workload
	}
	return dashes, nil
}
