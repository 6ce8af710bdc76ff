// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"fmt"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// WarnOf names as warnings what a picture or a csv file rests on, which have no place for it.
func WarnOf(p *cli.Program, list []*accountantv1.Assumption) {
	for _, text := range spelling.Assumptions(list) {
		p.Warn([]string{"this assumes: " + text})
	}
}

// WriteLedger writes what a ledger's answer says in the order of the question: what was spent so far, then
// what is guaranteed, each with what it rests on; then everything that Write does.
func WriteLedger(p *cli.Program, a *accountantv1.QueryPrivacyResponse, byDelta, verbose bool) error {
	number := func(epsilon, delta float64, log *float64) string {
		if byDelta {
			return fmt.Sprintf("ε ≤ %s at δ = %s", num.FormatDecimalsUp(epsilon, 2), spelling.Exact(a.GetDelta()))
		}
		return fmt.Sprintf("δ ≤ %s at ε = %s", spelling.Delta(delta, log), spelling.Exact(a.GetEpsilon()))
	}
	if a.Running != nil {
		p.Paragraph("Spent so far: " + number(a.GetRunning(), a.GetRunning(), nil) +
			". This " + spelling.Guarantees["descriptive"] + ".")
	}
	whole := number(a.GetEpsilon(), a.GetDelta(), a.LogDelta)
	switch guarantee := a.GetGuarantee(); {
	case guarantee != "descriptive":
		p.Paragraph("Guaranteed: " + whole + ". This " + spelling.Guarantees[guarantee] + ".")
	case byDelta && a.GetRunning() != a.GetEpsilon() || !byDelta && a.GetRunning() != a.GetDelta():
		p.Paragraph("With what is reserved: " + whole + ".")
	}
	_, _ = fmt.Fprintln(p.Out)
	return Write(p, a, byDelta, verbose)
}

// Write writes an answer for people: bounds rounded to the safe side, the
// winner marked, what does not apply with its reason. byDelta tells what was
// asked: ε at a δ, or δ at an ε. The bounds of all analyses follow where verbose is set.
func Write(p *cli.Program, a *accountantv1.QueryPrivacyResponse, byDelta, verbose bool) error {
	t := p.Table()
	if byDelta {
		t.Row("epsilon", "≤ "+num.FormatUp(a.GetEpsilon(), spelling.Digits), "at delta "+spelling.Exact(a.GetDelta()))
		if a.EpsilonLower != nil {
			t.Row("", "≥ "+num.FormatDown(a.GetEpsilonLower(), spelling.Digits), spelling.LowerBound)
		}
	} else {
		t.Row("delta", "≤ "+spelling.Delta(a.GetDelta(), a.LogDelta), "at epsilon "+spelling.Exact(a.GetEpsilon()))
		if a.DeltaLower != nil {
			t.Row("", "≥ "+num.FormatDown(a.GetDeltaLower(), spelling.Digits), spelling.LowerBound)
		}
	}
	t.Row("guarantee", spelling.Guarantees[a.GetGuarantee()])
	if a.GetGuarantee() != "descriptive" && a.Running != nil {
		running := num.FormatUp(a.GetRunning(), spelling.Digits)
		if !byDelta {
			running = spelling.Delta(a.GetRunning(), nil)
		}
		t.Row("running", "≤ "+running, "of what was charged so far; "+spelling.Guarantees["descriptive"])
	}
	for _, text := range spelling.Assumptions(a.GetAssumptions()) {
		t.Row("assumes", text)
	}
	if a.Position != nil {
		t.Row("position", a.GetPosition())
	}
	if err := t.Flush(); err != nil || !verbose {
		return err
	}
	_, _ = fmt.Fprintln(p.Out)
	return writeAnalyses(p, a, byDelta)
}

func writeAnalyses(p *cli.Program, a *accountantv1.QueryPrivacyResponse, byDelta bool) error {
	t := p.Table()
	if byDelta {
		t.Row(" ", "ANALYSIS", "EPSILON", "ORDER")
	} else {
		t.Row(" ", "ANALYSIS", "DELTA", "ORDER")
	}
	for _, r := range a.GetAnalyses() {
		mark, order := " ", ""
		same := r.GetDelta() == a.GetDelta() // budgets may have the same guard
		if byDelta {
			same = r.GetEpsilon() == a.GetEpsilon()
		}
		if r.GetAnalysis() == a.GetAnalysis() && r.Unsupported == nil && same {
			mark = "*"
		}
		if r.Order != nil {
			order = spelling.Nearest(r.GetOrder())
		}
		switch {
		case r.Unsupported != nil:
			t.Row(mark, r.GetAnalysis(), "–", r.GetUnsupported())
		case byDelta:
			t.Row(mark, r.GetAnalysis(), num.FormatUp(r.GetEpsilon(), spelling.Digits), order)
		default:
			t.Row(mark, r.GetAnalysis(), spelling.Delta(r.GetDelta(), r.LogDelta), order)
		}
	}
	return t.Flush()
}
