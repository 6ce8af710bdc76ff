// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
)

func spending(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "spending NAME --by principal|label|mechanism|month",
		Short: "Show who spent a ledger's budget, or what somebody spent",
		Long: `Show what each principal, each value of a label (--label KEY), each mechanism or each
month has spent of a ledger. The ε of a group is what it would have spent if it were
alone: these ε do not add up, and the line "total" has what all cost together. The
shares of a budget do add up, apart from rounding. Every number is rounded up.

A refund takes from the group of the entry that it refunds. What a reservation held
counts for whoever charges it, and for whoever reserved it if its time ends.

With --of in place of a ledger's NAME it shows of which ledgers a principal has spent,
and how much of each; with --by another group, by the name that the first form shows.`,
		Example: `  accountctl spending team/mnist --by principal
  accountctl spending team/mnist --by label --label run
  accountctl spending team/mnist --by month --output csv > months.csv
  accountctl spending --of oidc:https://login.example#ann`,
		ValidArgsFunction: p.CompleteLedger,
	}
	by := cli.ChoiceFlag(c, "by", "", "principal", "label", "mechanism", "month")
	request := &accountantv1.QuerySpendingRequest{}
	c.Flags().StringVar(&request.LabelKey, "label", "", "the `KEY` of the label, with --by label")
	c.Flags().Uint32Var(&request.Limit, "limit", 0, "how many groups, 1 to 500; the others are added up (default 50)")
	anywhere := &accountantv1.QuerySpendingAnywhereRequest{PageSize: overviewPage}
	c.Flags().StringVar(&anywhere.Name, "of", "", "`GROUP` to be found in all ledgers: a principal, or as --by says")
	c.Flags().StringVar(&anywhere.Prefix, "prefix", "", "with --of: only ledgers whose names start with it")
	c.Args = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("of") {
			return cli.Arguments()(c, args)
		}
		return cli.Arguments("NAME")(c, args)
	}
	delta := c.Flags().Float64("delta", 0, "`δ` in (0, 1) of every ε (default: the ledger's own)")
	output := cli.OutputFlag(c, cli.FormatWide, cli.FormatJSON, cli.FormatCSV)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && by.Value == "" {
			by.Value = "principal"
		}
		if c.Flags().Changed("label") && !c.Flags().Changed("by") {
			by.Value = "label"
		}
		switch {
		case by.Value == "label" && request.GetLabelKey() == "":
			return cli.Usage(c, "--label is missing: --by label needs the key of a label, such as --label run")
		case by.Value != "label" && request.GetLabelKey() != "":
			return cli.Usage(c, "--label: %q; allowed: only with --by label", request.GetLabelKey())
		}
		request.By = accountantv1.QuerySpendingRequest_By(
			accountantv1.QuerySpendingRequest_By_value[strings.ToUpper(by.Value)])
		if c.Flags().Changed("delta") {
			request.Delta = delta
		}
		if len(args) == 0 {
			anywhere.By, anywhere.LabelKey, anywhere.Delta = request.GetBy(), request.GetLabelKey(), request.Delta
			return spendingAnywhere(p, c, anywhere, output.Value)
		}
		request.Ledger = args[0]
		answer, err := cli.AskAll(p, c,
			func(ctx context.Context, daemon *client.Client, progress bool) (*accountantv1.QuerySpendingResponse,
				error) {
				request.Progress = progress
				return daemon.Spending(ctx, request)
			})
		if err != nil {
			return err
		}
		p.Warn(answer.GetWarnings())
		return show(p, output.Value, answer, func() error { return spendingCSV(p, answer) },
			func() error { return writeSpending(p, answer, strings.ToUpper(by.Value)) })
	}
	return c
}

// spendingRows calls row for each group, for the others, and for the total.
func spendingRows(a *accountantv1.QuerySpendingResponse, row func(kind, name string, g *accountantv1.SpendingGroup)) {
	for _, g := range a.GetGroups() {
		kind := "group"
		if g.GetUnnamed() {
			kind = "unnamed"
		}
		row(kind, g.GetName(), g)
	}
	if a.GetOthers() != nil {
		row("others", fmt.Sprintf("%d others", a.GetOtherGroups()), a.GetOthers())
	}
	row("total", "total", a.GetTotal())
}

func writeSpending(p *cli.Program, a *accountantv1.QuerySpendingResponse, by string) error {
	t := p.Table()
	budgets := len(a.GetTotal().GetShares())
	head := []any{by, "ENTRIES", "CHARGED", "RESERVED", "ε ALONE"}
	for i := range budgets {
		head = append(head, shareHead(i, budgets))
	}
	t.Row(head...)
	spendingRows(a, func(kind, name string, g *accountantv1.SpendingGroup) {
		if kind == "unnamed" {
			name = "(" + name + ")"
		}
		row := []any{p.Short(name, 30), g.GetEntries(), g.GetCharged(), g.GetReserved(), epsilonText(&g.Epsilon)}
		for _, share := range g.GetShares() {
			row = append(row, percent(share))
		}
		t.Row(row...)
	})
	if err := t.Flush(); err != nil {
		return err
	}
	p.Paragraph(fmt.Sprintf("At δ = %s. %s", spelling.Exact(a.GetDelta()), a.GetText()))
	return nil
}

func spendingCSV(p *cli.Program, a *accountantv1.QuerySpendingResponse) error {
	head := []string{"kind", "name", "entries", "charged", "reserved", "delta", "epsilon_alone"}
	for i := range a.GetTotal().GetShares() {
		head = append(head, fmt.Sprintf("share_%d", i+1))
	}
	w := sheet.NewCSV(p.Out, head)
	spendingRows(a, func(kind, name string, g *accountantv1.SpendingGroup) {
		row := []string{kind, name, strconv.FormatUint(g.GetEntries(), 10),
			strconv.FormatUint(g.GetCharged(), 10), strconv.FormatUint(g.GetReserved(), 10),
			spelling.Exact(a.GetDelta()), spelling.Exact(g.GetEpsilon())}
		for _, share := range g.GetShares() {
			row = append(row, spelling.Exact(share))
		}
		_ = w.Row(row) // the writer keeps the error
	})
	return w.Flush()
}

func forecast(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "forecast NAME",
		Short: "Guess when a ledger's budget is used up",
		Long: `Guess when a ledger's budget is used up, from how fast it was spent in the last week,
or since the ledger was created if that is later. It is a guess and no guarantee: jobs
come in bursts. The budget is enforced whatever is guessed here.`,
		Example: `  accountctl ledger forecast team/mnist
  accountctl ledger forecast team/mnist --output json`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		answer, err := cli.AskAll(p, c,
			func(ctx context.Context, daemon *client.Client, progress bool) (*accountantv1.QueryForecastResponse,
				error) {
				return daemon.ForecastOf(ctx, &accountantv1.QueryForecastRequest{Ledger: args[0], Progress: progress})
			})
		if err != nil {
			return err
		}
		p.Warn(answer.GetWarnings())
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		p.Paragraph(answer.GetText())
		return nil
	}
	return c
}
