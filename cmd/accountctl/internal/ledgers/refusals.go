// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func ledgerRefusals(p *cli.Program) *cobra.Command {
	list := cli.List[*accountantv1.Refusal]{
		Columns: cli.Columns("TIME", "BY, 20, principals", "WRITER, 12", "LEDGERS", "WHY"),
		Row: func(r *accountantv1.Refusal) []any {
			return []any{spelling.Time(r.GetTime()), r.GetPrincipal(), r.GetWriter(), max(1, r.GetSetLedgers()),
				spelling.Refusal(r.GetDetail())}
		},
	}
	call := calls.Call[*accountantv1.ListRefusalsResponse]{
		Request: &accountantv1.ListRefusalsRequest{},
		Formats: []string{cli.FormatTable, cli.FormatWide, cli.FormatJSON},
		Show: func(p *cli.Program, format string, a *accountantv1.ListRefusalsResponse) error {
			if len(a.GetRefusals()) > 0 {
				if err := list.Write(p, format, cli.Rows(a.GetRefusals())); err != nil {
					return err
				}
			}
			p.Paragraph(fmt.Sprintf("Refusals: %d. %s", a.GetCount(), a.GetText()))
			return nil
		},
	}
	return call.Command(p, &cobra.Command{
		Use:   "refusals NAME",
		Short: "Show which charges a ledger has refused",
		Long: `Show how many charges and reservations the daemon has refused for a ledger since it
was started, and the newest ten: when, by whom, and why. A refused charge is no entry
of the ledger, and nothing of it is stored: this is what one daemon remembers, and a
daemon that was started again remembers nothing. Where several daemons serve the
ledgers, each knows of its own refusals only.`,
		Example: `  accountctl ledger refusals team/mnist
  accountctl ledger refusals team/mnist --output json`,
	})
}
