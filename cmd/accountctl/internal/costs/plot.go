// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/charts"
	"github.com/dpaccountant/accountant/internal/figure"
)

// What can be drawn.
const (
	plotCurve    = "curve"
	plotTradeOff = "trade-off"
	plotBudget   = "budget"
)

func plot(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "plot (NAME | MECHANISM flags … | --file FILE)",
		Short: "Draw what a ledger or mechanisms cost",
		Long: `Draw, in the terminal or as an SVG file (--to):

  --what curve      δ against ε
  --what trade-off  the errors α and β of an attacker's test, and of a coin
  --what budget     what was charged to a ledger over time and what is reserved,
                    with --label also by the values of that label: as a share
                    of the budget of which most is used or of its plan, below
                    the limit; without either, as ε at --delta of each one's
                    own charges. --from and --to draw a part of the time, with
                    as many points as of the whole, as "accountctl ledger
                    history" does

Points are proven bounds, as "accountctl curve" lists them; the lines between them
lead the eye. An SVG is light or dark as its reader prefers. PNG and PDF are drawn
in Python, with matplotlib: Curve.plot() and plots.plot_budget.

` + mechanisms.Help,
		Example: `  accountctl plot team/mnist
  accountctl plot laplace --scale 20 --sensitivity 1 --count 20
  accountctl plot --file workload.json --what trade-off --to trade-off.svg
  accountctl plot team/mnist --what budget --label run --to budget.svg
  accountctl plot team/mnist --what budget --from 2026-11-01 --to 2026-11-02 --to day.svg`,
		ValidArgsFunction: p.CompleteLedger,
	}
	what := cli.ChoiceFlag(c, "what", "", plotCurve, plotTradeOff, plotBudget)
	budget := addBudgetFlags(c)
	high := c.Flags().Float64("epsilon-max", 0, "with --what curve: the last ε (default: where δ is about 1e-10)")
	source := workloads.AddSource(p, c, "a mechanism, NAME or --file", "accountctl plot %s")
	c.RunE = func(c *cobra.Command, args []string) error {
		if end := &budget.part.To; what.Value != plotBudget && end.Given() {
			return cli.Usage(c, "--to: %q; allowed: %s", end, pictureFile)
		}
		if what.Value != plotBudget && budget.part.From.Given() {
			return cli.Usage(c, "--from is given with --what %s; allowed: with --what budget, which is drawn over time",
				what.Value)
		}
		subject, err := readSubject(source, args)
		if err != nil {
			return err
		}
		if what.Value == plotBudget && subject.ledger == "" {
			return cli.Usage(c, "--what budget: of a file or mechanisms; allowed: of a ledger, NAME")
		}
		f, err := subject.draw(p, c, what.Value, budget, *high)
		if err != nil {
			return err
		}
		if budget.file == "" {
			width, colours := p.Screen()
			_, err = p.Out.WriteString(f.Text(width, 20, colours))
			return err
		}
		return os.WriteFile(budget.file, f.SVG(), 0o644)
	}
	return c
}

func (s *subject) draw(p *cli.Program, c *cobra.Command, what string, budget *budgetFlags,
	high float64) (*figure.Figure, error) {
	if what == plotBudget {
		return budget.draw(p, c, s.ledger)
	}
	r := &accountantv1.QueryPrivacyCurveRequest{Points: charts.Points}
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
		return charts.TradeOff(answer, of), nil
	}
	return charts.Curve(answer, of), nil
}
