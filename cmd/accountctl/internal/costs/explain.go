// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/theorem"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// explainWorkload asks for every bound, and writes them.
func explainWorkload(p *cli.Program, c *cobra.Command, w *workloads.Described,
	request *accountantv1.QueryPrivacyRequest, format string) error {
	progress := p.Progress("computing")
	e, err := explain(request, func() bool { return c.Context().Err() != nil })
	progress.End()
	if interrupted := c.Context().Err(); interrupted != nil {
		return interrupted
	}
	if err != nil {
		return w.Explain(err)
	}
	if w.Assumed != "" {
		e.assumptions = append(e.assumptions, w.Assumed)
	}
	p.Warn(e.warnings)
	if format == cli.FormatJSON {
		return p.WriteObject(e.object())
	}
	return writeExplanation(p, e)
}

// explain asks every analysis and every theorem.
func explain(r *accountantv1.QueryPrivacyRequest, stop func() bool) (explanation, error) {
	q, err := questions.ToQuestion(r)
	if err != nil {
		return explanation{}, err
	}
	q.Question.Stop = stop
	answer, bounds, err := theorem.Compare(q.Workload, q.Question)
	warnings := questions.Warnings([]float64{answer.Delta}, workloads.Mechanisms(r.GetWorkload().GetEvents()), nil)
	return explanation{q.Question, answer, bounds, warnings, q.Workload.Assumptions()}, err
}

// explanation is an answer with all bounds beside it.
type explanation struct {
	question accountant.Question
	answer   accountant.Answer
	bounds   []theorem.Bound
	warnings []string

	assumptions []string
}

// boundJSON is one bound for programs; the fields of what was not asked for are absent.
type boundJSON struct {
	theoremJSON
	Epsilon     *cli.Number `json:"epsilon,omitempty"`
	Delta       *cli.Number `json:"delta,omitempty"`
	LogDelta    *cli.Number `json:"logDelta,omitempty"`
	Order       *cli.Number `json:"order,omitempty"`
	Ratio       *cli.Number `json:"ratio,omitempty"`
	LogRatio    *cli.Number `json:"logRatio,omitempty"`
	Unsupported string      `json:"unsupported,omitempty"`
}

func (e explanation) object() any {
	out := struct {
		Delta         cli.Number  `json:"delta"`
		Epsilon       cli.Number  `json:"epsilon"`
		LogDelta      *cli.Number `json:"logDelta,omitempty"`
		EpsilonLower  *cli.Number `json:"epsilonLower,omitempty"`
		LogDeltaLower *cli.Number `json:"logDeltaLower,omitempty"`
		Analysis      string      `json:"analysis"`
		Bounds        []boundJSON `json:"bounds"`
		Warnings      []string    `json:"warnings"`
		Assumptions   []string    `json:"assumptions"`
	}{
		Delta: positive(e.answer.Delta, e.answer.LogDelta), Epsilon: cli.Number(e.answer.Epsilon),
		Analysis:     string(e.answer.Analysis),
		EpsilonLower: (*cli.Number)(e.answer.EpsilonLower), LogDeltaLower: (*cli.Number)(e.answer.LogDeltaLower),
		Warnings:    append([]string{}, e.warnings...), // [], not null
		Assumptions: append([]string{}, e.assumptions...),
	}
	given := func(x float64) *cli.Number { return (*cli.Number)(&x) }
	if e.question.Delta == nil {
		out.LogDelta = given(e.answer.LogDelta)
	}
	for _, b := range e.bounds {
		row := boundJSON{theoremJSON: fromTheorem(b.Theorem), Unsupported: b.Unsupported}
		switch {
		case b.Unsupported != "":
		case e.question.Delta != nil:
			row.Epsilon, row.Ratio = given(b.Epsilon), given(b.Loose)
		default:
			delta := positive(b.Delta, b.LogDelta)
			row.Delta, row.LogDelta, row.LogRatio = &delta, given(b.LogDelta), given(b.Loose)
		}
		if b.Order != 0 {
			row.Order = given(b.Order)
		}
		out.Bounds = append(out.Bounds, row)
	}
	return out
}

// positive keeps a δ > 0 that underflowed from reading as 0.
func positive(delta, logDelta float64) cli.Number {
	if delta == 0 && !math.IsInf(logDelta, -1) && logDelta != 0 {
		return math.SmallestNonzeroFloat64
	}
	return cli.Number(delta)
}

// writeExplanation is for people: the answer, a bar for each bound, and what each
// rests on.
func writeExplanation(p *cli.Program, e explanation) error {
	byDelta := e.question.Delta != nil
	t := p.Table()
	if byDelta {
		t.Row("epsilon", "≤ "+num.FormatUp(e.answer.Epsilon, spelling.Digits),
			"at delta "+spelling.Exact(e.answer.Delta))
		if e.answer.EpsilonLower != nil {
			t.Row("", "≥ "+num.FormatDown(*e.answer.EpsilonLower, spelling.Digits), spelling.LowerBound)
		}
	} else {
		t.Row("delta", "≤ "+spelling.Delta(e.answer.Delta, &e.answer.LogDelta),
			"at epsilon "+spelling.Exact(e.answer.Epsilon))
		if e.answer.DeltaLower != nil {
			t.Row("", "≥ "+num.FormatDown(*e.answer.DeltaLower, spelling.Digits), spelling.LowerBound)
		}
	}
	for _, text := range e.assumptions {
		t.Row("assumes", text)
	}
	_ = t.Flush() // the writer keeps the error
	t = p.Table()
	t.Row()
	t.Row("BOUND", map[bool]string{true: "EPSILON", false: "DELTA"}[byDelta], "LOOSE BY", "")
	width := 40
	if p.Narrow() {
		width = 36
	}
	lengths := e.bars(width)
	for i, b := range e.bounds {
		if b.Unsupported == "" {
			t.Row(b.Name, e.value(b), e.loose(b), lengths[i])
		}
	}
	_ = t.Flush() // the writer keeps the error
	for _, b := range e.bounds {
		_, _ = fmt.Fprintln(p.Out) // Out keeps the first error
		writeTheorem(p, b.Theorem)
		switch {
		case b.Unsupported != "":
			p.Item("  does not apply: ", b.Unsupported)
		case b.Order != 0:
			p.Item("  at order ", spelling.Nearest(b.Order))
		}
	}
	return nil
}

func (e explanation) value(b theorem.Bound) string {
	if e.question.Delta != nil {
		return num.FormatUp(b.Epsilon, spelling.Digits)
	}
	return spelling.Delta(b.Delta, &b.LogDelta)
}

// loose is the excess over the best in words: percent, a factor, or powers of ten.
func (e explanation) loose(b theorem.Bound) string {
	ratio := b.Loose
	if e.question.Delta == nil {
		if b.Loose > 12 {
			return fmt.Sprintf("10^%s ×", spelling.Nearest(b.Loose/math.Ln10))
		}
		ratio = math.Exp(b.Loose)
	}
	switch {
	case ratio == 1:
		return "best"
	case ratio < 1.0005:
		return "< 0.1 %"
	case ratio < 2:
		return fmt.Sprintf("%.1f %%", 100*(ratio-1))
	case math.IsInf(ratio, 1):
		return "∞"
	}
	return fmt.Sprintf("%.4g ×", ratio)
}

// bars draws the bounds, the worst over the whole width: ε as it is, δ by its powers
// of ten. What is more than ten times the best goes on beyond the edge.
func (e explanation) bars(width int) []string {
	const most = 10
	size := func(b theorem.Bound) float64 { return b.Epsilon }
	if e.question.Delta == nil {
		least := 0.0 // the finite ln δ
		for _, b := range e.bounds {
			if b.Unsupported == "" && !math.IsInf(b.LogDelta, -1) {
				least = math.Min(least, b.LogDelta)
			}
		}
		size = func(b theorem.Bound) float64 { return 1.1 + b.LogDelta/math.Max(-least, 1) }
	}
	best, worst := math.Inf(1), 0.0
	for _, b := range e.bounds {
		if s := size(b); b.Unsupported == "" && s > 0 && !math.IsInf(s, 1) {
			best, worst = math.Min(best, s), math.Max(worst, s)
		}
	}
	if worst > most*best && e.question.Delta != nil {
		worst = most * best
	}
	out := make([]string, len(e.bounds))
	for i, b := range e.bounds {
		switch share := size(b) / worst; {
		case b.Unsupported != "" || math.IsNaN(share) || share <= 0:
		case share > 1:
			out[i] = strings.Repeat("█", width) + "▶"
		default:
			out[i] = strings.Repeat("█", max(1, int(math.Round(float64(width)*share))))
		}
	}
	return out
}
