package ledgers

import (
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func ledgerList(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List ledgers",
		Long: `List the ledgers whose names start with a prefix, by name. On a terminal names are
shortened and owners left out; --output wide has them whole.`,
		Example: `  accountctl ledger list
  accountctl ledger list --prefix team/ --output json`,
		Args: cli.Arguments(),
	}
	prefix := c.Flags().String("prefix", "", "only names that start with it")
	output := cli.OutputFlag(c, cli.FormatWide, cli.FormatJSON, cli.FormatJSONL)
	list := cli.List[*accountantv1.Ledger]{
		Head: func() []any {
			return row(p, "NAME", "STATE", "ADJACENCY", "ENTRIES", "MECHANISMS", "OWNER", "CREATED")
		},
		Row: func(l *accountantv1.Ledger) []any {
			return row(p, l.GetName(), spelling.State(l), spelling.Adjacency(l.GetSpec().GetAdjacency()),
				l.GetPosition(), l.GetDistinctMechanisms(), l.GetSpec().GetOwner(), spelling.Time(l.GetCreateTime()))
		},
		Whole: func(all []*accountantv1.Ledger) proto.Message {
			return &accountantv1.ListLedgersResponse{Ledgers: all}
		},
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return p.With(c, func(daemon *client.Client) error {
			return list.Write(p, output.Value, daemon.ListLedgers(c.Context(), *prefix))
		})
	}
	return c
}

// row is a ledger's row. Where it has to fit a terminal it has a short name, no owner, and the day alone.
func row(p *cli.Program, name, state, adjacency string, entries, mechanisms any, owner, created string) []any {
	if p.Narrow() {
		day, _, _ := strings.Cut(created, "T")
		return []any{p.Short(name, 20), state, adjacency, entries, mechanisms, day}
	}
	return []any{name, state, adjacency, entries, mechanisms, owner, created}
}
