// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func ledgerShow(p *cli.Program) *cobra.Command {
	request := &accountantv1.GetLedgerRequest{}
	call := calls.Call[*accountantv1.GetLedgerResponse]{
		Request: request,
		Formats: []string{cli.FormatTable, cli.FormatJSON, cli.FormatWide},
		Ask: func(ctx context.Context, daemon *client.Client) (*accountantv1.GetLedgerResponse, error) {
			return wholeLedger(ctx, daemon, request.GetName())
		},
		Show: func(p *cli.Program, _ string, a *accountantv1.GetLedgerResponse) error {
			writeLedger(p, a.GetLedger())
			return nil
		},
	}
	return call.Command(p, &cobra.Command{
		Use:   "show NAME",
		Short: "Show a ledger",
		Long: `Show a ledger's properties, how much was charged to it and the hash of its head;
with budgets or a plan, what is spent, reserved and left of each, the open
reservations, and what people have asserted (refunds, freed reservations, raises, what a
restore has lost). On a terminal long names and hashes are shortened; --output wide has
them whole.`,
		Example: `  accountctl ledger show team/mnist
  accountctl ledger show team/mnist --output json`,
	})
}

// wholeLedger gets a ledger with all that its reservations hold, in several answers
// where one would be too large. Each of them completes at least one reservation.
func wholeLedger(ctx context.Context, daemon *client.Client, name string) (*accountantv1.GetLedgerResponse, error) {
	answer, err := daemon.GetLedger(ctx, name)
	if err != nil {
		return nil, err
	}
	open := answer.GetLedger().GetReservations()
	for i, r := range open {
		if !r.GetRestOmitted() {
			continue
		}
		more, err := daemon.GetLedgerFrom(ctx, name, r.GetPosition())
		if err != nil {
			return nil, err
		}
		complete := map[uint64]*accountantv1.Reservation{}
		for _, m := range more.GetLedger().GetReservations() {
			complete[m.GetPosition()] = m
		}
		for j := i; j < len(open); j++ {
			if m, ok := complete[open[j].GetPosition()]; ok { // otherwise it was closed meanwhile
				open[j] = m
			}
		}
	}
	return answer, nil
}
