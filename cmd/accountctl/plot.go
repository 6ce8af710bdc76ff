package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// What can be drawn.
const (
	plotCurve    = "curve"
	plotTradeOff = "trade-off"
	plotBudget   = "budget"
)

// plotPoints is how many points of a curve are computed for a drawing.
const plotPoints = 200

func (p *program) plot() *cobra.Command {
	c := &cobra.Command{
		Use:   "plot (NAME | --file FILE)",
		Short: "Draw what a ledger or a workload costs",
		Long: `Draw, in the terminal or as an SVG or PNG file (--to):

  --what curve      δ against ε
  --what trade-off  the errors α and β of an attacker's test, and those of a coin
  --what budget     what was spent of a ledger over time, with --label also by the
                    values of that label: as a share of its first budget or of its
                    plan; without either, as ε at --delta of each one's own charges

Points are proven bounds, as "accountctl curve" lists them; the lines between them
lead the eye.`,
		Example: `  accountctl plot team/mnist
  accountctl plot --file workload.json --what trade-off --to trade-off.svg
  accountctl plot team/mnist --what budget --label run --to budget.png`,
		Args:              subjectArgs,
		ValidArgsFunction: p.completeLedger,
	}
	file := fileFlag(c)
	what := &format{plotCurve, []string{plotCurve, plotTradeOff, plotBudget}}
	c.Flags().Var(what, "what", strings.Join(what.allowed, "|"))
	_ = c.RegisterFlagCompletionFunc("what", cobra.FixedCompletions(what.allowed, cobra.ShellCompDirectiveNoFileComp))
	label := c.Flags().String("label", "", "with --what budget: the label `KEY` whose values are drawn apart")
	delta := c.Flags().Float64("delta", 1e-5, "with --what budget, of a ledger without budgets: the δ of ε")
	high := c.Flags().Float64("epsilon-max", 0, "with --what curve: the last ε (default: where δ is about 1e-10)")
	to := c.Flags().String("to", "", "`FILE` to write instead, .svg or .png")
	c.RunE = func(c *cobra.Command, args []string) error {
		if ext := filepath.Ext(*to); *to != "" && ext != ".svg" && ext != ".png" {
			return usage(c, "--to: %q; allowed: a file that ends in .svg or .png", *to)
		}
		if what.value == plotBudget && len(args) == 0 {
			return usage(c, "--what budget: of a file; allowed: of a ledger, NAME")
		}
		f, err := p.figure(c, args, *file, what.value, *label, *delta, *high)
		if err != nil {
			return err
		}
		if *to == "" {
			width, colours := p.screen()
			_, err = p.out.WriteString(f.text(width, 20, colours))
			return err
		}
		picture, err := f.image(strings.TrimPrefix(filepath.Ext(*to), "."))
		if err != nil {
			return err
		}
		return os.WriteFile(*to, picture, 0o644)
	}
	return c
}

// screen is the terminal's width, 80 where there is none, and whether it has colours.
func (p *program) screen() (width int, colours bool) {
	if p.width > 0 {
		return p.width, p.colour
	}
	return 80, p.colour
}

// widthOf is the terminal's width, 0 if f is none.
func widthOf(f any) int {
	if file, ok := f.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return width
		}
	}
	return 0
}

func (p *program) figure(c *cobra.Command, args []string, file, what, label string, delta, high float64) (*figure, error) {
	if what == plotBudget {
		return ask(p, c, func(ctx context.Context, daemon *client.Client) (*figure, error) {
			return p.budgetFigure(ctx, daemon, args[0], label, delta)
		})
	}
	r := &accountantv1.QueryPrivacyCurveRequest{Points: plotPoints}
	if high != 0 {
		r.EpsilonMax = &high
	}
	answer, err := p.askCurve(c, args, file, r)
	if err != nil {
		return nil, err
	}
	p.warn(answer.GetWarnings())
	of := filepath.Base(file)
	if len(args) > 0 {
		of = fmt.Sprintf("%s at position %d", args[0], answer.GetPosition())
	}
	if what == plotTradeOff {
		return tradeOffFigure(answer, of), nil
	}
	return curveFigure(answer, of), nil
}

// curveFigure is δ's logarithm against ε, with the lower bound where it is known.
func curveFigure(a *accountantv1.QueryPrivacyCurveResponse, of string) *figure {
	upper, lower := line{name: "δ at most"}, line{name: "at least"}
	for _, x := range a.GetPoints() {
		if log := x.GetLogDelta(); !math.IsInf(log, 0) {
			upper.points = append(upper.points, point{x.GetEpsilon(), log / math.Ln10})
		}
		if log := x.GetLogDeltaLower(); x.LogDeltaLower != nil && !math.IsInf(log, 0) {
			lower.points = append(lower.points, point{x.GetEpsilon(), log / math.Ln10})
		}
	}
	lines := []line{upper}
	if len(lower.points) > 1 && !sameLine(upper, lower) {
		lines = append(lines, lower)
	}
	return &figure{title: "Privacy of " + of, x: axis{name: "ε"}, y: axis{name: "δ", kind: powers}, lines: lines}
}

// sameLine reports whether a drawing cannot tell the lines apart.
func sameLine(a, b line) bool {
	return slices.EqualFunc(a.points, b.points, func(p, q point) bool { return p.x == q.x && math.Abs(p.y-q.y) < 0.02 })
}

// tradeOffFigure is the least β of any test against its α, and a coin's.
func tradeOffFigure(a *accountantv1.QueryPrivacyCurveResponse, of string) *figure {
	test := line{name: "any test: β at least"}
	for _, x := range a.GetTradeOff() {
		test.points = append(test.points, point{x.GetAlpha(), x.GetBeta()})
	}
	coin := line{name: "a coin", points: []point{{0, 1}, {1, 0}}}
	return &figure{title: "Errors of a test for one record in " + of, x: axis{name: "α"}, y: axis{name: "β"}, lines: []line{test, coin}}
}
