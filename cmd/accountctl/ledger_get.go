package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func (p *program) ledgerGet() *cobra.Command {
	c := &cobra.Command{
		Use:   "get NAME",
		Short: "Show a ledger",
		Long: `Show a ledger's properties, how much was charged to it and the hash of its head;
with budgets or a plan, what is spent, reserved and left of each, the open
reservations, and what people have asserted (refunds, raises, what a restore has lost).`,
		Example: `  accountctl ledger get team/mnist
  accountctl ledger get team/mnist --output json`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		answer, err := ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.GetLedgerResponse, error) {
			return daemon.GetLedger(ctx, args[0])
		})
		if err != nil {
			return err
		}
		if output.value == formatJSON {
			return p.writeJSON(answer)
		}
		return p.writeLedger(answer.GetLedger())
	}
	return c
}
