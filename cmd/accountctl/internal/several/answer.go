// SPDX-License-Identifier: Apache-2.0

package several

import (
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// WriteAnswer writes for people what each ledger costs, and what they cost together, each with what it rests
// on. byDelta tells what was asked: ε at a δ, or δ at an ε.
func WriteAnswer(p *cli.Program, a *accountantv1.QueryPrivacySetResponse, byDelta bool) error {
	t := p.Table()
	head, given := "EPSILON", "at delta "+spelling.Exact(a.GetInAll().GetDelta())
	if !byDelta {
		head, given = "DELTA", "at epsilon "+spelling.Exact(a.GetInAll().GetEpsilon())
	}
	t.Row("LEDGER", head, "SO FAR", "LEFT", "GUARANTEE", "POSITION")
	for _, l := range a.GetLedgers() {
		bound, running := bounds(l.GetPrivacy(), byDelta)
		left := "" // nothing bounds it
		if l.Left != nil {
			left = num.FormatReadDown(spelling.Percent(l.GetLeft(), 1), 3) + " %"
		}
		t.Row(p.Short(l.GetLedger(), 36), "≤ "+bound, "≤ "+running, left, l.GetPrivacy().GetGuarantee(),
			l.GetPrivacy().GetPosition())
	}
	_ = t.Flush() // the writer keeps the error
	n := len(a.GetLedgers())
	writeFor(p, fmt.Sprintf("A record in all %d ledgers", n), a.GetInAll(), given, byDelta)
	if why := a.GetNotInAll(); why != "" {
		p.Item("  no bound: ", why+".")
	}
	if a.GetInOne() == nil {
		_, _ = fmt.Fprintln(p.Out)
		p.Paragraph(fmt.Sprintf("A record in at most one of the %d ledgers: nothing is proven; %s.", n,
			a.GetNotInOne()))
		return nil
	}
	writeFor(p, fmt.Sprintf("A record in at most one of the %d ledgers", n), a.GetInOne(), given, byDelta)
	return nil
}

// Warnings are those of an answer about several ledgers, each once.
func Warnings(a *accountantv1.QueryPrivacySetResponse) (list []string) {
	list = slices.Clone(a.GetInAll().GetWarnings())
	for _, w := range a.GetInOne().GetWarnings() {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// writeFor writes what holds for some records.
func writeFor(p *cli.Program, records string, a *accountantv1.QueryPrivacyResponse, given string, byDelta bool) {
	name := "epsilon"
	if !byDelta {
		name = "delta"
	}
	bound, running := bounds(a, byDelta)
	_, _ = fmt.Fprintln(p.Out)
	p.Paragraph(fmt.Sprintf("%s: %s ≤ %s %s. This %s.", records, name, bound, given,
		spelling.Guarantees[a.GetGuarantee()]))
	p.Paragraph(fmt.Sprintf("So far: %s ≤ %s. This %s.", name, running, spelling.Guarantees["descriptive"]))
	for _, text := range spelling.Assumptions(a.GetAssumptions()) {
		p.Item("  assumes: ", text)
	}
}

// bounds are an answer's bound, and that of what was charged so far, rounded up.
func bounds(a *accountantv1.QueryPrivacyResponse, byDelta bool) (bound, running string) {
	if byDelta {
		return num.FormatUp(a.GetEpsilon(), spelling.Digits), num.FormatUp(a.GetRunning(), spelling.Digits)
	}
	return spelling.Delta(a.GetDelta(), a.LogDelta), spelling.Delta(a.GetRunning(), nil)
}
