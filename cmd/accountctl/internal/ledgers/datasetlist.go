// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func datasetList(p *cli.Program) *cobra.Command {
	list := calls.List[*accountantv1.Ledger]{
		Request: &accountantv1.ListLedgersRequest{Prefix: ledger.DatasetsPrefix},
		Rows: cli.List[*accountantv1.Ledger]{
			Columns: cli.Columns("DATASET, 24", "STATE", "ADJACENCY", "UNIT, 12", "BUDGET, wide", "OWNERS, wide",
				"REGISTERED, wide", "REGISTERED, narrow"),
			Row: func(l *accountantv1.Ledger) []any {
				d, s := l.GetDataset(), l.GetDataset().GetSpec()
				name := spelling.Reference(&accountantv1.DatasetReference{Id: spelling.Identifier(s.GetId()),
					Version: s.GetVersion()})
				return []any{name, datasetState(l), spelling.Adjacency(s.GetAdjacency()), s.GetPrivacyUnit(),
					budgetText(d), strings.Join(s.GetOwners(), ", "), spelling.Time(l.GetCreateTime()),
					l.GetCreateTime().AsTime().Format(time.DateOnly)}
			},
			Empty: func() string { return cli.NoDataset },
		},
	}
	return list.Command(p, &cobra.Command{
		Use:   "list",
		Short: "List the registered datasets",
		Long: `List the registered datasets. On a terminal names are shortened, and budgets and owners
left out; --output wide has them whole.`,
		Example: `  accountctl dataset list
  accountctl dataset list --output jsonl`,
	})
}
