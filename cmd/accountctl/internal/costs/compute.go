package costs

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

func compute(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "compute --file FILE (--delta D | --epsilon E)",
		Short: "Compute what a workload file costs, without a daemon",
		Long: `Compute the least proven upper bound on ε at a given δ, or on δ at a given ε,
of the workload in a file, over every analysis that applies. No daemon is asked.

With --analysis it is the bound of that analysis or classical theorem alone, which
fails with the reason where it does not hold; --analysis list shows all with what each
says and assumes.

` + workloads.Help,
		Example: `  accountctl compute --file workload.json --delta 1e-5
  accountctl compute --file workload.json --epsilon 1 --output json
  accountctl compute --file workload.json --delta 1e-5 --analysis advanced-composition
  accountctl compute --delta 1e-6 --file - < workload.json`,
		Args: cli.Arguments(),
	}
	file := workloads.FileFlag(c)
	q := answers.QuestionFlags(c)
	named := analysisFlags(c)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if named.name == listAnalyses {
			return writeTheorems(p, output.Value)
		}
		request := &accountantv1.QueryPrivacyRequest{}
		if err := q.Fill(c, request); err != nil {
			return err
		}
		if *file == "" {
			return cli.Usage(c, "--file is missing")
		}
		w, err := workloads.Read(c.Context(), p, *file)
		if err != nil {
			return err
		}
		if err := workloads.Check(*file, w); err != nil {
			return err
		}
		request.Subject = &accountantv1.QueryPrivacyRequest_Workload{Workload: w}
		done := p.Progress("computing")
		answer, err := solve(c.Context().Err, request, named)
		done()
		if err != nil {
			return err
		}
		p.Warn(answer.GetWarnings())
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(answer)
		}
		return answers.Write(p, answer, answers.ByDelta(request))
	}
	return c
}

// solve answers the request as the daemon would, or by the analysis that is named. An
// interrupt ends it.
func solve(interrupted func() error, r *accountantv1.QueryPrivacyRequest, named *analysis) (*accountantv1.QueryPrivacyResponse, error) {
	q, err := wire.ToQuestion(r)
	if err != nil {
		return nil, err
	}
	q.Question.Stop = func() bool { return interrupted() != nil }
	answer, err := named.ask(q.Workload, q.Question)
	if err == nil {
		err = interrupted()
	}
	if err != nil {
		return nil, err
	}
	out := wire.FromAnswer(q.Question, answer, wire.Standing{Mechanisms: q.Workload})
	if named.group > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("group-privacy: the answer is for datasets that differ in %d records", named.group))
	}
	return out, nil
}
