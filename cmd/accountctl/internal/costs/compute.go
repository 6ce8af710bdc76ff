// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func compute(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "compute (MECHANISM flags … | --file FILE) (--delta D | --epsilon E)",
		Short: "Compute what mechanisms cost, without a daemon",
		Long: `Compute the least proven upper bound on ε at a given δ, or on δ at a given ε, of
mechanisms that the line or a file describes, over every analysis that applies. No
daemon is asked.

` + mechanisms.Help + ` A mechanism
with an --epsilon or --delta of its own has those that stand after it; the question's
stand before it.

Without --adjacency the answer for mechanisms on the line is for neighbouring datasets
that differ by one record more or less (add-or-remove-one), and says so.

With --explain every bound stands beside the best one: how loose it is, by which theorem
from which source, what it assumes, and why the others do not apply.
With --analysis it is the bound of that analysis or classical theorem alone, which
fails with the reason where it does not hold; --analysis list shows all with what each
says and assumes.

` + workloads.Help,
		Example: `  accountctl compute dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60 --delta 1e-6
  accountctl compute gaussian --standard-deviation 20 --sensitivity 1 --count 50 + laplace --scale 20 --sensitivity 1 --delta 1e-6
  accountctl compute --delta 1e-6 approximate-dp --epsilon 0.1 --delta 1e-9 --count 20
  accountctl compute --file workload.json --epsilon 1 --output json
  accountctl compute --file workload.json --delta 1e-5 --analysis advanced-composition
  accountctl compute --delta 1e-6 --file - < workload.json`,
		ValidArgsFunction: workloads.CompleteMechanism,
	}
	request := answers.QuestionFlags(c)
	source := workloads.AddSource(p, c, "a mechanism or --file", "accountctl compute --delta 1e-6 %s")
	verbose := answers.VerboseFlag(c)
	named := analysisFlags(c)
	explained := c.Flags().Bool("explain", false, "show every bound, how loose it is, and what it rests on")
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if named.name == listAnalyses {
			return writeTheorems(p, output.Value)
		}
		w, err := source.Read(args)
		if err != nil {
			return err
		}
		request.Subject = &accountantv1.QueryPrivacyRequest_Workload{Workload: w.Workload}
		if !c.Flags().Changed("delta") && !c.Flags().Changed("epsilon") {
			return cli.Usage(c, "--delta or --epsilon is missing; such as: %s", w.Example())
		}
		if err := answers.OneGiven(c); err != nil {
			return err
		}
		if err := w.Check(); err != nil {
			return err
		}
		if *explained {
			if named.name != "" || named.group != 0 {
				return cli.Usage(c, "--explain and --analysis are both given; allowed: one of them, as --explain "+
					"shows every analysis")
			}
			return explainWorkload(p, c, w, request, output.Value)
		}
		progress := p.Progress("computing")
		answer, err := solve(c.Context().Err, request, named)
		progress.End()
		if err != nil {
			return w.Explain(err)
		}
		p.Warn(answer.GetWarnings())
		answer.Assumptions = append(w.Assumptions(), answer.Assumptions...)
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		return answers.Write(p, answer, answers.ByDelta(request), *verbose)
	}
	return c
}

// solve answers the request as the daemon would, or by the analysis that is named. An
// interrupt ends it.
func solve(interrupted func() error, r *accountantv1.QueryPrivacyRequest,
	named *analysis) (*accountantv1.QueryPrivacyResponse, error) {
	out, err := workloads.Privacy(r, named.ask, func() bool { return interrupted() != nil })
	if err == nil {
		err = interrupted()
	}
	if err != nil {
		return nil, err
	}
	if named.group > 0 {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("group-privacy: the answer is for datasets that differ in %d records", named.group))
	}
	return out, nil
}
