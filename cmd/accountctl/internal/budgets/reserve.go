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
ledger is then one of the daemon's own, such as system:sets/3.`,
		Example: `  accountctl reservation create team/mnist --file workload.json --lifetime 24h --label run=7
  accountctl reservation create team/census laplace --scale 10 --sensitivity 1 --count 20 --lifetime 1h --output json
  accountctl reservation create --prefix days/ --from 2026-11-01 --to 2026-11-07 --file week.json --contribution over-all --lifetime 24h`,
	}
	life := lifetimeFlag(c)
	charge := calls.Charge{Pattern: "accountctl reservation create NAME %s --lifetime 24h", Several: true,
		Done: "reserved"}
	charge.Send = func(ctx context.Context, daemon *client.Client,
		e calls.Events) (*accountantv1.WriteResponse, error) {
		if e.Ledger != "" {
			return daemon.ReserveOnce(ctx, e.Ledger, e.Key, e.List, time.Duration(*life), e.Labels)
		}
		return e.Set.ReserveOnce(ctx, e.Key, e.Contribution.Value(), e.List, time.Duration(*life), e.Labels)
	}
	charge.Tell = func(a *accountantv1.WriteResponse) string {
		in := ""
		if len(a.GetReceipt().GetMembers()) > 0 {
			in = " of " + a.GetReceipt().GetLedger()
		}
		return fmt.Sprintf("reservation %d%s, until %s", a.GetReceipt().GetPosition(), in,
			spelling.Time(a.GetExpireTime()))
	}
	return charge.Command(p, c)
}

// lifetimeFlag adds --lifetime.
func lifetimeFlag(c *cobra.Command) *lifetime {
	life := new(lifetime)
	c.Flags().Var(life, "lifetime", "how long, in whole seconds: "+allowedLifetimes)
	return life
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

// Allowed says which values there are.
func (*lifetime) Allowed() []string { return []string{allowedLifetimes, "such as 24h"} }

func (l *lifetime) String() string {
	if *l == 0 {
		return "" // no default
	}
	return time.Duration(*l).String()
}

// Type implements pflag.Value: it is the name of the value in the help.
func (*lifetime) Type() string { return "duration" }
