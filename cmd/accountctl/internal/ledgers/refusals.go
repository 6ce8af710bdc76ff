// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func ledgerRefusals(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "refusals NAME",
		Short: "Show which charges a ledger has refused",
		Long: `Show how many charges and reservations the daemon has refused for a ledger since it
was started, and the newest ten: when, by whom, and why. A refused charge is no entry
of the ledger, and nothing of it is stored: this is what one daemon remembers, and a
daemon that was started again remembers nothing. Where several daemons serve the
ledgers, each knows of its own refusals only.`,
		Example: `  accountctl ledger refusals team/mnist
  accountctl ledger refusals team/mnist --output json`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	output := cli.OutputFlag(c, cli.FormatWide, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		answer, err := cli.Ask(p, c,
			func(ctx context.Context, daemon *client.Client) (*accountantv1.ListRefusalsResponse, error) {
				return daemon.Refusals(ctx, args[0])
			})
		if err != nil {
			return err
		}
		return show(p, output.Value, answer, nil, func() error { return writeRefusals(p, answer) })
	}
	return c
}

func writeRefusals(p *cli.Program, a *accountantv1.ListRefusalsResponse) error {
	if len(a.GetRefusals()) > 0 {
		t := p.Table()
		t.Row("TIME", "BY", "WRITER", "LEDGERS", "WHY")
		for _, r := range a.GetRefusals() {
			t.Row(spelling.Time(r.GetTime()), p.ShortName(r.GetPrincipal(), 20), p.Short(r.GetWriter(), 12),
				max(1, r.GetSetLedgers()), spelling.Refusal(r.GetDetail()))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	p.Paragraph(fmt.Sprintf("Refusals: %d. %s", a.GetCount(), a.GetText()))
	return nil
}
