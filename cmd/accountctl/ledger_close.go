package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func (p *program) ledgerClose() *cobra.Command {
	c := &cobra.Command{
		Use:   "close NAME",
		Short: "Close a ledger for good",
		Long: `Close a ledger: it takes no more charges. Queries go on. Closing is final.

` + requestIDHelp,
		Example:           `  accountctl ledger close team/mnist --reason "model released"`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	reason := c.Flags().String("reason", "", "why; kept in the ledger")
	id := requestIDFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		key, err := requestID(c, *id)
		if err != nil {
			return err
		}
		answer, err := ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.CloseLedgerResponse, error) {
			return daemon.CloseLedgerOnce(ctx, args[0], key, *reason)
		})
		if err != nil {
			return resumable(err, key)
		}
		if output.value == formatJSON {
			return p.writeJSON(answer)
		}
		return p.writeReceipt("closed", answer.GetReceipt(), answer.GetReplayed())
	}
	return c
}
