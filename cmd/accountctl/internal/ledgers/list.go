// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"iter"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

func ledgerList(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List ledgers",
		Long: `List the ledgers whose names start with a prefix, by name, with the ε of what was
charged so far, the ε that the guarantee holds for, the used share of the budget, and
what happened to each, as accountctl overview does. On a terminal names are shortened
and columns left out; --output wide has all of them.`,
		Example: `  accountctl ledger list
  accountctl ledger list --prefix team/ --output json`,
		Args: cli.Arguments(),
	}
	prefix := c.Flags().String("prefix", "", "only names that start with it")
	var lost questions.Uncounted
	numbers := func(string) *accountantv1.OverviewRow { return &accountantv1.OverviewRow{} }
	list := cli.List[*accountantv1.Ledger]{
		Columns: cli.Columns("NAME, 20", "STATE, wide", "ADJACENCY, wide", "ENTRIES", "MECHANISMS, wide",
			"OWNER, wide", "CREATED, wide", "SPENT ε", "ε", "δ, wide", "SHARE", "FLAGS, wide", "STATE, narrow"),
		Row: func(l *accountantv1.Ledger) []any {
			o := numbers(l.GetName())
			lost.AddRow(o)
			return []any{l.GetName(), spelling.State(l), spelling.Adjacency(l.GetSpec().GetAdjacency()),
				l.GetPosition(), l.GetDistinctMechanisms(), l.GetSpec().GetOwner(), spelling.Time(l.GetCreateTime()),
				epsilonText(o.EpsilonSpent), epsilonText(o.Epsilon), deltaText(o), shareText(o), happened(o),
				standing(spelling.State(l), happened(o))}
		},
		Page:  &accountantv1.ListLedgersResponse{},
		Empty: func() string { return noLedger(*prefix != "") },
	}
	output := cli.OutputFlag(c, list.Formats()...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return p.With(c, func(daemon *client.Client) error {
			if output.Value == cli.FormatTable || output.Value == cli.FormatWide {
				var stop func()
				numbers, stop = overviews(p, daemon.Overview(c.Context(),
					&accountantv1.QueryOverviewRequest{Prefix: *prefix, PageSize: overviewPage}))
				defer stop()
			}
			return list.Write(p, output.Value, cli.Then(daemon.ListLedgers(c.Context(), *prefix), nil,
				func() { p.Warn(lost.Notes()) }))
		})
	}
	return c
}

// noLedger says why a list of ledgers is empty, and what to do next.
func noLedger(filtered bool) string {
	if filtered {
		return "no ledger that you may see passes these filters; leave them out to see all"
	}
	return "there is no ledger yet, or you may see none; a ledger is made before the first release, such as: " +
		"accountctl ledger create team/mnist --adjacency add-or-remove-one --budget epsilon=8,delta=1e-6"
}

// overviews looks up rows of the overview by name, for names in its order. Of a name without a row it is empty, as
// of all names once the overview has failed.
func overviews(p *cli.Program, rows iter.Seq2[*accountantv1.OverviewRow, error]) (
	find func(name string) *accountantv1.OverviewRow, stop func()) {
	next, stop := iter.Pull2(rows)
	current, more := &accountantv1.OverviewRow{}, true
	return func(name string) *accountantv1.OverviewRow {
		for more && current.GetName() < name {
			row, err, ok := next()
			if err != nil {
				p.Complain("warning: the ledgers' ε and shares are missing from here on: " + err.Error())
			}
			if more = ok && err == nil; more {
				current = row
			}
		}
		if current.GetName() != name {
			return &accountantv1.OverviewRow{}
		}
		return current
	}, stop
}
