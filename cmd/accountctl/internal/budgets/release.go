// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func release(p *cli.Program) *cobra.Command {
	free := &accountantv1.Free{}
	w := &calls.Write{Action: free, Done: "freed"}
	w.Read = func(c *cobra.Command, args []string) error {
		switch {
		case free.NothingReleased && several.Reserved(args[0]):
			return cli.Usage(c, "--nothing-released is for a reservation in one ledger: free it in each of them")
		case free.NothingReleased:
			return cli.Needs(c, "reason")
		case c.Flags().Changed("propose"):
			return cli.Usage(c, "--propose without --nothing-released: whoever made a reservation may release it alone")
		}
		w.Action = &accountantv1.Release{Reservation: free.GetReservation(), Reason: free.GetReason()}
		w.Done = "released"
		return nil
	}
	return w.Command(p, &cobra.Command{
		Use:   "release NAME --reservation POSITION [--nothing-released --reason REASON] [--propose]",
		Short: "Give back the rest of what was reserved",
		Long: `Give back what is left of a reservation of your own: nothing was, or will be,
computed from the data for it. What was reserved in several ledgers is given back in
all of them; NAME is then the ledger that reserve has named beside the position, such
as system:sets/3.

With --nothing-released it may be anybody's, such as that of a job that died. You
assert that nothing computed for what is left of it was, or will be, released. Every
later answer and statement lists that as an assumption, and its guarantee is
descriptive. If you cannot assert it, charge the rest: accountctl reservation expire.
What the next paragraph says is about this flag.`,
		Example: `  accountctl reservation release team/mnist --reservation 12 --reason "stopped early"
  accountctl reservation release team/mnist --reservation 12 --nothing-released --reason "its machine died before the first step" --server unix:data/accountant.sock`,
	})
}
