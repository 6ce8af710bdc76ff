// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/charts"
	"github.com/dpaccountant/accountant/internal/figure"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// budgetFlags say what of a ledger's budget is drawn.
type budgetFlags struct {
	label *string
	delta *float64
	part  values.Part
	file  string // of --to, where that names one
}

func addBudgetFlags(c *cobra.Command) *budgetFlags {
	b := &budgetFlags{
		label: c.Flags().String("label", "", "with --what budget: the label `KEY` whose values are drawn apart"),
		delta: c.Flags().Float64("delta", 0,
			"with --what budget, of a ledger without budgets: the `δ` in (0, 1) of ε (default: the ledger's own)"),
	}
	b.part.To.Also = ", or " + pictureFile
	c.Flags().Var(&b.part.From, "from", "with --what budget: "+values.FromHelp)
	c.Flags().Var((*fileOrEnd)(b), "to", "`FILE` to write instead, .svg; with --what budget also, where it is no "+
		"such file: end at a position, or at a time. Both may be given")
	return b
}

// pictureFile is which file --to may name.
const pictureFile = "a file that ends in .svg (a PNG or PDF is drawn in Python: Curve.plot(), with matplotlib)"

// fileOrEnd is the value of --to.
type fileOrEnd budgetFlags

func (v *fileOrEnd) String() string { return v.file }

// Type implements pflag.Value.
func (v *fileOrEnd) Type() string { return "FILE" }

// Set implements pflag.Value.
func (v *fileOrEnd) Set(text string) error {
	if filepath.Ext(text) == ".svg" {
		v.file = text
		return nil
	}
	return v.part.To.Set(text)
}

// draw makes the figure that the dashboard shows of the same part of a ledger's history: of the same answer, with as
// many points. Lines for the values of a label are added to it.
func (b *budgetFlags) draw(p *cli.Program, c *cobra.Command, name string) (*figure.Figure, error) {
	request := &accountantv1.QueryHistoryRequest{Ledger: name, Points: charts.Points}
	if c.Flags().Changed("delta") {
		request.Delta = b.delta
	}
	if err := b.part.Read(c, request); err != nil {
		return nil, err
	}
	answer, err := cli.AskAll(p, c, request,
		func(ctx context.Context, daemon *client.Client) (*accountantv1.QueryHistoryResponse, error) {
			return daemon.History(ctx, request)
		})
	if err != nil {
		return nil, err
	}
	p.Warn(answer.GetWarnings())
	return cli.Ask(p, c, func(ctx context.Context, daemon *client.Client) (*figure.Figure, error) {
		got, err := daemon.GetLedger(ctx, name)
		if err != nil {
			return nil, err
		}
		l := got.GetLedger()
		answers.WarnOf(p, l.GetAssumptions())
		if l.GetPosition() == 0 {
			return nil, cli.BadFile(name, errors.New("nothing was charged yet; allowed: a ledger with entries"))
		}
		points := answer.GetPoints()
		newest := points[len(points)-1]
		if len(newest.GetShares()) == 0 && math.IsInf(newest.GetEpsilonSpent(), 1) {
			return nil, cli.Usage(c, "--delta: ε at δ = %s is infinite; allowed: a larger --delta",
				spelling.Exact(answer.GetDelta()))
		}
		since, until := bound(request.StartTime), bound(request.EndTime)
		if request.EndPosition > 0 && newest.GetPosition() < l.GetPosition() { // what came then is not drawn
			until = newest.GetTime().AsTime()
		}
		f := charts.Part(l, answer, time.Now(), since, until)
		if *b.label != "" {
			err = addLabels(ctx, daemon, f, l, answer, *b.label, since)
		}
		return f, err
	})
}

// bound is an end of a part of the time, zero where there is none.
func bound(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
