// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func reserve(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "create (NAME[,NAME …] | --prefix TEXT) (--file FILE | MECHANISM flags …) --lifetime DURATION",
		Short: "Set a part of ledgers' budgets aside",
		Long: `Set events aside on a ledger with a plan or budgets, together or not at all. From
then on nobody else can use them. What is committed is charged; what is released is
free again; what is left when the lifetime is over is charged, because nobody knows
whether it was used. The receipt's ledger and position name the reservation.

In several ledgers the same is set aside, in all of them or in none. The receipt's
ledger is then one of the daemon's own, such as system:sets/3.

` + several.Help + `

` + several.ContributionHelp + `

` + mechanisms.Help + `

` + calls.RequestIDHelp + `

` + workloads.Help,
		Example: `  accountctl reservation create team/mnist --file workload.json --lifetime 24h --label run=7
  accountctl reservation create team/census laplace --scale 10 --sensitivity 1 --count 20 --lifetime 1h --output json
  accountctl reservation create --prefix days/ --from 2026-11-01 --to 2026-11-07 --file week.json --contribution over-all --lifetime 24h`,
		ValidArgsFunction: workloads.CompleteCharge(p),
	}
	ledgers, by := several.AddFlags(c), several.AddContribution(c)
	c.Args = ledgers.Arguments(true)
	flags := workloads.AddChargeFlags(c, "accountctl reservation create NAME %s --lifetime 24h")
	var lifetime lifetime
	c.Flags().Var(&lifetime, "lifetime", "how long, in whole seconds: "+allowedLifetimes)
	w := calls.AddWriteFlags(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if !c.Flags().Changed("lifetime") {
			return cli.Usage(c, "--lifetime is missing; allowed: %s, such as 24h", allowedLifetimes)
		}
		of, words, err := ledgers.Take(c, args)
		if err != nil {
			return err
		}
		charge, err := flags.Read(p, c, words)
		if err != nil {
			return err
		}
		whose, err := by.Of(c, of)
		if err != nil {
			return err
		}
		name, one := of.One()
		var costs []string
		answer, err := calls.Once(w, c, func(ctx context.Context, daemon *client.Client,
			key string) (*accountantv1.WriteResponse, error) {
			if err := of.Suits(ctx, p, daemon, charge); err != nil {
				return nil, err
			}
			if !one {
				return of.Of(daemon).ReserveOnce(ctx, key, whose.Value(), charge.Events, time.Duration(lifetime),
					flags.Labels())
			}
			answer, err := daemon.ReserveOnce(ctx, name, key, charge.Events, time.Duration(lifetime), flags.Labels())
			costs = w.Costs(ctx, daemon, name, charge.Events, err)
			return answer, err
		})
		switch {
		case err != nil:
			return several.Refused(p, w.Output.Value == cli.FormatJSON, err)
		case w.Output.Value == cli.FormatJSON:
			return p.WriteJSON(answer)
		}
		if err := w.Receipt("reserved", answer); err != nil {
			return err
		}
		in := ""
		if !one {
			in = " of " + answer.GetReceipt().GetLedger()
		}
		p.Paragraph(fmt.Sprintf("reservation %d%s, until %s", answer.GetReceipt().GetPosition(), in,
			spelling.Time(answer.GetExpireTime())))
		for _, line := range costs {
			p.Paragraph(line)
		}
		return nil
	}
	return c
}

// lifetime is the value of --lifetime.
type lifetime time.Duration

const allowedLifetimes = "1s to 8784h (366 days)"

func (l *lifetime) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > ledger.MaxLifetime {
		return fmt.Errorf("allowed: %s, in whole seconds; for 7 days write 168h", allowedLifetimes)
	}
	*l = lifetime(d)
	return nil
}

func (l *lifetime) String() string {
	if *l == 0 {
		return "" // no default
	}
	return time.Duration(*l).String()
}

// Type implements pflag.Value: it is the name of the value in the help.
func (*lifetime) Type() string { return "duration" }
