// SPDX-License-Identifier: Apache-2.0

// Package statement writes privacy statements for people, as Markdown.
package statement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/plain"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// Markdown is a statement for people: bounds on what is lost rounded up, lower
// bounds down. Text that others wrote cannot break out of its place.
func Markdown(s *accountantv1.Statement) string {
	if s.GetDataset() != nil {
		return markdown(s, ofDataset(s)) + ledgersTable(s.GetLedgers())
	}
	l, spec := s.GetLedger(), s.GetLedger().GetSpec()
	what := "What was charged"
	switch {
	case s.GetGuarantee() == "plan":
		what = "The plan"
	case countsReserved(s):
		what += " or is reserved"
	}
	return markdown(s, about{title: l.GetName(), heading: "The ledger", charged: what, source: "ledger `" + l.GetName() + "`",
		fields: []field{
			{"unit of privacy", cmp.Or(spec.GetPrivacyUnit(), "not given: one record")},
			{"dataset", cmp.Or(strings.TrimSpace(spelling.Identifier(spec.GetDatasetId())+" "+
				spec.GetDatasetVersion()), "not given")},
			{"neighbouring datasets", spelling.Adjacency(spec.GetAdjacency())},
			{"policy", spelling.Policy(spec)},
			{"guarantee", s.GetGuarantee() + ": " + spelling.Guarantees[s.GetGuarantee()]},
			{"budgets", budgetList(l)},
			{"parent", spec.GetParent()},
			{"owner", spec.GetOwner()},
		}})
}

// about is what a statement is about, in its own words.
type about struct {
	title   string
	heading string // of what the fields say
	fields  []field
	charged string // heading of the list of mechanisms
	source  string // what it is made from
}

type field struct{ name, value string }

func markdown(s *accountantv1.Statement, of about) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	l, spec := s.GetLedger(), s.GetLedger().GetSpec()
	line("# Privacy statement: %s", Escape(of.title))
	line("")
	line("%s", Escape(s.GetSummary()))
	line("")
	if l.GetNeedsReconciling() {
		line("**It has lost entries, by the restore of a backup or a failover of the database, and is not " +
			"reconciled: what was charged there is not counted.**")
		line("")
	}
	for _, section := range s.GetSections() {
		line("## %s", Escape(section.GetTitle()))
		line("")
		for _, point := range section.GetPoints() {
			line("- %s", Escape(point))
		}
		line("")
	}
	line("## %s", of.heading)
	line("")
	line("| | |")
	line("|---|---|")
	for _, f := range of.fields {
		if f.value != "" {
			line("| %s | %s |", f.name, Escape(f.value))
		}
	}
	line("")
	line("## Loss")
	line("")
	line("| δ | ε at most | ε at least | by | of what was charged so far |")
	line("|---|---|---|---|---|")
	for _, p := range s.GetPrivacy() {
		lower := "–"
		if p.EpsilonLower != nil {
			lower = num.FormatDown(p.GetEpsilonLower(), spelling.Digits)
		}
		line("| %s | %s | %s | %s | %s |", spelling.Exact(p.GetDelta()), num.FormatUp(p.GetEpsilon(), spelling.Digits),
			lower, Escape(p.GetAnalysis()), num.FormatUp(p.GetRunning(), spelling.Digits))
	}
	line("")
	but := ""
	if slices.ContainsFunc(s.GetMechanisms(),
		func(m *accountantv1.MechanismCount) bool { return samples(m.GetMechanism()) }) {
		but = ", without the amplification by sampling"
	}
	if s.Rho != nil {
		line("- zero-concentrated differential privacy: ρ = %s%s", num.FormatReadUp(s.GetRho(), spelling.Digits), but)
	}
	if s.Mu != nil {
		line("- Gaussian differential privacy: μ = %s%s", num.FormatReadUp(s.GetMu(), spelling.Digits), but)
	}
	line("- No test for one %s's data has true positives minus false positives above %s (advantage).",
		Escape(cmp.Or(spec.GetPrivacyUnit(), "record")), num.FormatUp(s.GetAdvantage(), spelling.Digits))
	line("")
	line("## %s", of.charged)
	line("")
	line("| mechanism | count |")
	line("|---|---|")
	for _, m := range s.GetMechanisms() {
		line("| %s%s | %d |", Escape(spelling.Mechanism(m.GetMechanism())), sizes(m.GetMechanism()), m.GetCount())
	}
	if n := s.GetMechanismsOmitted(); n > 0 {
		line("| and %d more mechanisms, which the answer has no room for; the numbers are of those too | |", n)
	}
	line("")
	line("## What this rests on")
	line("")
	for _, a := range s.GetAssumptions() {
		line("- %s", Escape(a))
	}
	for _, list := range []struct {
		title string
		texts []string
	}{{"Warnings", s.GetWarnings()}, {"Acknowledged warnings", s.GetAcknowledgedWarnings()}} {
		if len(list.texts) == 0 {
			continue
		}
		line("")
		line("## %s", list.title)
		line("")
		for _, text := range list.texts {
			line("- %s", Escape(text))
		}
	}
	line("")
	line("Made by accountantd %s on %s from %s (%s), created in store `%s`, at position %d, head `%x`.",
		Escape(s.GetVersion()), spelling.Time(s.GetTime()), of.source, spelling.State(l), l.GetStoreId(),
		l.GetPosition(), l.GetHeadHash())
	return b.String()
}

// countsReserved reports whether the numbers are also of what is reserved, other than
// for child ledgers: where they are of what was charged.
func countsReserved(s *accountantv1.Statement) bool {
	return s.GetGuarantee() == "descriptive" &&
		slices.ContainsFunc(s.GetLedger().GetReservations(),
			func(r *accountantv1.Reservation) bool { return r.GetChild() == "" })
}

func budgetList(l *accountantv1.Ledger) string {
	var all []string
	for _, b := range l.GetBudgets() {
		all = append(all, spelling.Budget(b.GetBudget()))
	}
	return strings.Join(all, "; ")
}

// Escape keeps text that others wrote from being read as Markdown or HTML.
func Escape(s string) string {
	return markdownEscaper.Replace(plain.Text(s))
}

// code shows text that others wrote as code. Nothing is escaped there, so a backtick would end it.
func code(s string) string { return "`" + strings.ReplaceAll(plain.Text(s), "`", "'") + "`" }

var markdownEscaper = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`",
	"*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "#", "\\#")

// sizes are the batches and the dataset that a sampling probability was computed from.
func sizes(m *accountantv1.Mechanism) string {
	p := m.GetPoissonSampled()
	if p.GetDatasetSize() == 0 {
		return ""
	}
	return fmt.Sprintf(", batches of %d of %d", p.GetBatchSize(), p.GetDatasetSize())
}

// samples reports whether a mechanism runs on Poisson samples, or one within it does.
func samples(m *accountantv1.Mechanism) bool {
	return m.GetPoissonSampled() != nil || m.GetDpSgd() != nil ||
		slices.ContainsFunc(m.GetComposed().GetEvents(),
			func(e *accountantv1.Event) bool { return samples(e.GetMechanism()) }) ||
		slices.ContainsFunc(m.GetParallel().GetParts(), samples)
}
