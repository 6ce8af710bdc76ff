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

func expire(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "expire NAME --reservation POSITION",
		Short: "Charge the rest of what was reserved, now",
		Long: `Charge what is left of a reservation now, whoever made it, instead of when its time is
over: for a job that died, of which nobody knows what it has used. A refund can give
that back later, once somebody knows.
` + writes.OwnSocketHelp + `

` + writes.RequestIDHelp,
		Example:           `  accountctl reservation expire team/mnist --reservation 12 --server unix:data/accountant.sock`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	reservation := reservationFlag(c)
	w := writes.AddFlags(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, "reservation"); err != nil {
			return err
		}
		return w.Run(c, "expired", func(ctx context.Context, daemon *client.Client, key string) (writes.Answer, error) {
			return daemon.WriteOnce(ctx, args[0], key, &accountantv1.Expire{Reservation: *reservation})
		})
	}
	return c
}
