package costs

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/figure"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
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

func plot(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "plot (NAME | MECHANISM flags … | --file FILE)",
		Short: "Draw what a ledger or mechanisms cost",
		Long: `Draw, in the terminal or as an SVG or PNG file (--to):

  --what curve      δ against ε
  --what trade-off  the errors α and β of an attacker's test, and of a coin
  --what budget     what was spent of a ledger over time, with --label also by
                    the values of that label: as a share of its first budget
                    or of its plan; without either, as ε at --delta of each
                    one's own charges

Points are proven bounds, as "accountctl curve" lists them; the lines between them
lead the eye.

` + mechanisms.Help,
		Example: `  accountctl plot team/mnist
  accountctl plot laplace --scale 20 --sensitivity 1 --count 20
  accountctl plot --file workload.json --what trade-off --to trade-off.svg
  accountctl plot team/mnist --what budget --label run --to budget.png`,
		ValidArgsFunction: p.CompleteLedger,
	}
	what := cli.ChoiceFlag(c, "what", "", plotCurve, plotTradeOff, plotBudget)
	label := c.Flags().String("label", "", "with --what budget: the label `KEY` whose values are drawn apart")
	delta := c.Flags().Float64("delta", 1e-5, "with --what budget, of a ledger without budgets: the δ of ε")
	high := c.Flags().Float64("epsilon-max", 0, "with --what curve: the last ε (default: where δ is about 1e-10)")
	source := workloads.AddSource(p, c, "a mechanism, NAME or --file", "accountctl plot %s")
	to := c.Flags().String("to", "", "`FILE` to write instead, .svg or .png")
	c.RunE = func(c *cobra.Command, args []string) error {
		if ext := filepath.Ext(*to); *to != "" && ext != ".svg" && ext != ".png" {
			return cli.Usage(c, "--to: %q; allowed: a file that ends in .svg or .png", *to)
		}
		subject, err := readSubject(source, args)
		if err != nil {
			return err
		}
		if what.Value == plotBudget && subject.ledger == "" {
			return cli.Usage(c, "--what budget: of a file or mechanisms; allowed: of a ledger, NAME")
		}
		f, err := subject.draw(p, c, what.Value, *label, *delta, *high)
		if err != nil {
			return err
		}
		if *to == "" {
			width, colours := p.Screen()
			_, err = p.Out.WriteString(f.Text(width, 20, colours))
			return err
		}
		picture, err := f.Image(strings.TrimPrefix(filepath.Ext(*to), "."))
		if err != nil {
			return err
		}
		return os.WriteFile(*to, picture, 0o644)
	}
	return c
}

func (s *subject) draw(p *cli.Program, c *cobra.Command, what, label string, delta,
	high float64) (*figure.Figure, error) {
	if what == plotBudget {
		return cli.Ask(p, c, func(ctx context.Context, daemon *client.Client) (*figure.Figure, error) {
			return budgetFigure(ctx, p, daemon, s.ledger, label, delta)
		})
	}
	r := &accountantv1.QueryPrivacyCurveRequest{Points: plotPoints}
	if high != 0 {
		r.EpsilonMax = &high
	}
	answer, err := s.askCurve(p, c, r)
	if err != nil {
		return nil, err
	}
	p.Warn(answer.GetWarnings())
	answers.WarnOf(p, answer.GetAssumptions())
	of := fmt.Sprintf("%s at position %d", s.ledger, answer.GetPosition())
	if s.workload != nil {
		of = s.workload.Title
	}
	if what == plotTradeOff {
		return tradeOffFigure(answer, of), nil
	}
	return curveFigure(answer, of), nil
}

// curveFigure is δ's logarithm against ε, with the lower bound where it is known.
func curveFigure(a *accountantv1.QueryPrivacyCurveResponse, of string) *figure.Figure {
	upper, lower := figure.Line{Name: "δ at most"}, figure.Line{Name: "at least"}
	for _, x := range a.GetPoints() {
		if log := x.GetLogDelta(); !math.IsInf(log, 0) {
			upper.Add(x.GetEpsilon(), log/math.Ln10)
		}
		if log := x.GetLogDeltaLower(); x.LogDeltaLower != nil && !math.IsInf(log, 0) {
			lower.Add(x.GetEpsilon(), log/math.Ln10)
		}
	}
	lines := []figure.Line{upper}
	if len(lower.Points) > 1 && !sameLine(upper, lower) {
		lines = append(lines, lower)
	}
	return &figure.Figure{Title: "Privacy of " + of, X: figure.Axis{Name: "ε"},
		Y: figure.Axis{Name: "δ", Kind: figure.Powers}, Lines: lines}
}

// sameLine reports whether a drawing cannot tell the lines apart.
func sameLine(a, b figure.Line) bool {
	return slices.EqualFunc(a.Points, b.Points,
		func(p, q figure.Point) bool { return p.X == q.X && math.Abs(p.Y-q.Y) < 0.02 })
}

// tradeOffFigure is the least β of any test against its α, and a coin's.
func tradeOffFigure(a *accountantv1.QueryPrivacyCurveResponse, of string) *figure.Figure {
	test := figure.Line{Name: "any test: β at least"}
	for _, x := range a.GetTradeOff() {
		test.Add(x.GetAlpha(), x.GetBeta())
	}
	coin := figure.Line{Name: "a coin", Points: []figure.Point{{X: 0, Y: 1}, {X: 1, Y: 0}}}
	return &figure.Figure{Title: "Errors of a test for one record in " + of, X: figure.Axis{Name: "α"},
		Y: figure.Axis{Name: "β"}, Lines: []figure.Line{test, coin}}
}
