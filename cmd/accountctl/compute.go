package main

import (
	"fmt"

	"github.com/spf13/cobra"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

func (p *program) compute() *cobra.Command {
	c := &cobra.Command{
		Use:   "compute --file FILE (--delta D | --epsilon E)",
		Short: "Compute what a workload file costs, without a daemon",
		Long: `Compute the least proven upper bound on ε at a given δ, or on δ at a given ε,
of the workload in a file, over every analysis that applies. No daemon is asked.

With --analysis it is the bound of that analysis or classical theorem alone, which
fails with the reason where it does not hold; --analysis list shows all with what each
says and assumes.

` + workloadHelp,
		Example: `  accountctl compute --file workload.json --delta 1e-5
  accountctl compute --file workload.json --epsilon 1 --output json
  accountctl compute --file workload.json --delta 1e-5 --analysis advanced-composition
  accountctl compute --delta 1e-6 --file - < workload.json`,
		Args: names(),
	}
	file := fileFlag(c)
	q := questionFlags(c)
	named := analysisFlags(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if named.name == listAnalyses {
			return p.writeTheorems(output.value)
		}
		request := &accountantv1.QueryPrivacyRequest{}
		if err := q.fill(c, request); err != nil {
			return err
		}
		if *file == "" {
			return usage(c, "--file is missing")
		}
		w, err := p.readWorkload(c.Context(), *file)
		if err != nil {
			return err
		}
		if err := checkWorkload(*file, w); err != nil {
			return err
		}
		request.Subject = &accountantv1.QueryPrivacyRequest_Workload{Workload: w}
		done := p.progress("computing")
		answer, err := solve(c.Context().Err, request, named)
		done()
		if err != nil {
			return err
		}
		p.warn(answer.GetWarnings())
		if output.value == formatJSON {
			return p.writeJSON(answer)
		}
		return p.writeAnswer(answer, byDelta(request))
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
