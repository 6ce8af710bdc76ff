// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

func overview(p *cli.Program) *cobra.Command {
	request := &accountantv1.QueryOverviewRequest{PageSize: overviewPage}
	c := &cobra.Command{
		Use: "overview [--prefix PREFIX] [--contains TEXT] [--state STATE] [--flag FLAG …] " +
			"[--min-share SHARE] [--delta DELTA]",
		Short: "Show what every ledger or dataset has spent",
		Long: `Show every ledger, or with --prefix dataset: every dataset, with what it has spent:
the ε of what was charged so far, the ε that its guarantee holds for, the used share of
its budget, and what happened to it. Each ε is at the δ of the ledger's own budget, or at 1e-6 if it
has none; --delta gives one δ for all. Every number is rounded up.

The share is that of the budget of which most is used, reservations included.`,
		Example: `  accountctl overview
  accountctl overview --min-share 0.8 --state open
  accountctl overview --prefix dataset: --output json
  accountctl overview --flag refunded --output csv > refunded.csv`,
	}
	var lost questions.Uncounted
	list := calls.List[*accountantv1.OverviewRow]{
		Request: request,
		Read: func(*cobra.Command, []string) error {
			if len(request.Flags) > 0 { // several may stand in one value
				request.Flags = strings.Split(strings.Join(request.Flags, ","), ",")
			}
			return nil
		},
		Over: func(rows iter.Seq2[*accountantv1.OverviewRow, error]) iter.Seq2[*accountantv1.OverviewRow, error] {
			return cli.Then(rows, lost.AddRow, func() { p.Warn(lost.Notes()) })
		},
		Rows: cli.List[*accountantv1.OverviewRow]{
			Columns: cli.Columns("NAME, 24", "STATE, wide", "SPENT ε", "ε", "δ, wide", "GUARANTEE, wide", "SHARE",
				"ENTRIES, wide", "LAST, wide", "OWNERS, wide", "FLAGS, wide", "STATE, narrow"),
			Row: func(r *accountantv1.OverviewRow) []any {
				last := ""
				if r.LastTime != nil {
					last = spelling.Time(r.GetLastTime())
				}
				return []any{r.GetName(), r.GetState(), epsilonText(r.EpsilonSpent), epsilonText(r.Epsilon),
					deltaText(r), r.GetGuarantee(), shareText(r), r.GetPosition(), last,
					strings.Join(r.GetOwners(), ", "), happened(r), standing(r.GetState(), happened(r))}
			},
			CSV:     func(r *accountantv1.OverviewRow) ([]string, error) { return sheet.Overview(r), nil },
			CSVHead: sheet.OverviewHead(),
			Empty: func() string {
				datasets := request.Prefix == ledger.DatasetsPrefix
				filtered := request.Prefix != "" && !datasets || request.Contains != "" || request.State != "" ||
					len(request.Flags) > 0 || request.MinShare > 0
				if datasets && !filtered {
					return cli.NoDataset
				}
				return noLedger(filtered)
			},
		},
	}
	return list.Command(p, c)
}

// overviewPage is how many rows one call asks for.
const overviewPage = 200

// standing is a ledger's state with its flags.
func standing(state, flags string) string {
	if flags == "" {
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
