// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Charge is a command that writes events, which the line or a file describes, to the ledger NAME or to several at once.
type Charge struct {
	Pattern string // a line that works, with %s in the place of the mechanisms
	Several bool   // the line may name several ledgers
	Done    string // what is said once it is done: "charged"
	Send    func(ctx context.Context, daemon *client.Client, e Events) (*accountantv1.WriteResponse, error)
	Tell    func(*accountantv1.WriteResponse) string // what is said besides; may be nil
}

// Events are what such a command writes, and where.
type Events struct {
	Key          string
	Ledger       string // "" if there are several
	Set          *client.Set
	Contribution several.Contribution
	List         []*accountantv1.Event
	Labels       map[string]string
}

// Command makes c a command that makes the write. Flags that its line of use needs it has already.
func (w Charge) Command(p *cli.Program, c *cobra.Command) *cobra.Command {
	var ledgers *several.Flags
	var by *several.Contribution
	c.Args = workloads.ChargeArgs
	if w.Several {
		ledgers, by = several.AddFlags(c), several.AddContribution(c)
		c.Args = ledgers.Arguments(true)
		c.Long += "\n\n" + several.Help + "\n\n" + several.ContributionHelp
	}
	c.Long += "\n\n" + mechanisms.Help + "\n\n" + requestIDHelp + "\n\n" + workloads.Help
	c.ValidArgsFunction = workloads.CompleteCharge(p)
	source := workloads.AddChargeFlags(c, w.Pattern)
	flags := AddWriteFlags(p, c)
	u := usageOf(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, u.needs()...); err != nil {
			return err
		}
		of, words, err := ledgers.Take(c, args)
		if err != nil {
			return err
		}
		charge, err := source.Read(p, c, words)
		if err != nil {
			return err
		}
		whose, err := by.Of(c, of)
		if err != nil {
			return err
		}
		e := Events{Contribution: whose, List: charge.Events, Labels: source.Labels()}
		e.Ledger, _ = of.One()
		var costs []string
		answer, err := Once(flags, c,
			func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.WriteResponse, error) {
				e.Key, e.Set = key, of.Of(daemon)
				if err := of.Suits(ctx, p, daemon, charge); err != nil {
					return nil, err
				}
				answer, err := w.Send(ctx, daemon, e)
				if e.Ledger != "" && !several.Reserved(e.Ledger) && answer.GetReceipt() != nil {
					costs = flags.Costs(ctx, daemon, e.Ledger, charge.Events, err)
				}
				return answer, err
			})
		switch {
		case err != nil:
			return several.Refused(p, flags.Output.Value == cli.FormatJSON, err)
		case flags.Output.Value == cli.FormatJSON:
			return p.WriteJSON(answer)
		case answer.GetReceipt() == nil: // it was only checked
			where := "ledger " + e.Ledger
			if e.Ledger == "" {
				where = fmt.Sprintf("%d ledgers", len(answer.GetLedgers()))
			}
			_, err = fmt.Fprintf(p.Out, "would be %s: %s; nothing was written\n", w.Done, where)
			return err
		}
		if w.Tell != nil {
			costs = append([]string{w.Tell(answer)}, costs...)
		}
		return flags.Receipt(w.Done, answer, costs...)
	}
	return c
}
