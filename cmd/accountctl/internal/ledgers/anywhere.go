// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
)

// spendingAnywhere writes of which ledgers a group has spent, and how much.
func spendingAnywhere(p *cli.Program, c *cobra.Command, request *accountantv1.QuerySpendingAnywhereRequest,
	format string) error {
	list := cli.List[*accountantv1.LedgerSpending]{
		Columns: cli.Columns("LEDGER, 24", "DATASET, wide", "ENTRIES, wide", "CHARGED", "RESERVED, wide", "ε ALONE",
			"δ, wide", "SHARE", "LAST, 24"),
		Row: func(r *accountantv1.LedgerSpending) []any {
			g := r.GetGroup()
			if g == nil {
				return []any{r.GetLedger(), r.GetDatasetId(), "-", "-", "-", "-", "-", "-", r.GetProblem()}
			}
			share := "-"
			if most, _ := spelling.LargestShare(r); most != nil {
				share = percent(*most)
			}
			return []any{r.GetLedger(), r.GetDatasetId(), g.GetEntries(), g.GetCharged(), g.GetReserved(),
				epsilonText(&g.Epsilon), spelling.Exact(r.GetDelta()), share, spelling.Time(g.GetLastTime())}
		},
		CSV:     func(r *accountantv1.LedgerSpending) ([]string, error) { return sheet.LedgerSpending(r), nil },
		CSVHead: sheet.LedgerSpendingHead(),
		Page:    &accountantv1.QuerySpendingAnywhereResponse{},
		Empty: func() string {
			return "no ledger that you may see has entries of it; names are compared letter by letter"
		},
	}
	warn := func(r *accountantv1.LedgerSpending) {
		for _, w := range r.GetWarnings() {
			p.Warn([]string{"ledger " + r.GetLedger() + ": " + w})
		}
	}
	err := p.With(c, func(daemon *client.Client) error {
		return list.Write(p, format, cli.Then(daemon.SpendingAnywhere(c.Context(), request), warn, func() {}))
	})
	if err == nil && (format == cli.FormatTable || format == cli.FormatWide) {
		p.Paragraph("Each row is about one ledger alone, and ε of different rows do not add up. SHARE is of the " +
			"ledger's budget of which most is used by it, rounded up.")
	}
	return err
}
