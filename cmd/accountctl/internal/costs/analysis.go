// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/theorem"
)

// listAnalyses in place of a name shows all.
const listAnalyses = "list"

// analysis holds --analysis and --group-size; without a name every analysis is asked.
type analysis struct {
	name  string
	group uint64
}

func analysisFlags(c *cobra.Command) *analysis {
	a := &analysis{}
	c.Flags().StringVar(&a.name, "analysis", "",
		"the `NAME` of one analysis or classical theorem to ask alone; list shows all")
	c.Flags().Uint64Var(&a.group, "group-size", 0, "k, the number of records that differ, for --analysis group-privacy")
	var all []string
	for _, t := range theorem.All() {
		all = append(all, t.Name+"\t"+t.Says)
	}
	_ = c.RegisterFlagCompletionFunc("analysis",
		cobra.FixedCompletions(append(all, listAnalyses+"\tshow all"), cobra.ShellCompDirectiveNoFileComp))
	return a
}

// ask refuses where the analysis that is named does not apply.
func (a *analysis) ask(c mechanism.Composition, q accountant.Question) (accountant.Answer, error) {
	if a.name == "" && a.group == 0 {
		return accountant.Ask(c, q)
	}
	answer, err := theorem.Ask(c, theorem.Question{Question: q, GroupSize: a.group}, a.name)
	if err == nil && answer.Analyses[0].Unsupported != "" {
		err = cli.Wrong(fmt.Sprintf("%s does not apply: %s", a.name, answer.Analyses[0].Unsupported))
	}
	return answer, err
}

// theoremJSON is a theorem in the output for programs.
type theoremJSON struct {
	Analysis  string `json:"analysis"`
	Says      string `json:"says"`
	Assumes   string `json:"assumes"`
	Source    string `json:"source"`
	Classical bool   `json:"classical"`
}

func fromTheorem(t theorem.Theorem) theoremJSON {
	return theoremJSON{t.Name, t.Says, t.Assumes, t.Source, t.Classical}
}

func writeTheorems(p *cli.Program, format string) error {
	if format == cli.FormatJSON {
		var out struct {
			Analyses []theoremJSON `json:"analyses"`
		}
		for _, t := range theorem.All() {
			out.Analyses = append(out.Analyses, fromTheorem(t))
		}
		return p.WriteObject(out)
	}
	for _, t := range theorem.All() {
		writeTheorem(p, t)
	}
	return nil
}

// writeTheorem writes what a theorem says, for people.
func writeTheorem(p *cli.Program, t theorem.Theorem) {
	p.Item("", t.Name)
	p.Item("  says     ", t.Says)
	p.Item("  assumes  ", t.Assumes)
	p.Item("  source   ", t.Source)
}
