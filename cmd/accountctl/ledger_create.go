package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func (p *program) ledgerCreate() *cobra.Command {
	c := &cobra.Command{
		Use:   "create NAME --adjacency ADJACENCY",
		Short: "Create a ledger",
		Long: `Create a ledger. Its name is made of segments [a-z0-9][a-z0-9._-]{0,62} joined by
"/". If it exists with the same properties nothing happens; if it exists with
others, that is an error.

The adjacency says which datasets count as neighbours: add-or-remove-one (one
has one record more), replace-one (one record differs) or zero-out (one record
is replaced by a null record).`,
		Example: `  accountctl ledger create mnist --adjacency add-or-remove-one
  accountctl ledger create team/census --adjacency replace-one --privacy-unit user --owner alice --label purpose=tables`,
		Args: names("NAME"),
	}
	var (
		adjacency string
		spec      accountantv1.LedgerSpec
	)
	c.Flags().StringVar(&adjacency, "adjacency", "", strings.Join(adjacencies(), "|"))
	c.Flags().StringVar(&spec.PrivacyUnit, "privacy-unit", "", "whose contribution the sensitivity bounds: example, user, …")
	c.Flags().StringVar(&spec.DatasetId, "dataset-id", "", "the dataset's identifier")
	c.Flags().StringVar(&spec.DatasetVersion, "dataset-version", "", "the dataset's version")
	c.Flags().StringVar(&spec.Owner, "owner", "", "who answers for the ledger")
	labels := labelsFlag(c)
	output := outputFlag(c, formatJSON)
	_ = c.RegisterFlagCompletionFunc("adjacency", cobra.FixedCompletions(adjacencies(), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		value, err := parseAdjacency(c, adjacency)
		if err != nil {
			return err
		}
		spec.Name, spec.Adjacency, spec.Labels = args[0], value, *labels
		answer, err := ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.CreateLedgerResponse, error) {
			return daemon.CreateLedger(ctx, &spec)
		})
		if err != nil {
			return err
		}
		if output.value == formatJSON {
			return p.writeJSON(answer)
		}
		what := "created ledger"
		if !answer.GetCreated() {
			what = "exists already with this specification: ledger"
		}
		_, err = fmt.Fprintf(p.out, "%s %s\n", what, answer.GetLedger().GetName())
		return err
	}
	return c
}

func parseAdjacency(c *cobra.Command, s string) (accountantv1.Workload_Adjacency, error) {
	if s == "" {
		return 0, usage(c, "--adjacency is missing; allowed: %s", strings.Join(adjacencies(), ", "))
	}
	if !slices.Contains(adjacencies(), s) {
		return 0, usage(c, "--adjacency: %q; allowed: %s", s, strings.Join(adjacencies(), ", "))
	}
	return accountantv1.Workload_Adjacency(accountantv1.Workload_Adjacency_value[strings.ToUpper(strings.ReplaceAll(s, "-", "_"))]), nil
}

// adjacencies are the API's, as flags spell them.
func adjacencies() []string {
	var out []string
	for i := 1; i < len(accountantv1.Workload_Adjacency_name); i++ {
		out = append(out, adjacencyText(accountantv1.Workload_Adjacency(i)))
	}
	return out
}

func adjacencyText(a accountantv1.Workload_Adjacency) string {
	return strings.ToLower(dashed(a.String()))
}
