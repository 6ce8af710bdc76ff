// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func spool(p *cli.Program) *cobra.Command {
	return cli.Group(p, &cobra.Command{
		Use:   "spool",
		Short: "Spend a share without the network, and tell the ledger later",
		Long: `A job that cannot reach the daemon spends a share that was set aside before. FILE, on
the job's own disk, keeps what it spends, so nothing is forgotten and nothing is charged
twice. Whatever the ledger has not heard of when the reservation ends is charged then. A
copy of FILE must not be used, because it would spend the same share again.`,
		Example: `  accountctl spool take share.spool team/mnist dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --steps 1 --count 500 --lifetime 48h
  accountctl spool spend share.spool dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --steps 1
  accountctl spool deliver share.spool --close`,
	},
		cli.Command{Name: "take", Make: spoolTake},
		cli.Command{Name: "spend", Make: spoolSpend},
		cli.Command{Name: "deliver", Make: spoolDeliver},
		cli.Command{Name: "status", Make: spoolStatus},
	)
}

func spoolTake(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "take FILE NAME (--file FILE | MECHANISM flags …) --lifetime DURATION",
		Short: "Set a share aside in the ledger NAME, and make FILE for it",
		Long: fmt.Sprintf(`Set a share aside in the ledger NAME, as a reservation, and make FILE for it. The last
%v of the lifetime are kept back, because the job's clock may be wrong. If the command is
cut off, repeat it.

`, client.SpoolMargin) + mechanisms.Help + "\n\n" + workloads.Help,
		Example: `  accountctl spool take share.spool team/census laplace --scale 10 --sensitivity 1 --count 20 --lifetime 48h`,
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) < 2 {
			return cli.Usage(c, "FILE and NAME are needed")
		}
		return nil
	}
	flags := workloads.AddChargeFlags(c, "accountctl spool take FILE NAME %s --lifetime 48h")
	life := lifetimeFlag(c)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, "lifetime"); err != nil {
			return err
		}
		charge, err := flags.Read(p, c, args[2:])
		if err != nil {
			return err
		}
		s, err := cli.Ask(p, c, func(ctx context.Context, daemon *client.Client) (*client.Spool, error) {
			if err := charge.Matches(ctx, daemon, args[1]); err != nil {
				return nil, err
			}
			return daemon.TakeSpool(ctx, args[0], args[1], charge.Events, time.Duration(*life))
		})
		if err != nil {
			return err
		}
		return tellSpool(p, output, s)
	}
	return c
}

func spoolSpend(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "spend FILE (--file FILE | MECHANISM flags …)",
		Short: "Spend a part of the share; needs no network",
		Long: `Take a part of the share, and return once that is on the disk. Run it before the result
is released; unless the exit status is 0, nothing may be released.

` + mechanisms.Help + "\n\n" + workloads.Help,
		Example: `  accountctl spool spend share.spool laplace --scale 10 --sensitivity 1 --label run=7`,
	}
	flags := workloads.AddChargeFlags(c, "accountctl spool spend FILE %s")
	c.Args = spoolFile
	c.RunE = func(c *cobra.Command, args []string) error {
		charge, err := flags.Read(p, c, args[1:])
		if err != nil {
			return err
		}
		s, err := client.OpenSpool(args[0])
		if err == nil {
			err = s.Spend(charge.Events, flags.Labels())
		}
		return err
	}
	return c
}

func spoolDeliver(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "deliver FILE",
		Short: "Tell the ledger what was spent",
		Long: `Tell the ledger what was spent, each charge once. If the command is cut off, repeat it. If
the reservation has ended, it has charged all of the share, and nothing is charged again.

With --close nothing more may be spent, and the rest of the share is given back.`,
		Example: `  accountctl spool deliver share.spool --close`,
		Args:    cli.Arguments("FILE"),
	}
	closing := c.Flags().Bool("close", false, "spend no more, and give back what is left: nothing else was, or will "+
		"be, released under the share")
	reason := c.Flags().String("reason", "", "with --close: why; kept in the ledger")
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := client.OpenSpool(args[0])
		if err != nil {
			return err
		}
		_, err = cli.Ask(p, c, func(ctx context.Context, daemon *client.Client) (client.SpoolStatus, error) {
			if *closing {
				return s.Close(ctx, daemon, *reason)
			}
			return s.Deliver(ctx, daemon)
		})
		if err != nil {
			return err
		}
		return tellSpool(p, output, s)
	}
	return c
}

func spoolStatus(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:     "status FILE",
		Short:   "Show how a share stands; needs no network",
		Long:    "Show what is left of a share, until when it may be spent, and what the ledger knows.",
		Example: `  accountctl spool status share.spool`,
		Args:    cli.Arguments("FILE"),
	}
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(_ *cobra.Command, args []string) error {
		s, err := client.OpenSpool(args[0])
		if err != nil {
			return err
		}
		return tellSpool(p, output, s)
	}
	return c
}

// spoolFile needs the FILE before mechanisms.
func spoolFile(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cli.Usage(c, "FILE is missing")
	}
	return nil
}

func tellSpool(p *cli.Program, output *cli.Format, s *client.Spool) error {
	st, err := s.Status()
	if err != nil {
		return err
	}
	if output.Value == cli.FormatJSON {
		return p.WriteObject(map[string]any{"ledger": st.Ledger, "reservation": st.Reservation, "until": st.Until,
			"closed": st.Closed, "spent": st.Spent, "delivered": st.Delivered, "late": st.Late,
			"rest": spelling.Events(st.Rest)})
	}
	t := p.Table()
	t.Row("ledger", st.Ledger, fmt.Sprintf("reservation %d", st.Reservation))
	until := "may be spent until " + st.Until.Format(time.RFC3339)
	if st.Closed {
		until = "closed"
	}
	t.Row("left", spelling.Events(st.Rest), until)
	t.Row("spent", fmt.Sprintf("%d charges", st.Spent), "")
	t.Row("told", fmt.Sprintf("%d of them", st.Delivered), "")
	if st.Late > 0 {
		t.Row("late", fmt.Sprintf("%d of them", st.Late), "already charged by the reservation's end, nothing more")
	}
	return t.Flush()
}
