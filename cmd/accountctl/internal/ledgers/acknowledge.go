// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

func ledgerAcknowledge(p *cli.Program) *cobra.Command {
	w := calls.Write{Action: &accountantv1.Acknowledge{}, Done: "acknowledged"}
	return w.Command(p, &cobra.Command{
		Use:   "acknowledge NAME WARNING --reason REASON",
		Short: "Say that a warning about a ledger is known, so that it stays quiet",
		Long: `Acknowledge a warning: later answers about the ledger no longer give it. WARNING is
the name in brackets at the end of the warning. The ledger keeps who acknowledged it,
when and why; "ledger show" and "statement" list that. No number and no guarantee changes.

Only the ledger's creator can do this, or the daemon's owner over its own socket. An
acknowledgement cannot be taken back.`,
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
	})
}
