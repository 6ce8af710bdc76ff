package budgets

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/writes"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func commit(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "commit [NAME] --reservation POSITION (--file FILE | MECHANISM flags …)",
		Short: "Charge a part of what was reserved",
		Long: `Charge events that a reservation holds; it is never refused for lack of budget. A
reservation of which nothing is left is closed.

What was reserved in several ledgers is committed in all of them or in none. The
reservation, JOURNAL:POSITION, says which ones they are, and there is no NAME.

` + mechanisms.Help + `

` + writes.RequestIDHelp + `

` + workloads.Help,
		Example: `  accountctl commit team/mnist --reservation 12 --file done.json --label step=500
  accountctl commit team/census --reservation 3 laplace --scale 10 --sensitivity 1
  accountctl commit --reservation system:sets/3:17 --file done.json`,
		ValidArgsFunction: workloads.CompleteCharge(p),
	}
	flags := workloads.AddChargeFlags(p, c, "accountctl commit NAME %s --reservation 3")
	reservation := several.ReservationFlag(c)
	c.Args = reservation.Arguments(true)
	w := writes.AddFlags(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, "reservation"); err != nil {
			return err
		}
		if reservation.Several != nil {
			charge, err := flags.Read(p, c, args)
			if err != nil {
				return err
			}
			return several.Commit(w, c, reservation.Several, charge, *flags.Labels)
		}
		charge, err := flags.Read(p, c, args[1:])
		if err != nil {
			return err
		}
		var costs []string
		answer, err := writes.Once(w, c, func(ctx context.Context, daemon *client.Client,
			key string) (*accountantv1.WriteResponse, error) {
			if err := charge.Matches(ctx, daemon, args[0]); err != nil {
				return nil, err
			}
			if err := charge.Warn(ctx, p, daemon, args[0]); err != nil {
				return nil, err
			}
			answer, err := daemon.CommitOnce(ctx, args[0], key, reservation.Position, charge.Events, *flags.Labels)
			costs = w.Costs(ctx, daemon, args[0], charge.Events, err)
			return answer, err
		})
		switch {
		case err != nil:
			return err
		case w.Output.Value == cli.FormatJSON:
			return p.WriteJSON(answer)
		}
		return w.Receipt("committed", answer, costs...)
	}
	return c
}
