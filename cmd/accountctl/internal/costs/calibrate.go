// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

func calibrate(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "calibrate (MECHANISM flags … | --file FILE) --solve PARAMETER (--target-epsilon EPSILON " +
			"--target-delta DELTA | --target-mu MU | --target-advantage ADVANTAGE | --target-alpha ALPHA " +
			"--target-beta BETA | --ledger NAME) [--event PLACE]",
		Short: "Find the noise, the count or the sampling probability for a target",
		Long: `Find the smallest noise, the largest count or the largest sampling probability of
one mechanism on the line, or one event of a workload file, with which everything
together costs at most the target. That is ε = --target-epsilon at δ = --target-delta;
or --target-mu, the μ of Gaussian differential privacy; or --target-advantage, the most
that 1 − α − β of a test for a record may be; or --target-alpha with --target-beta: a
test with the type I error α must have a type II error of at least β. All others stay as
they are, and with --ledger that ledger's plan counts too, or without one everything
that was charged to it or is reserved; then the daemon is asked, otherwise none. Of a
ledger only what it takes fits: what its budgets, its plan and its dataset allow. Where
the target alone would allow more, the answer says so and why the ledger refuses it. A
ledger that has budgets or a plan needs no target. Nothing is charged.

It is solved for the mechanism or event that --event names, by its place from 0.
Otherwise it is the only one that lacks the parameter, or the only one that has it.
Its value of the parameter, if any, is replaced. A sampling probability is found instead of a batch
size: round its product with the dataset size down.

` + mechanisms.Help + `

` + workloads.Help,
		Example: `  accountctl calibrate dp-sgd --batch-size 256 --dataset-size 60000 --epochs 60 --solve noise-multiplier --target-epsilon 3 --target-delta 1e-6
  accountctl calibrate gaussian --sensitivity 1 --count 50 --solve standard-deviation --target-alpha 0.01 --target-beta 0.95
  accountctl calibrate --file workload.json --solve standard-deviation --target-epsilon 3 --target-delta 1e-5
  accountctl calibrate --file workload.json --event 1 --solve count --target-epsilon 8 --target-delta 1e-6 --output json
  accountctl calibrate --file next.json --ledger team/mnist --solve sampling-probability --target-epsilon 8 --target-delta 1e-6
  accountctl calibrate dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 1 --ledger team/mnist --solve count`,
		ValidArgsFunction: workloads.CompleteMechanism,
	}
	var solve string
	c.Flags().StringVar(&solve, "solve", "",
		"one of "+strings.Join(append(solvables(), fields...), ", ")+"; the last three are other names of the noise")
	event := c.Flags().Int("event", -1, "which mechanism or event, by its place from 0")
	request := &accountantv1.CalibrateRequest{}
	calls.AddFlags(c, request)
	source := workloads.AddSource(p, c, "a mechanism or --file",
		"accountctl calibrate %s --solve count --target-epsilon 3 --target-delta 1e-6")
	output := cli.OutputFlag(c, cli.FormatJSON)
	_ = c.RegisterFlagCompletionFunc("solve",
		cobra.FixedCompletions(append(solvables(), fields...), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		var err error
		if request.Solve, err = parseSolve(c, solve); err != nil {
			return err
		}
		if err := checkTarget(c, request); err != nil {
			return err
		}
		w, err := source.Read(args)
		if err != nil {
			return err
		}
		at, err := chooseEvent(c, w.Workload, request.Solve, *event)
		if err != nil {
			return err
		}
		if err := checkOthers(w, at); err != nil {
			return err
		}
		request.Event = w.Events[at]
		request.Workload = &accountantv1.Workload{Name: w.Name, Adjacency: w.Adjacency,
			Events: slices.Delete(slices.Clone(w.Events), at, at+1)}
		answer, err := calibrated(p, c, w, request)
		if err != nil {
			return w.Explain(ofEvent(at, err))
		}
		answer.Assumptions = append(w.Assumptions(), answer.Assumptions...)
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		p.Warn(answer.GetWarnings())
		return writeCalibrated(p, answer, request)
	}
	return c
}

// checkTarget says which flag is missing.
func checkTarget(c *cobra.Command, r *accountantv1.CalibrateRequest) error {
	switch other := r.TargetMu != nil || r.TargetAdvantage != nil; {
	case r.TargetAlpha != nil && r.TargetBeta == nil:
		return cli.Usage(c, "--target-beta is missing")
	case r.TargetBeta != nil && r.TargetAlpha == nil:
		return cli.Usage(c, "--target-alpha is missing")
	case other || r.TargetAlpha != nil || r.GetLedger() != "" && r.TargetEpsilon == nil:
		return nil
	case r.TargetEpsilon == nil:
		return cli.Usage(c, "--target-epsilon is missing")
	case r.TargetDelta == nil:
		return cli.Usage(c, "--target-delta is missing")
	}
	return nil
}

// calibrated asks the daemon where a ledger is named, and answers as it would
// otherwise.
func calibrated(p *cli.Program, c *cobra.Command, w *workloads.Described,
	r *accountantv1.CalibrateRequest) (*accountantv1.CalibrateResponse, error) {
	if c.Flags().Changed("ledger") {
		return cli.Ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.CalibrateResponse, error) {
			if w.Assumed != "" { // the ledger says what it is
				ledger, err := daemon.GetLedger(ctx, r.GetLedger())
				if err != nil {
					return nil, err
				}
				r.Workload.Adjacency, w.Assumed = ledger.GetLedger().GetSpec().GetAdjacency(), ""
			}
			return daemon.Calibrate(ctx, r)
		})
	}
	defer p.Progress("calibrating").End()
	out, err := workloads.Calibrate(r, func() bool { return c.Context().Err() != nil })
	if interrupted := c.Context().Err(); interrupted != nil {
		return nil, interrupted
	}
	return out, err
}

// fields are the names of the noise in an answer, which are taken for --solve, too.
var fields = []string{"noise-multiplier", "scale", "laplace-scale"}

// solvables are the API's parameters, as the flag spells them.
func solvables() []string {
	var out []string
	for i := 1; i < len(accountantv1.CalibrateRequest_Solve_name); i++ {
		out = append(out, strings.ToLower(spelling.Dashed(accountantv1.CalibrateRequest_Solve(i).String())))
	}
	return out
}

func parseSolve(c *cobra.Command, s string) (accountantv1.CalibrateRequest_Solve, error) {
	// as the table, JSON or the API spell it
	name := strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(s))
	i := slices.Index(solvables(), name)
	allowed := strings.Join(append(solvables(), fields...), ", ")
	switch {
	case s == "":
		return 0, cli.Usage(c, "--solve is missing; allowed: %s", allowed)
	case slices.Contains(fields, name):
		return accountantv1.CalibrateRequest_STANDARD_DEVIATION, nil
	case i < 0:
		return 0, cli.Usage(c, "--solve: %q; allowed: %s", s, allowed)
	}
	return accountantv1.CalibrateRequest_Solve(i + 1), nil
}

// chooseEvent returns the index of the event to solve for.
func chooseEvent(c *cobra.Command, w *accountantv1.Workload, solve accountantv1.CalibrateRequest_Solve,
	given int) (int, error) {
	n := len(w.GetEvents())
	indices := fmt.Sprintf("0 to %d, a place among the events", n-1)
	switch {
	case n == 0:
		return 0, cli.Usage(c, "the file has no events; allowed: at least the one to solve for")
	case c.Flags().Changed("event"):
		if given < 0 || given >= n {
			return 0, cli.Usage(c, "--event: %d; allowed: %s", given, indices)
		}
		return given, nil
	case n == 1:
		return 0, nil
	}
	var have, lack []int
	for i, e := range w.GetEvents() {
		has, lacks := questions.HasParameter(e, solve)
		if has {
			have = append(have, i)
		}
		if lacks {
			lack = append(lack, i)
		}
	}
	for _, candidates := range [][]int{lack, have} {
		if len(candidates) == 1 {
			return candidates[0], nil
		}
	}
	return 0, cli.Usage(c, "--event is missing; allowed: %s", indices)
}

// checkOthers validates the events that stay, by their places.
func checkOthers(w *workloads.Described, at int) error {
	one := 1.0
	others := *w
	others.Workload = &accountantv1.Workload{Name: w.Name, Adjacency: w.Adjacency, Events: slices.Clone(w.Events)}
	others.Events[at] = &accountantv1.Event{Count: 1, Mechanism: &accountantv1.Mechanism{
		Kind: &accountantv1.Mechanism_PureDp{PureDp: &accountantv1.PureDp{Epsilon: &one}}}}
	return others.Check()
}

// ofEvent names the place in the workload of what is wrong with the event to solve for.
func ofEvent(at int, err error) error {
	var invalid *wire.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	rest, ok := strings.CutPrefix(invalid.Field, "event.")
	if !ok { // of a flag of the command
		return cli.Wrong("--" + spelling.Dashed(invalid.Field) + ": " + invalid.Value + "; allowed: " + invalid.Allowed)
	}
	moved := *invalid
	moved.Field = fmt.Sprintf("events[%d].%s", at, rest)
	return &moved
}

// writeCalibrated writes a calibration for people: the value rounded so that it
// still fits.
func writeCalibrated(p *cli.Program, a *accountantv1.CalibrateResponse, r *accountantv1.CalibrateRequest) error {
	const digits = 9 // a relative 1e-8, below the search's own tolerance
	fitting := func(v float64) string { return num.FormatUp(v, digits) }
	beyond, which := func(v float64) string { return num.FormatDown(v, digits) }, "smallest"
	switch a.GetField() {
	case "count":
		fitting = func(v float64) string { return fmt.Sprintf("%.0f", v) }
		beyond, which = fitting, "largest"
	case "sampling_probability":
		fitting, beyond, which = beyond, fitting, "largest"
	}
	next := "it ends its range, or the time ended"
	switch {
	case a.ExceedingValue != nil:
		next = beyond(a.GetExceedingValue()) + " does not"
	case a.GetRefusal() != "":
		next = a.GetRefusal()
	}
	t := p.Table()
	t.Row(strings.ReplaceAll(a.GetField(), "_", " "), fitting(a.GetValue()), "the "+which+" that fits; "+next)
	switch {
	case a.TargetValue != nil:
		t.Row("for the target", fitting(a.GetTargetValue()),
			"would be enough, but the ledger refuses it: "+spelling.Refusal(a.GetRefusal()))
	case a.ExceedingValue != nil && a.GetRefusal() != "":
		t.Row("", "", "the ledger refuses that: "+spelling.Refusal(a.GetRefusal()))
	}
	const target = "the target is "
	switch {
	case a.Mu != nil:
		t.Row("mu", "≤ "+num.FormatUp(a.GetMu(), digits), target+spelling.Exact(r.GetTargetMu()))
	case a.Advantage != nil:
		t.Row("advantage", "≤ "+num.FormatUp(a.GetAdvantage(), digits), target+spelling.Exact(r.GetTargetAdvantage()))
	case a.Beta != nil:
		t.Row("beta", "≥ "+num.FormatDown(a.GetBeta(), digits), "at alpha "+spelling.Exact(r.GetTargetAlpha())+"; "+
			target+spelling.Exact(r.GetTargetBeta()))
	default:
		at := "at delta " + spelling.Exact(a.GetDelta())
		if r.TargetEpsilon != nil {
			at += "; " + target + spelling.Exact(r.GetTargetEpsilon())
		}
		t.Row("epsilon", "≤ "+num.FormatUp(a.GetEpsilon(), digits), at)
		if a.EpsilonLower != nil {
			t.Row("", "≥ "+num.FormatDown(a.GetEpsilonLower(), digits), spelling.LowerBound)
		}
		t.Row("analysis", a.GetAnalysis())
	}
	t.Row("guarantee", spelling.Guarantees[a.GetGuarantee()])
	for _, text := range spelling.Assumptions(a.GetAssumptions()) {
		t.Row("assumes", text)
	}
	if a.Position != nil {
		t.Row("position", a.GetPosition())
	}
	return t.Flush()
}
