// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Refund is ledger refund.
func Refund(p *cli.Program) *cobra.Command {
	w := calls.Write{Action: &accountantv1.Refund{}, Done: "refunded"}
	return w.Command(p, &cobra.Command{
		Use:   "refund NAME --position POSITION --reason REASON --nothing-released [--propose]",
		Short: "Give back what an entry charged",
		Long: `Give back all that one entry charged (a charge, a commit, or the expiry of a
reservation), once. You assert that nothing computed for it was, or will be,
released. Every later answer and statement lists that as an assumption, and its
guarantee is descriptive.`,
		Example: `  accountctl ledger refund team/mnist --position 7 --reason "crashed before the first output" --nothing-released --server unix:data/accountant.sock`,
	})
}
