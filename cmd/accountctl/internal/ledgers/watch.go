// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
)

func watch(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "watch NAME",
		Short: "Follow what is left of a ledger",
		Long: `Show a ledger's balance now and after each change, a line each, until the ledger is
closed. Of changes that follow each other quickly only the last is shown. With
--output jsonl each line is the ledger, as "ledger show" shows it.`,
		Example: `  accountctl ledger watch team/mnist
  accountctl ledger watch team/mnist --output jsonl`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	output := cli.OutputFlag(c, cli.FormatJSONL)
	c.RunE = func(c *cobra.Command, args []string) error {
		return p.With(c, func(daemon *client.Client) error {
			for l, err := range daemon.Watch(c.Context(), args[0]) {
				switch {
				case err != nil:
				case output.Value == cli.FormatJSONL:
					err = p.WriteLine(l)
				default:
					_, err = fmt.Fprintln(p.Out, cli.Clean(balanceLine(l)))
				}
				if err == nil {
					err = p.Out.Flush() // whoever watches sees it now
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return c
}
