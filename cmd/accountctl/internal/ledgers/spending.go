// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func spending(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "spending (NAME | --of GROUP [--prefix PREFIX]) [--by KIND] [--label KEY] " +
			"[--limit N] [--delta DELTA]",
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
	request := &accountantv1.QuerySpendingRequest{}
	anywhere := &accountantv1.QuerySpendingAnywhereRequest{PageSize: overviewPage}
	c.Flags().StringVar(&request.LabelKey, "label", "", "the `KEY` of the label, with --by label")
	c.Flags().StringVar(&anywhere.Name, "of", "", "`GROUP` to be found in all ledgers: a principal, or as --by says")
	c.Flags().StringVar(&anywhere.Prefix, "prefix", "", "with --of: only ledgers whose names start with it")
	calls.AddFlags(c, request)
	output := cli.OutputFlag(c, cli.FormatWide, cli.FormatJSON, cli.FormatCSV)
	c.Args = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("of") {
			return cli.Arguments()(c, args)
		}
		return cli.Arguments("NAME")(c, args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if request.By == accountantv1.QuerySpendingRequest_BY_UNSPECIFIED {
			request.By = accountantv1.QuerySpendingRequest_PRINCIPAL
			if c.Flags().Changed("label") {
				request.By = accountantv1.QuerySpendingRequest_LABEL
			}
		}
		switch byLabel := request.By == accountantv1.QuerySpendingRequest_LABEL; {
		case byLabel && request.GetLabelKey() == "":
			return cli.Usage(c, "--label is missing: --by label needs the key of a label, such as --label run")
		case !byLabel && request.GetLabelKey() != "":
			return cli.Usage(c, "--label: %q; allowed: only with --by label", request.GetLabelKey())
		}
		if len(args) == 0 {
			anywhere.By, anywhere.LabelKey, anywhere.Delta = request.GetBy(), request.GetLabelKey(), request.Delta
			return spendingAnywhere(p, c, anywhere, output.Value)
		}
		request.Ledger = args[0]
		call := calls.Call[*accountantv1.QuerySpendingResponse]{Request: request}
		call.Show = func(p *cli.Program, format string, a *accountantv1.QuerySpendingResponse) error {
			return showSpending(p, format, a, request.By.String())
		}
		return call.Run(p, c, output.Value)
	}
	return c
}

// spent is what a group has spent, or what all others have, or all together.
type spent struct {
	kind, name string
	*accountantv1.SpendingGroup
}

func spentRows(a *accountantv1.QuerySpendingResponse) (rows []spent) {
	for _, g := range a.GetGroups() {
		kind := "group"
		if g.GetUnnamed() {
			kind = "unnamed"
		}
		rows = append(rows, spent{kind, g.GetName(), g})
	}
	if a.GetOthers() != nil {
		rows = append(rows, spent{"others", fmt.Sprintf("%d others", a.GetOtherGroups()), a.GetOthers()})
	}
	return append(rows, spent{"total", "total", a.GetTotal()})
}

func showSpending(p *cli.Program, format string, a *accountantv1.QuerySpendingResponse, by string) error {
	list := cli.List[spent]{
		Columns: cli.Columns(by+", 30", "ENTRIES", "CHARGED", "RESERVED", "ε ALONE"),
		Row: func(s spent) []any {
			name := s.name
			if s.kind == "unnamed" {
				name = "(" + name + ")"
			}
			return append([]any{name, s.GetEntries(), s.GetCharged(), s.GetReserved(), epsilonText(&s.Epsilon)},
				percents(s.GetShares())...)
		},
		CSVHead: []string{"kind", "name", "entries", "charged", "reserved", "delta", "epsilon_alone"},
		CSV: func(s spent) ([]string, error) {
			row := []string{s.kind, s.name, strconv.FormatUint(s.GetEntries(), 10),
				strconv.FormatUint(s.GetCharged(), 10), strconv.FormatUint(s.GetReserved(), 10),
				spelling.Exact(a.GetDelta()), spelling.Exact(s.GetEpsilon())}
			for _, share := range s.GetShares() {
				row = append(row, spelling.Exact(share))
			}
			return row, nil
		},
	}
	budgets := len(a.GetTotal().GetShares())
	for i := range budgets {
		list.Columns = append(list.Columns, cli.Columns(shareHead(i, budgets))...)
		list.CSVHead = append(list.CSVHead, fmt.Sprintf("share_%d", i+1))
	}
	err := list.Write(p, format, cli.Rows(spentRows(a)))
	if err == nil && format != cli.FormatCSV {
		p.Paragraph(fmt.Sprintf("At δ = %s. %s", spelling.Exact(a.GetDelta()), a.GetText()))
	}
	return err
}
