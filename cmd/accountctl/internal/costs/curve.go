// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"context"
	"encoding/csv"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// What a table shows unless told otherwise.
const tablePoints = 21

var tableAlphas = []float64{0, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}

func curve(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "curve (NAME | MECHANISM flags … | --file FILE) [--epsilon EPSILON …] [--epsilon-min MIN] " +
			"[--epsilon-max MAX] [--points N] [--trade-off] [--alpha ALPHA …] [--gaussian-dp] [--order ORDER …] " +
			"[--xi XI] [--prior PRIOR …] [--baseline CHANCE …] [--max-gap GAP]",
		Short: "Show δ at many ε, and what an attacker can do",
		Long: `Show proven bounds on δ over a range of ε, of what was charged to a ledger or of
mechanisms that the line or a file describes (then no daemon is asked); and what
follows for an attacker who tests, from the outputs, whether a record is in the data:
his advantage (the most that 1 − α − β can be, α and β the chances that the test errs
on either side) and the error of a test that errs equally often on both.

With --gaussian-dp, --order or --xi it also shows the least μ of Gaussian differential
privacy, Rényi divergences, and the least ρ of (ξ, ρ)-zCDP, with what is proven of each
from below. An ε below 0 is allowed.

With --prior it shows how often every attacker errs who guesses whether the record is in
the data and gave it that probability before (the Bayes risk), and with --baseline how
likely a record is reconstructed from the outputs that is guessed that often without them.

With --trade-off the table or csv shows for each α the least β of any test
instead. The json has everything.

` + mechanisms.Help,
		Example: `  accountctl curve dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60
  accountctl curve team/mnist
  accountctl curve --file workload.json --epsilon-max 10 --points 101 --output csv > curve.csv
  accountctl curve team/mnist --epsilon 1 --epsilon 2 --epsilon 4
  accountctl curve team/mnist --trade-off --alpha 0.001 --alpha 0.01`,
		ValidArgsFunction: p.CompleteLedger,
	}
	request := &accountantv1.QueryPrivacyCurveRequest{}
	calls.AddFlags(c, request)
	tradeOff := c.Flags().Bool("trade-off", false, "show α and β instead of ε and δ")
	source := workloads.AddSource(p, c, "a mechanism, NAME or --file", "accountctl curve %s")
	output := cli.OutputFlag(c, cli.FormatJSON, cli.FormatCSV)
	c.RunE = func(c *cobra.Command, args []string) error {
		subject, err := readSubject(source, args)
		if err != nil {
			return err
		}
		if c.Flags().Changed("points") && request.Points == 0 {
			return cli.Usage(c, "--points: 0; allowed: 2 to %d", accountant.MaxCurvePoints)
		}
		if output.Value == cli.FormatTable {
			if len(request.Epsilons) == 0 && request.Points == 0 && !*tradeOff {
				request.Points = tablePoints
			}
			if len(request.Alphas) == 0 {
				request.Alphas = tableAlphas
			}
		}
		answer, err := subject.askCurve(p, c, request)
		if err != nil {
			return err
		}
		switch output.Value {
		case cli.FormatJSON:
			return p.WriteJSON(answer)
		case cli.FormatCSV:
			p.Warn(answer.GetWarnings())
			answers.WarnOf(p, answer.GetAssumptions())
			return writeCurveCSV(p, answer, *tradeOff)
		}
		p.Warn(answer.GetWarnings())
		return writeCurve(p, answer, *tradeOff)
	}
	return c
}

// subject is what a curve is about: a ledger, or a workload.
type subject struct {
	ledger   string
	workload *workloads.Described // unless a ledger is named
}

func readSubject(source *workloads.Source, args []string) (*subject, error) {
	name, err := source.Ledger(args)
	if name != "" || err != nil {
		return &subject{ledger: name}, err
	}
	w, err := source.Read(args)
	if err == nil {
		err = w.Check()
	}
	return &subject{workload: w}, err
}

// askCurve asks the daemon of a ledger, or answers of a workload as it would.
func (s *subject) askCurve(p *cli.Program, c *cobra.Command,
	r *accountantv1.QueryPrivacyCurveRequest) (*accountantv1.QueryPrivacyCurveResponse, error) {
	if s.workload == nil {
		r.Subject = &accountantv1.QueryPrivacyCurveRequest_Ledger{Ledger: s.ledger}
		return cli.Ask(p, c, func(ctx context.Context,
			daemon *client.Client) (*accountantv1.QueryPrivacyCurveResponse, error) {
			return daemon.Curve(ctx, r)
		})
	}
	r.Subject = &accountantv1.QueryPrivacyCurveRequest_Workload{Workload: s.workload.Workload}
	defer p.Progress("computing").End()
	out, err := workloads.Curve(r, func() bool { return c.Context().Err() != nil })
	if interrupted := c.Context().Err(); interrupted != nil {
		return nil, interrupted
	}
	if err != nil {
		return nil, err
	}
	out.Assumptions = append(s.workload.Assumptions(), out.Assumptions...)
	return out, nil
}

// writeCurve writes a curve for people. An ε is rounded up, so that δ, which
// falls, holds at what is shown.
func writeCurve(p *cli.Program, a *accountantv1.QueryPrivacyCurveResponse, tradeOff bool) error {
	t := p.Table()
	t.Row("advantage", "≤ "+num.FormatUp(a.GetAdvantage(), spelling.Digits),
		"of an attacker who tests for a record; "+spelling.LowerBound+" than "+
			num.FormatDown(a.GetAdvantageLower(), spelling.Digits))
	t.Row("equal error rate", "≥ "+num.FormatDown(a.GetEqualErrorRate(), spelling.Digits),
		"of a test that errs equally often on both sides")
	writeGuarantees(t, a)
	writeGuesses(t, a)
	t.Row("guarantee", spelling.Guarantees[a.GetGuarantee()])
	for _, text := range spelling.Assumptions(a.GetAssumptions()) {
		t.Row("assumes", text)
	}
	if a.Position != nil {
		t.Row("position", a.GetPosition())
	}
	t.Row()
	_ = t.Flush() // the writer keeps the error
	t = p.Table()
	if tradeOff {
		t.Row("ALPHA", "BETA ≥", "AT BEST")
		for _, x := range a.GetTradeOff() {
			t.Row(spelling.Exact(x.GetAlpha()), num.FormatDown(x.GetBeta(), spelling.Digits),
				num.FormatUp(x.GetBetaUpper(), spelling.Digits))
		}
		return t.Flush()
	}
	t.Row("EPSILON", "DELTA ≤", "ANALYSIS")
	for _, x := range a.GetPoints() {
		t.Row(num.FormatUp(x.GetEpsilon(), spelling.Digits), spelling.Delta(x.GetDelta(), &x.LogDelta), x.GetAnalysis())
	}
	return t.Flush()
}

// writeGuarantees writes what else was asked for.
func writeGuarantees(t *cli.Table, a *accountantv1.QueryPrivacyCurveResponse) {
	lower := func(v *float64) string {
		if v == nil {
			return ""
		}
		return spelling.LowerBound + " than " + num.FormatDown(*v, spelling.Digits)
	}
	if g := a.GetGaussianDp(); g != nil {
		what := lower(g.MuLower)
		if g.Reason != "" {
			what = "not known to be Gaussian-DP: " + g.Reason
		}
		t.Row("mu", "≤ "+num.FormatUp(g.GetMu(), spelling.Digits), what)
	}
	for _, r := range a.GetRenyi() {
		t.Row("renyi order "+spelling.Exact(r.GetOrder()), "≤ "+num.FormatUp(r.GetDivergence(), spelling.Digits),
			lower(r.DivergenceLower))
	}
	if z := a.GetConcentrated(); z != nil {
		t.Row("rho", "≤ "+num.FormatUp(z.GetRho(), spelling.Digits), "with xi "+spelling.Exact(z.GetXi())+"; "+
			lower(z.RhoLower))
	}
}

// writeGuesses writes what attackers with prior knowledge can do, where it was asked for.
func writeGuesses(t *cli.Table, a *accountantv1.QueryPrivacyCurveResponse) {
	for _, b := range a.GetBayesRisks() {
		t.Row("bayes risk at prior "+spelling.Exact(b.GetPrior()), "≥ "+num.FormatDown(b.GetRisk(), spelling.Digits),
			"of any guess whether the record is in the data; no curve proves more than "+
				num.FormatUp(b.GetRiskUpper(), spelling.Digits))
	}
	for _, r := range a.GetReconstructions() {
		t.Row("reconstruction at baseline "+spelling.Exact(r.GetBaseline()),
			"≤ "+num.FormatUp(r.GetSuccess(), spelling.Digits),
			"chance of a guess from the outputs; no curve proves less than "+
				num.FormatDown(r.GetSuccessLower(), spelling.Digits))
	}
}

// writeCurveCSV writes every digit; what is not known is empty.
func writeCurveCSV(p *cli.Program, a *accountantv1.QueryPrivacyCurveResponse, tradeOff bool) error {
	w := csv.NewWriter(p.Out)
	if tradeOff {
		_ = w.Write([]string{"alpha", "beta", "beta_upper"})
		for _, x := range a.GetTradeOff() {
			_ = w.Write([]string{spelling.Exact(x.GetAlpha()), spelling.Exact(x.GetBeta()),
				spelling.Exact(x.GetBetaUpper())})
		}
	} else {
		_ = w.Write([]string{"epsilon", "delta", "delta_lower", "log_delta", "log_delta_lower", "analysis"})
		known := func(v *float64) string {
			if v == nil {
				return ""
			}
			return spelling.Exact(*v)
		}
		for _, x := range a.GetPoints() {
			_ = w.Write([]string{spelling.Exact(x.GetEpsilon()), spelling.Exact(x.GetDelta()), known(x.DeltaLower),
				spelling.Exact(x.GetLogDelta()), known(x.LogDeltaLower), x.GetAnalysis()})
		}
	}
	w.Flush()
	return w.Error() // the first error of all writes
}
