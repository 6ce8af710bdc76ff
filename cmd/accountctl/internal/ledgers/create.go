package ledgers

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/spelling"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func ledgerCreate(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "create NAME --adjacency ADJACENCY [--plan FILE | --budget BUDGET …]",
		Short: "Create a ledger",
		Long: `Create a ledger. Its name is made of segments [a-z0-9][a-z0-9._-]{0,62} joined by
"/". If it exists with the same properties nothing happens; if it exists with
others, that is an error.

The adjacency says which datasets count as neighbours: add-or-remove-one (one
has one record more), replace-one (one record differs) or zero-out (one record
is replaced by a null record).

Without --plan and --budget the ledger only describes: nothing is refused, and
answers hold if nothing depended on outputs. With --plan the events of a workload
file are allowed, in any order, and nothing else. If the file has one event with
count 0, that is as many as fit the budgets. With --budget alone whatever keeps
within all budgets is allowed, and may depend on outputs.

` + spelling.BudgetHelp,
		Example: `  accountctl ledger create mnist --adjacency add-or-remove-one
  accountctl ledger create mnist/run-1 --adjacency add-or-remove-one --plan workload.json
  accountctl ledger create mnist/run-2 --adjacency add-or-remove-one --plan one-step.json --budget epsilon=3,delta=1e-6
  accountctl ledger create shared --adjacency add-or-remove-one --budget epsilon=8,delta=1e-5,guard=rdp --expected-run workload.json
  accountctl ledger create shared/team-a --adjacency add-or-remove-one --plan workload.json --parent shared
  accountctl ledger create team/census --adjacency replace-one --privacy-unit user --owner alice --label purpose=tables`,
		Args: cli.Arguments("NAME"),
	}
	var (
		adjacency string
		spec      accountantv1.LedgerSpec
	)
	c.Flags().StringVar(&adjacency, "adjacency", "", strings.Join(spelling.Adjacencies(), "|"))
	c.Flags().StringVar(&spec.PrivacyUnit, "privacy-unit", "", "whose contribution the sensitivity bounds: example, user, …")
	c.Flags().StringVar(&spec.DatasetId, "dataset-id", "", "the dataset's identifier")
	c.Flags().StringVar(&spec.DatasetVersion, "dataset-version", "", "the dataset's version")
	c.Flags().StringVar(&spec.Owner, "owner", "", "who answers for the ledger")
	plan := c.Flags().String("plan", "", "a workload `FILE`: what may be charged; - is standard input")
	expected := c.Flags().String("expected-run", "", "a workload `FILE` that the budgets must have room for; a guard rdp without order gets the best one for it")
	c.Flags().StringVar(&spec.Parent, "parent", "", "the ledger that pays for this one: all that this one may spend is set aside there")
	budgets := spelling.BudgetsFlag(c)
	labels := spelling.LabelsFlag(c)
	output := cli.OutputFlag(c, cli.FormatJSON)
	_ = c.RegisterFlagCompletionFunc("adjacency", cobra.FixedCompletions(spelling.Adjacencies(), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		value, err := spelling.ParseAdjacency(c, adjacency)
		if err != nil {
			return err
		}
		spec.Name, spec.Adjacency, spec.Labels, spec.Budgets = args[0], value, *labels, *budgets
		if err := readPolicy(p, c, &spec, *plan, *expected); err != nil {
			return err
		}
		answer, err := cli.Ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.CreateLedgerResponse, error) {
			return daemon.CreateLedger(ctx, &spec)
		})
		if err != nil {
			return err
		}
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		what := "created ledger"
		if !answer.GetCreated() {
			what = "exists already with this specification: ledger"
		}
		_, err = fmt.Fprintf(p.Out, "%s %s\n", what, answer.GetLedger().GetName())
		return err
	}
	return c
}

// readPolicy sets the policy that the flags imply, with its workloads.
func readPolicy(p *cli.Program, c *cobra.Command, spec *accountantv1.LedgerSpec, plan, expected string) (err error) {
	switch {
	case plan != "":
		spec.Policy = accountantv1.LedgerSpec_PLAN
	case len(spec.Budgets) > 0:
		spec.Policy = accountantv1.LedgerSpec_FILTER
	case spec.Parent != "":
		return cli.Usage(c, "--parent without --plan or --budget; allowed: a ledger that has one of them")
	}
	if plan != "" && expected != "" {
		return cli.Usage(c, "--plan and --expected-run are both given; allowed: an expected run with --budget alone")
	}
	if plan != "" {
		spec.Plan, err = workloads.Read(c.Context(), p, plan)
	} else if expected != "" {
		spec.ExpectedRun, err = workloads.Read(c.Context(), p, expected)
	}
	return err
}
