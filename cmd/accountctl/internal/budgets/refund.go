// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/writes"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Refund is ledger refund.
func Refund(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "refund NAME --position POSITION --reason REASON --nothing-released",
		Short: "Give back what an entry charged",
		Long: `Give back all that one entry charged (a charge, a commit, or the expiry of a
reservation), once. You assert that nothing computed for it was, or will be,
released. Every later answer and statement lists that as an assumption, and its
guarantee is descriptive.

` + writes.OwnSocketHelp + `

` + writes.RequestIDHelp,
		Example:           `  accountctl ledger refund team/mnist --position 7 --reason "crashed before the first output" --nothing-released --server unix:data/accountant.sock`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	refund := &accountantv1.Refund{}
	c.Flags().Uint64Var(&refund.Position, "position", 0, "the `POSITION` of the entry")
	c.Flags().StringVar(&refund.Reason, "reason", "", "why; kept in the ledger and shown with every answer")
	c.Flags().BoolVar(&refund.NothingReleased, "nothing-released", false,
		"assert that nothing computed for the entry was, or will be, released")
	w := writes.AddProposing(c, writes.AddFlags(p, c))
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, "position", "reason", "nothing-released"); err != nil {
			return err
		}
		proposed := func() *accountantv1.Propose {
			return &accountantv1.Propose{Action: &accountantv1.Propose_Refund{Refund: refund}}
		}
		return w.Run(c, "refunded", proposed, nil, func(ctx context.Context, daemon *client.Client,
			key string) (writes.Answer, error) {
			return daemon.WriteOnce(ctx, args[0], key, refund)
		})
	}
	return c
}
