// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/writes"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

func ledgerAcknowledge(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "acknowledge NAME WARNING --reason REASON",
		Short: "Say that a warning about a ledger is known, so that it stays quiet",
		Long: `Acknowledge a warning: later answers about the ledger no longer give it. WARNING is
the name in brackets at the end of the warning. The ledger keeps who acknowledged it,
when and why; "ledger show" and "statement" list that. No number and no guarantee changes.

Only the ledger's creator can do this, or the daemon's owner over its own socket. An
acknowledgement cannot be taken back.

` + writes.RequestIDHelp,
		Example: `  accountctl ledger acknowledge team/mnist large-delta --reason "1e-5 is this year's policy"`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return cli.Usage(c, "WARNING is missing; allowed: %s; such as: accountctl ledger acknowledge %s %s "+
					"--reason REASON", strings.Join(wire.WarningNames, ", "), args[0], wire.WarningNames[0])
			}
			return cli.Arguments("NAME", "WARNING")(c, args)
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return wire.WarningNames, cobra.ShellCompDirectiveNoFileComp
			}
			return p.CompleteLedger(c, args, begun)
		},
	}
	reason := c.Flags().String("reason", "", "why the warning needs no more attention; kept in the ledger")
	w := writes.AddFlags(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, "reason"); err != nil {
			return err
		}
		return w.Run(c, "acknowledged", func(ctx context.Context, daemon *client.Client,
			key string) (writes.Answer, error) {
			return daemon.WriteOnce(ctx, args[0], key,
				&accountantv1.Acknowledge{Warning: args[1], Reason: *reason})
		})
	}
	return c
}
