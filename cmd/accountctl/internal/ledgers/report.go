// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func report(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "report (NAME[,NAME …] | --prefix TEXT) (--file FILE | MECHANISM flags …)",
		Short: "Charge mechanisms to ledgers",
		Long: `Charge what was run to a ledger: the events of a workload file, together or not at
all, or one mechanism described by flags. It returns once the charge is durable.

If budgets or the plan do not allow it, nothing is written, the exit status is 3, and
the message says of every budget what is missing and how many would still fit. With
--check the same is decided, and nothing is written in any case.

Several ledgers are charged the same, all of them or none. If one of them refuses,
the message says of each such ledger what it lacks, and what would fit in all.

` + several.Help + `

` + several.ContributionHelp + `

` + mechanisms.Help + `

` + calls.RequestIDHelp + `

` + workloads.Help,
		Example: `  accountctl report team/mnist gaussian --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --count 100
  accountctl report team/census laplace --scale 10 --sensitivity 1 --label table=age
  accountctl report team/mnist --file workload.json --request-id run-7
  accountctl report team/mnist --file - --check < workload.json
  accountctl report --prefix days/ --from 2026-11-01 --to 2026-11-07 --contribution over-all --file week.json`,
		ValidArgsFunction: workloads.CompleteCharge(p),
	}
	ledgers, by := several.AddFlags(c), several.AddContribution(c)
	c.Args = ledgers.Arguments(true)
	flags := workloads.AddChargeFlags(c, "accountctl report NAME %s")
	w := calls.AddWriteFlags(p, c)
	check := c.Flags().Bool("check", false, "decide, but write nothing")
	c.RunE = func(c *cobra.Command, args []string) error {
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
		answer, err := calls.Once(w, c,
			func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.WriteResponse, error) {
				if err := of.Suits(ctx, p, daemon, charge); err != nil {
					return nil, err
				}
				switch {
				case one && *check:
					return daemon.CheckOnce(ctx, name, key, charge.Events, flags.Labels())
				case *check:
					return several.Check(ctx, of.Of(daemon), key, whose, charge.Events, flags.Labels())
				case !one:
					return of.Of(daemon).ReportOnce(ctx, key, whose.Value(), charge.Events, flags.Labels())
				}
				answer, err := daemon.ReportOnce(ctx, name, key, charge.Events, flags.Labels())
				costs = w.Costs(ctx, daemon, name, charge.Events, err)
				return answer, err
			})
		switch {
		case err != nil:
			return several.Refused(p, w.Output.Value == cli.FormatJSON, err)
		case w.Output.Value == cli.FormatJSON:
			return p.WriteJSON(answer)
		case answer.GetReceipt() == nil:
			where := "ledger " + name
			if !one {
				where = fmt.Sprintf("%d ledgers", len(answer.GetLedgers()))
			}
			_, err = fmt.Fprintf(p.Out, "would be charged: %s; nothing was written\n", where)
			return err
		}
		return w.Receipt("charged", answer, costs...)
	}
	return c
}
