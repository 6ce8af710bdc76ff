// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func expire(p *cli.Program) *cobra.Command {
	w := calls.Write{Action: &accountantv1.Expire{}, Done: "expired"}
	return w.Command(p, &cobra.Command{
		Use:   "expire NAME --reservation POSITION",
		Short: "Charge the rest of what was reserved, now",
		Long: `Charge what is left of a reservation now, whoever made it, instead of when its time is
over: for a job that died, of which nobody knows what it has used. A refund can give
that back later, once somebody knows. "accountctl ledger show" lists the reservations.`,
		Example: `  accountctl reservation expire team/mnist --reservation 12 --server unix:data/accountant.sock`,
	})
}
