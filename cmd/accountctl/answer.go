package main

import (
	"fmt"
	"math"
	"strconv"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
)

// guarantees says what each guarantee means.
var guarantees = map[string]string{
	"descriptive": "holds if neither the parameters nor the stop depended on outputs",
	"plan":        "holds for the whole plan, in any order and wherever it stops",
	"filter":      "holds for the whole budget, also if parameters depended on outputs",
}

// writeAnswer writes an answer for people: bounds rounded to the safe side, the
// winner marked, what does not apply with its reason. byDelta tells what was
// asked: ε at a δ, or δ at an ε.
func (p *program) writeAnswer(a *accountantv1.QueryPrivacyResponse, byDelta bool) error {
	t := p.table()
	if byDelta {
		t.row("epsilon", "≤ "+num.FormatUp(a.GetEpsilon(), digits), "at delta "+exact(a.GetDelta()))
		if a.EpsilonLower != nil {
			t.row("", "≥ "+num.FormatDown(a.GetEpsilonLower(), digits), "whatever the analysis")
		}
	} else {
		t.row("delta", "≤ "+deltaText(a.GetDelta(), a.LogDelta), "at epsilon "+exact(a.GetEpsilon()))
		if a.DeltaLower != nil {
			t.row("", "≥ "+num.FormatDown(a.GetDeltaLower(), digits), "whatever the analysis")
		}
	}
	t.row("guarantee", a.GetGuarantee(), guarantees[a.GetGuarantee()])
	if a.GetGuarantee() != "descriptive" && a.Running != nil {
		running := num.FormatUp(a.GetRunning(), digits)
		if !byDelta {
			running = deltaText(a.GetRunning(), nil)
		}
		t.row("running", "≤ "+running, "of what was charged so far; "+guarantees["descriptive"])
	}
	for _, assumed := range a.GetAssumptions() {
		text := assumed.GetText()
		if assumed.GetPosition() > 0 {
			text = fmt.Sprintf("entry %d: %s", assumed.GetPosition(), text)
		}
		t.row("assumes", text)
	}
	if a.Position != nil {
		t.row("position", a.GetPosition())
	}
	if err := t.flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(p.out); err != nil {
		return err
	}
	return p.writeAnalyses(a, byDelta)
}

func (p *program) writeAnalyses(a *accountantv1.QueryPrivacyResponse, byDelta bool) error {
	t := p.table()
	if byDelta {
		t.row(" ", "ANALYSIS", "EPSILON", "ORDER")
	} else {
		t.row(" ", "ANALYSIS", "DELTA", "ORDER")
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
			order = nearest(r.GetOrder())
		}
		switch {
		case r.Unsupported != nil:
			t.row(mark, r.GetAnalysis(), "–", r.GetUnsupported())
		case byDelta:
			t.row(mark, r.GetAnalysis(), num.FormatUp(r.GetEpsilon(), digits), order)
		default:
			t.row(mark, r.GetAnalysis(), deltaText(r.GetDelta(), r.LogDelta), order)
		}
	}
	return t.flush()
}

// deltaText is δ rounded up; with its logarithm where δ itself is below the
// normal numbers.
func deltaText(delta float64, log *float64) string {
	if log != nil && delta < 0x1p-1022 && !math.IsInf(*log, -1) {
		return "e^" + num.FormatUp(*log, digits)
	}
	return num.FormatUp(delta, digits)
}

// exact is a number as it was given.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// nearest is for numbers that bound nothing.
func nearest(x float64) string {
	if math.IsInf(x, 1) {
		return "∞"
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
