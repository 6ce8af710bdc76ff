// SPDX-License-Identifier: Apache-2.0

package statement

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Text that others wrote stays in its place: it makes no row, heading, link or tag.
func TestStatementEscapes(t *testing.T) {
	evil := "x |\n# Free <b>of</b> [charge](http://e) `a` *b*"
	text := Markdown(&accountantv1.Statement{
		Guarantee: "plan", Advantage: proto.Float64(0.5),
		Ledger: &accountantv1.Ledger{Name: "a", Spec: &accountantv1.LedgerSpec{
			Adjacency: accountantv1.Workload_ZERO_OUT, PrivacyUnit: evil, DatasetId: evil, Owner: evil}},
		Assumptions: []string{evil},
	})
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# ") && line != "# Privacy statement: a\n" || strings.Contains(line, "<b>") ||
			strings.Contains(line, " [charge]") ||
			strings.HasPrefix(line, "| dataset") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 3 {
			t.Errorf("%q", line)
		}
	}
	if strings.Count(text, "Free &lt;b&gt;") != 5 {
		t.Errorf("the text is gone:\n%s", text)
	}
}

// Bounds are rounded to the safe side, and none is made up.
func TestStatementNumbers(t *testing.T) {
	text := Markdown(&accountantv1.Statement{
		Guarantee: "filter", Rho: proto.Float64(0.1), Advantage: proto.Float64(0.123456789),
		Ledger: &accountantv1.Ledger{Name: "a", Spec: &accountantv1.LedgerSpec{Policy: accountantv1.LedgerSpec_FILTER}},
		Privacy: []*accountantv1.StatedPrivacy{
			{Delta: 1e-5, Epsilon: 1.23456789, Analysis: "zcdp", Running: proto.Float64(0.00000123456789)},
			{Delta: 1e-6, Epsilon: 2, EpsilonLower: proto.Float64(1.99999999), Analysis: "zcdp"},
		},
	})
	for _, want := range []string{
		"| 1e-05 | 1.23457 | – | zcdp | 1.23457e-6 |", "| 1e-06 | 2 | 1.99999 | zcdp | 0 |",
		"ρ = 0.1\n", "above 0.123457 (advantage)", "not given: one record",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "μ") {
		t.Errorf("a μ that is not there:\n%s", text)
	}
}

// Where the numbers are also of what is reserved, the text says so; what a child holds
// counts as charged, and budgets and plans have their own numbers.
func TestStatementOfReserved(t *testing.T) {
	for _, c := range []struct {
		guarantee, child string
		says             bool
	}{{"descriptive", "", true}, {"descriptive", "a/child", false}, {"plan", "", false}, {"filter", "", false}} {
		text := Markdown(&accountantv1.Statement{
			Guarantee: c.guarantee, Advantage: proto.Float64(0.5),
			Ledger: &accountantv1.Ledger{Name: "a", Spec: &accountantv1.LedgerSpec{},
				Reservations: []*accountantv1.Reservation{{Position: 1, Child: c.child}}},
			Privacy: []*accountantv1.StatedPrivacy{{Delta: 1e-5, Epsilon: 1, Analysis: "pld",
				Running: proto.Float64(0.5)}},
		})
		if strings.Contains(text, "## What was charged or is reserved\n") != c.says {
			t.Errorf("%s, child %q:\n%s", c.guarantee, c.child, text)
		}
	}
}
