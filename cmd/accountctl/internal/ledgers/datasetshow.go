// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func datasetShow(p *cli.Program) *cobra.Command {
	call := calls.Call[*accountantv1.GetLedgerResponse]{
		Request: &accountantv1.GetLedgerRequest{},
		Show: func(p *cli.Program, _ string, a *accountantv1.GetLedgerResponse) error {
			writeDataset(p, a.GetLedger())
			return nil
		},
	}
	return call.Command(p, &cobra.Command{
		Use:   "show ID",
		Short: "Show a dataset and what is left of its budget",
		Long: `Show a dataset: who answers for it, its versions, its budget and what is left of that.
Its entries and its head can be asked for by the name of its record: accountctl ledger entries
dataset:ID.`,
		Example: `  accountctl dataset show survey
  accountctl dataset show survey --output json`,
	})
}
