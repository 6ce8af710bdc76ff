package costs

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/figure"
	"github.com/dpaccountant/accountant/internal/spelling"
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
  --what budget     what was charged to a ledger over time and what is reserved,
                    with --label also by the values of that label: as a share
                    of its first budget or of its plan, below the limit;
                    without either, as ε at --delta of each one's own charges

Points are proven bounds, as "accountctl curve" lists them; the lines between them
lead the eye. An SVG is light or dark as its reader prefers; a PNG is light, or dark
with --dark.

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
	dark := c.Flags().Bool("dark", false, "with a .png file: on dark ground")
	c.RunE = func(c *cobra.Command, args []string) error {
		ext := filepath.Ext(*to)
		if *to != "" && ext != ".svg" && ext != ".png" {
			return cli.Usage(c, "--to: %q; allowed: a file that ends in .svg or .png", *to)
		}
		if *dark && ext != ".png" {
			return cli.Usage(c, "--dark is given without a .png file; allowed: with --to FILE.png, as an .svg file "+
				"and a terminal follow their reader's choice")
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
		picture := f.SVG()
		if ext == ".png" {
			if picture, err = f.PNG(*dark); err != nil {
				return err
			}
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
	upper := figure.Line{Name: "proven: δ at most"}
	lower := figure.Line{Name: "no accountant can prove less", Muted: true}
	var band figure.Area
	for _, x := range a.GetPoints() {
		high := figure.Point{X: x.GetEpsilon(), Y: x.GetLogDelta() / math.Ln10}
		low := figure.Point{X: x.GetEpsilon(), Y: x.GetLogDeltaLower() / math.Ln10}
		if math.IsInf(high.Y, 0) {
			continue
		}
		upper.Points = append(upper.Points, high)
		if x.LogDeltaLower != nil && !math.IsInf(low.Y, 0) {
			lower.Points = append(lower.Points, low)
			band.High, band.Low = append(band.High, high), append(band.Low, low)
		}
	}
	f := &figure.Figure{Title: "Privacy of " + of, Subtitle: meaning(a), X: figure.Axis{Name: "privacy loss ε"},
		Y: figure.Axis{Name: "probability of failure δ", Kind: figure.Powers}, Lines: []figure.Line{upper},
		Empty: "δ is 0 at every ε that was asked for: nothing can fail."}
	if len(lower.Points) > 1 && !sameLine(upper, lower) {
		f.Lines, f.Areas = append(f.Lines, lower), []figure.Area{band}
	}
	return f
}

// meaning says in a sentence what the numbers guarantee.
func meaning(a *accountantv1.QueryPrivacyCurveResponse) string {
	if g := spelling.Guarantees[a.GetGuarantee()]; g != "" {
		return "This " + g + "."
	}
	return ""
}

// sameLine reports whether a drawing cannot tell the lines apart.
func sameLine(a, b figure.Line) bool {
	return slices.EqualFunc(a.Points, b.Points,
		func(p, q figure.Point) bool { return p.X == q.X && math.Abs(p.Y-q.Y) < 0.02 })
}

// tradeOffFigure is the least β of any test against its α, and what guessing reaches.
func tradeOffFigure(a *accountantv1.QueryPrivacyCurveResponse, of string) *figure.Figure {
	test := figure.Line{Name: "the best test"}
	for _, x := range a.GetTradeOff() {
		test.Add(x.GetAlpha(), x.GetBeta())
	}
	guess := figure.Line{Name: "guessing", Points: []figure.Point{{X: 0, Y: 1}, {X: 1, Y: 0}}, Muted: true}
	return &figure.Figure{Title: "How often an attacker errs about one record in " + of,
		Subtitle: "No test of whether the record is in the data errs less than the lower line.",
		X:        figure.Axis{Name: "chance of a false alarm α"}, Y: figure.Axis{Name: "chance of a miss β"},
		Areas: []figure.Area{{High: test.Points, Low: level(test.Points, 0)}}, Lines: []figure.Line{guess, test}}
}

// level is the same places at one height.
func level(points []figure.Point, y float64) []figure.Point {
	out := slices.Clone(points)
	for i := range out {
		out[i].Y = y
	}
	return out
}
