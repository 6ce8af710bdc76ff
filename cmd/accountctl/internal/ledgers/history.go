// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
)

func history(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "history NAME [--points N] [--at POSITION …] [--time TIME …] " +
			"[--from POSITION|TIME] [--to POSITION|TIME] [--delta DELTA]",
		Short: "Show how a ledger's ε grew",
		Long: `Show how a ledger came to where it is: its ε and the used shares of its budgets at
some 20 positions (--points; in csv and json 100), at the positions --at, or at the times --time; --from and
--to confine the former to a part of the history, and show more of that. Each line
says what "accountctl query" would have said when the ledger had no later entries.
Every number is rounded up. Times are those of the daemon's clock.`,
		Example: `  accountctl ledger history team/mnist
  accountctl ledger history team/mnist --points 400 --output csv > history.csv
  accountctl ledger history team/mnist --from 2026-11-01 --to 2026-11-02T12:00:00Z
  accountctl ledger history team/mnist --from 5000 --to 6000
  accountctl ledger history team/mnist --at 100 --at 200
  accountctl ledger history team/mnist --time 2026-11-01T00:00:00Z`,
	}
	request := &accountantv1.QueryHistoryRequest{}
	calls.AddFlag(c, request, "positions", "at", "POSITION")
	part := values.PartFlags(c)
	call := calls.Call[*accountantv1.QueryHistoryResponse]{Request: request, Show: showHistory,
		Formats: []string{cli.FormatTable, cli.FormatWide, cli.FormatJSON, cli.FormatCSV}}
	call.Read = func(c *cobra.Command, _ []string) error {
		named := len(request.Positions)+len(request.Times) > 0
		format := c.Flag("output").Value.String()
		if (format == cli.FormatTable || format == cli.FormatWide) && request.Points == 0 && !named {
			request.Points = 20
		}
		if named { // of which the daemon does not tell how far it is
			call.Ask = func(ctx context.Context, daemon *client.Client) (*accountantv1.QueryHistoryResponse, error) {
				return daemon.History(ctx, request)
			}
		}
		return part.Read(c, request)
	}
	return call.Command(p, c)
}

func showHistory(p *cli.Program, format string, a *accountantv1.QueryHistoryResponse) error {
	list := cli.List[*accountantv1.HistoryPoint]{
		Columns: cli.Columns("POSITION", "TIME", "SPENT ε", "ε", "GUARANTEE"),
		Row: func(x *accountantv1.HistoryPoint) []any {
			return append([]any{x.GetPosition(), spelling.Time(x.GetTime()), epsilonText(&x.EpsilonSpent),
				epsilonText(&x.Epsilon), x.GetGuarantee()}, percents(x.GetShares())...)
		},
		CSV:     func(x *accountantv1.HistoryPoint) ([]string, error) { return sheet.History(a, x), nil },
		CSVHead: sheet.HistoryHead(a),
	}
	budgets := len(a.GetBudgets())
	for i := range budgets {
		list.Columns = append(list.Columns, cli.Columns(shareHead(i, budgets))...)
	}
	err := list.Write(p, format, cli.Rows(a.GetPoints()))
	if err != nil || format == cli.FormatCSV {
		return err
	}
	p.Paragraph(fmt.Sprintf("At δ = %s. %s", spelling.Exact(a.GetDelta()), a.GetText()))
	for i, b := range a.GetBudgets() {
		p.Paragraph(fmt.Sprintf("%s is that of %s.", shareHead(i, budgets), b))
	}
	return nil
}

// percents are the used shares of budgets.
func percents(shares []float64) (cells []any) {
	for _, share := range shares {
		cells = append(cells, percent(share))
	}
	return cells
}

// shareHead names the share of one of several budgets.
func shareHead(i, n int) string {
	if n == 1 {
		return "SHARE"
	}
	return fmt.Sprintf("SHARE %d", i+1)
}
