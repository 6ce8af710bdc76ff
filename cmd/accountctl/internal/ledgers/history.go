// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
)

func history(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "history NAME",
		Short: "Show how a ledger's ε grew",
		Long: `Show how a ledger came to where it is: its ε and the used shares of its budgets at
some 20 positions (--points), at the positions --at, or at the times --time; --from and
--to confine the former to a part of the history, and show more of that. Each line
says what "accountctl query" would have said when the ledger had no later entries.
Every number is rounded up. Times are those of the daemon's clock.`,
		Example: `  accountctl ledger history team/mnist
  accountctl ledger history team/mnist --points 400 --output csv > history.csv
  accountctl ledger history team/mnist --from 2026-11-01 --to 2026-11-02T12:00:00Z
  accountctl ledger history team/mnist --from 5000 --to 6000
  accountctl ledger history team/mnist --at 100 --at 200
  accountctl ledger history team/mnist --time 2026-11-01T00:00:00Z`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	request := &accountantv1.QueryHistoryRequest{}
	c.Flags().Uint32Var(&request.Points, "points", 0, "about how many `positions`, 2 to 400 (default 20, in csv and json 100)")
	positions := c.Flags().StringSlice("at", nil, "a `position`; may be repeated")
	times := c.Flags().StringSlice("time", nil, "a `time` such as 2026-11-01T00:00:00Z; may be repeated")
	part := values.PartFlags(c)
	delta := c.Flags().Float64("delta", 0, "`δ` in (0, 1) of every ε (default: the ledger's own)")
	output := cli.OutputFlag(c, cli.FormatWide, cli.FormatJSON, cli.FormatCSV)
	c.RunE = func(c *cobra.Command, args []string) error {
		request.Ledger = args[0]
		for _, text := range *positions {
			at, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return cli.Usage(c, "--at: %q; allowed: a position, a whole number ≥ 0", text)
			}
			request.Positions = append(request.Positions, at)
		}
		for _, text := range *times {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return cli.Usage(c, "--time: %q; allowed: a time such as 2026-11-01T00:00:00Z", text)
			}
			request.Times = append(request.Times, timestamppb.New(at))
		}
		if err := part.Read(c, request); err != nil {
			return err
		}
		if c.Flags().Changed("delta") {
			request.Delta = delta
		}
		table := output.Value == cli.FormatTable || output.Value == cli.FormatWide
		if table && request.Points == 0 && len(request.Positions)+len(request.Times) == 0 {
			request.Points = 20
		}
		answer, err := cli.AskAll(p, c,
			func(ctx context.Context, daemon *client.Client, progress bool) (*accountantv1.QueryHistoryResponse,
				error) {
				request.Progress = progress && len(request.Positions)+len(request.Times) == 0
				return daemon.History(ctx, request)
			})
		if err != nil {
			return err
		}
		p.Warn(answer.GetWarnings())
		return show(p, output.Value, answer, func() error { return historyCSV(p, answer) },
			func() error { return writeHistory(p, answer) })
	}
	return c
}

// show writes an answer in a format: as JSON, or by the functions that write it as CSV and as a table.
func show(p *cli.Program, format string, answer proto.Message, csv, table func() error) error {
	switch format {
	case cli.FormatJSON:
		return p.WriteJSON(answer)
	case cli.FormatCSV:
		return csv()
	case cli.FormatWide:
		p.Widen()
	}
	return table()
}

func writeHistory(p *cli.Program, a *accountantv1.QueryHistoryResponse) error {
	t := p.Table()
	head := []any{"POSITION", "TIME", "SPENT ε", "ε", "GUARANTEE"}
	for i := range a.GetBudgets() {
		head = append(head, shareHead(i, len(a.GetBudgets())))
	}
	t.Row(head...)
	for _, x := range a.GetPoints() {
		row := []any{x.GetPosition(), spelling.Time(x.GetTime()), epsilonText(&x.EpsilonSpent), epsilonText(&x.Epsilon),
			x.GetGuarantee()}
		for _, share := range x.GetShares() {
			row = append(row, percent(share))
		}
		t.Row(row...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	p.Paragraph(fmt.Sprintf("At δ = %s. %s", spelling.Exact(a.GetDelta()), a.GetText()))
	for i, b := range a.GetBudgets() {
		p.Paragraph(fmt.Sprintf("%s is that of %s.", shareHead(i, len(a.GetBudgets())), b))
	}
	return nil
}

// shareHead names the share of one of several budgets.
func shareHead(i, n int) string {
	if n == 1 {
		return "SHARE"
	}
	return fmt.Sprintf("SHARE %d", i+1)
}

func historyCSV(p *cli.Program, a *accountantv1.QueryHistoryResponse) error {
	w := sheet.NewCSV(p.Out, sheet.HistoryHead(a))
	for _, x := range a.GetPoints() {
		_ = w.Row(sheet.History(a, x)) // the writer keeps the error
	}
	return w.Flush()
}
