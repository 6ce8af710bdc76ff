package main

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func (p *program) ledgerList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List ledgers",
		Long:  "List the ledgers whose names start with a prefix, by name.",
		Example: `  accountctl ledger list
  accountctl ledger list --prefix team/ --output json`,
		Args: names(),
	}
	prefix := c.Flags().String("prefix", "", "only names that start with it")
	output := outputFlag(c, formatJSON, formatJSONL)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return p.with(c, func(daemon *client.Client) error {
			all := &accountantv1.ListLedgersResponse{}
			t := p.table()
			if output.value == formatTable {
				t.row("NAME", "STATE", "ADJACENCY", "ENTRIES", "MECHANISMS", "OWNER", "CREATED")
			}
			for l, err := range daemon.ListLedgers(c.Context(), *prefix) {
				if err != nil {
					return err
				}
				switch output.value {
				case formatJSON:
					all.Ledgers = append(all.Ledgers, l)
				case formatJSONL:
					if err := p.writeLine(l); err != nil {
						return err
					}
				default:
					t.row(l.GetName(), stateOf(l), adjacencyText(l.GetSpec().GetAdjacency()), l.GetPosition(), l.GetDistinctMechanisms(),
						l.GetSpec().GetOwner(), timeText(l.GetCreateTime()))
				}
			}
			if output.value == formatJSON {
				return p.writeJSON(all)
			}
			return t.flush()
		})
	}
	return c
}
