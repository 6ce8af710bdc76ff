// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func report(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "report (NAME[,NAME …] | --prefix TEXT) (--file FILE | MECHANISM flags …) [--check]",
		Short: "Charge mechanisms to ledgers",
		Long: `Charge what was run to a ledger: the events of a workload file, together or not at
all, or one mechanism described by flags. It returns once the charge is durable.

If budgets or the plan do not allow it, nothing is written, the exit status is 3, and
the message says of every budget what is missing and how many would still fit. With
--check the same is decided, and nothing is written in any case.

Several ledgers are charged the same, all of them or none. If one of them refuses,
the message says of each such ledger what it lacks, and what would fit in all.`,
		Example: `  accountctl report team/mnist gaussian --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --count 100
  accountctl report team/census laplace --scale 10 --sensitivity 1 --label table=age
  accountctl report team/mnist --file workload.json --request-id run-7
  accountctl report team/mnist --file - --check < workload.json
  accountctl report --prefix days/ --from 2026-11-01 --to 2026-11-07 --contribution over-all --file week.json`,
	}
	check := c.Flags().Bool("check", false, "decide, but write nothing")
	charge := calls.Charge{Pattern: "accountctl report NAME %s", Several: true, Done: "charged"}
	charge.Send = func(ctx context.Context, daemon *client.Client,
		e calls.Events) (*accountantv1.WriteResponse, error) {
		switch one := e.Ledger != ""; {
		case one && *check:
			return daemon.CheckOnce(ctx, e.Ledger, e.Key, e.List, e.Labels)
		case one:
			return daemon.ReportOnce(ctx, e.Ledger, e.Key, e.List, e.Labels)
		case *check:
			return several.Check(ctx, e.Set, e.Key, e.Contribution, e.List, e.Labels)
		}
		return e.Set.ReportOnce(ctx, e.Key, e.Contribution.Value(), e.List, e.Labels)
	}
	return charge.Command(p, c)
}
