// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"iter"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
)

// spendingAnywhere writes of which ledgers a group has spent, and how much.
func spendingAnywhere(p *cli.Program, c *cobra.Command, request *accountantv1.QuerySpendingAnywhereRequest,
	format string) error {
	return p.With(c, func(daemon *client.Client) error {
		rows := func(yield func(*accountantv1.LedgerSpending, error) bool) {
			for r, err := range daemon.SpendingAnywhere(c.Context(), request) {
				for _, w := range r.GetWarnings() {
					p.Warn([]string{"ledger " + r.GetLedger() + ": " + w})
				}
				if !yield(r, err) {
					return
				}
			}
		}
		if format == cli.FormatCSV {
			return anywhereCSV(p, rows)
		}
		list := cli.List[*accountantv1.LedgerSpending]{
			Head: func() []any {
				return anywhereRow(p, "LEDGER", "DATASET", "ENTRIES", "CHARGED", "RESERVED", "ε ALONE", "δ", "SHARE",
					"LAST")
			},
			Row: func(r *accountantv1.LedgerSpending) []any {
				g := r.GetGroup()
				if g == nil {
					return anywhereRow(p, r.GetLedger(), r.GetDatasetId(), "-", "-", "-", "-", "-", "-", r.GetProblem())
				}
				share := "-"
				if most, _ := spelling.LargestShare(r); most != nil {
					share = percent(*most)
				}
				return anywhereRow(p, r.GetLedger(), r.GetDatasetId(), g.GetEntries(), g.GetCharged(), g.GetReserved(),
					epsilonText(&g.Epsilon), spelling.Exact(r.GetDelta()), share, spelling.Time(g.GetLastTime()))
			},
			Whole: func(all []*accountantv1.LedgerSpending) proto.Message {
				return &accountantv1.QuerySpendingAnywhereResponse{Rows: all}
			},
			Empty: func() string {
				return "no ledger that you may see has entries of it; names are compared letter by letter"
			},
		}
		if err := list.Write(p, format, rows); err != nil {
			return err
		}
		if format != cli.FormatJSON {
			p.Paragraph("Each row is about one ledger alone, and ε of different rows do not add up. SHARE is of the " +
				"ledger's budget of which most is used by it, rounded up.")
		}
		return nil
	})
}

// anywhereRow is a row. Where it has to fit a terminal it leaves columns out.
func anywhereRow(p *cli.Program, ledger, dataset string, entries, charged, reserved any, epsilon, delta, share,
	last string) []any {
	if p.Narrow() {
		return []any{p.Short(ledger, 24), charged, epsilon, share, p.Short(last, 24)}
	}
	return []any{ledger, dataset, entries, charged, reserved, epsilon, delta, share, last}
}

func anywhereCSV(p *cli.Program, rows iter.Seq2[*accountantv1.LedgerSpending, error]) error {
	w := sheet.NewCSV(p.Out, sheet.LedgerSpendingHead())
	for r, err := range rows {
		if err != nil {
			return err
		}
		_ = w.Row(sheet.LedgerSpending(r)) // the writer keeps the error
	}
	return w.Flush()
}
