// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

func overview(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "overview",
		Short: "Show what every ledger or dataset has spent",
		Long: `Show every ledger, or every dataset, with what it has spent: the ε of what was
charged so far, the ε that its guarantee holds for, the used share of its budget, and
what happened to it. Each ε is at the δ of the ledger's own budget, or at 1e-6 if it
has none; --delta gives one δ for all. Every number is rounded up.

The share is that of the budget of which most is used, reservations included.`,
		Example: `  accountctl overview
  accountctl overview --min-share 0.8 --state open
  accountctl overview --datasets --output json
  accountctl overview --flag refunded --output csv > refunded.csv`,
		Args: cli.Arguments(),
	}
	request := &accountantv1.QueryOverviewRequest{PageSize: overviewPage}
	datasets := c.Flags().Bool("datasets", false, "show datasets instead of ledgers")
	c.Flags().StringVar(&request.Prefix, "prefix", "", "only names that start with it")
	c.Flags().StringVar(&request.Contains, "contains", "", "only where the name, the owner or the dataset contains `TEXT`")
	c.Flags().StringVar(&request.State, "state", "", `only those that are "open", "closed" or "needs reconciling"`)
	c.Flags().StringSliceVar(&request.Flags, "flag", nil,
		"only those with this flag, such as refunded, raised or restored; may be repeated")
	c.Flags().Float64Var(&request.MinShare, "min-share", 0,
		"only those of whose budget at least this `share` is used, from 0 to 1")
	delta := c.Flags().Float64("delta", 0, "`δ` in (0, 1) for all ε (default: each ledger's own)")
	output := cli.OutputFlag(c, cli.FormatWide, cli.FormatJSON, cli.FormatJSONL, cli.FormatCSV)
	list := cli.List[*accountantv1.OverviewRow]{
		Head: func() []any {
			return overviewRow(p, "NAME", "STATE", "SPENT ε", "ε", "δ", "GUARANTEE", "SHARE", "ENTRIES", "LAST",
				"OWNERS", "FLAGS")
		},
		Row: func(r *accountantv1.OverviewRow) []any {
			last := ""
			if r.LastTime != nil {
				last = spelling.Time(r.GetLastTime())
			}
			return overviewRow(p, r.GetName(), r.GetState(), epsilonText(r.EpsilonSpent), epsilonText(r.Epsilon),
				deltaText(r), r.GetGuarantee(), shareText(r), r.GetPosition(), last, strings.Join(r.GetOwners(), ", "),
				happened(r))
		},
		Whole: func(all []*accountantv1.OverviewRow) proto.Message {
			return &accountantv1.QueryOverviewResponse{Rows: all}
		},
		Empty: func() string {
			filtered := request.Prefix != "" || request.Contains != "" || request.State != "" ||
				len(request.Flags) > 0 || request.MinShare > 0
			if *datasets && !filtered {
				return cli.NoDataset
			}
			return noLedger(filtered)
		},
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *datasets {
			request.Subject = accountantv1.QueryOverviewRequest_DATASETS
		}
		if c.Flags().Changed("delta") {
			request.Delta = delta
		}
		return p.With(c, func(daemon *client.Client) error {
			var lost questions.Uncounted
			rows := func(yield func(*accountantv1.OverviewRow, error) bool) {
				for r, err := range daemon.Overview(c.Context(), request) {
					if !yield(r, err) {
						return
					}
					lost.AddRow(r)
				}
				p.Warn(lost.Notes()) // before a table is written
			}
			if output.Value == cli.FormatCSV {
				return overviewCSV(p, rows)
			}
			return list.Write(p, output.Value, rows)
		})
	}
	return c
}

// overviewPage is how many rows one call asks for.
const overviewPage = 200

// overviewRow is a row. Where it has to fit a terminal it has a short name, leaves out what else is said of the
// numbers, and has the state and the flags in one column.
func overviewRow(p *cli.Program, name, state, spent, epsilon, delta, guarantee, share string, entries any,
	last, owners, flags string) []any {
	if p.Narrow() {
		return []any{p.Short(name, 24), spent, epsilon, share, standing(state, flags)}
	}
	return []any{name, state, spent, epsilon, delta, guarantee, share, entries, last, owners, flags}
}

// standing is a ledger's state with its flags.
func standing(state, flags string) string {
	if flags == "" || flags == "FLAGS" {
		return state
	}
	return state + "; " + flags
}

// epsilonText is an ε with the digits that matter.
func epsilonText(epsilon *float64) string {
	if epsilon == nil {
		return "-"
	}
	return num.FormatUp(*epsilon, shownDigits)
}

const shownDigits = 4

func deltaText(r *accountantv1.OverviewRow) string {
	if r.GetDelta() == 0 { // nothing is said at it
		return "-"
	}
	return spelling.Exact(r.GetDelta())
}

func shareText(r *accountantv1.OverviewRow) string {
	if r.Share == nil {
		return "-"
	}
	return percent(r.GetShare())
}

// percent is a used share of a budget, rounded up.
func percent(share float64) string { return num.FormatReadUp(100*share, shownDigits) + " %" }

// happened is what there is to say of a ledger: its flags, or why numbers are missing.
func happened(r *accountantv1.OverviewRow) string {
	text := strings.Join(r.GetFlags(), ", ")
	if r.GetProblem() != "" {
		text = strings.TrimPrefix(text+"; "+r.GetProblem(), "; ")
	}
	return text
}

func overviewCSV(p *cli.Program, rows iter.Seq2[*accountantv1.OverviewRow, error]) error {
	w := sheet.NewCSV(p.Out, sheet.OverviewHead())
	for r, err := range rows {
		if err != nil {
			return err
		}
		_ = w.Row(sheet.Overview(r)) // the writer keeps the error
	}
	return w.Flush()
}
