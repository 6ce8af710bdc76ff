// SPDX-License-Identifier: Apache-2.0

package share

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// The table of docs/datasets.md says which ledgers each dataset's guard can have; it is made
// anew here, by creating each ledger below each dataset.
func TestTheTableOfDatasetsIsTheCode(t *testing.T) {
	text, err := os.ReadFile("../../../docs/datasets.md")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		name   string
		budget accountant.Budget
	}
	datasets := []row{
		{"`basic` without `delta`", accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1e6}},
		{"`basic` with `delta`", accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1e6, Delta: 0.1}},
		{"`zcdp`", accountant.Budget{Guard: accountant.GuardZCDP, Rho: 1e6}},
		{"`approximate-zcdp`", accountant.Budget{Guard: accountant.GuardApproximateZCDP, Rho: 1e6, Delta: 0.1}},
		{"`gdp`", accountant.Budget{Guard: accountant.GuardGDP, Mu: 1e3}},
		{"`rdp` at the order 8", accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1e6, Delta: 1e-5, Order: 8}},
	}
	ledgers := []row{
		{"`basic` without `delta`", accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 2}},
		{"`basic` with `delta`", accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 2, Delta: 1e-6}},
		{"`zcdp`", accountant.Budget{Guard: accountant.GuardZCDP, Rho: 0.5}},
		{"`approximate-zcdp` of `epsilon` and `delta`",
			accountant.Budget{Guard: accountant.GuardApproximateZCDP, Epsilon: 2, Delta: 1e-6}},
		{"`approximate-zcdp` of `rho` and `delta`",
			accountant.Budget{Guard: accountant.GuardApproximateZCDP, Rho: 0.5, Delta: 1e-6}},
		{"`gdp`", accountant.Budget{Guard: accountant.GuardGDP, Mu: 0.7}},
		{"`rdp` at the order 7",
			accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 4, Delta: 1e-5, Order: 7}},
		{"`rdp` at the order 8 or above",
			accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 4, Delta: 1e-5, Order: 9}},
	}
	want := &strings.Builder{}
	fmt.Fprint(want, "| a ledger with the guard |")
	for _, d := range datasets {
		fmt.Fprintf(want, " under %s |", d.name)
	}
	fmt.Fprint(want, "\n|---|"+strings.Repeat("---|", len(datasets))+"\n")
	for _, l := range ledgers {
		fmt.Fprintf(want, "| %s |", l.name)
		for _, d := range datasets {
			cell := " no |"
			if canHave(t, filter(d.budget), filter(l.budget)) {
				cell = " yes |"
			}
			want.WriteString(cell)
		}
		want.WriteByte('\n')
	}
	if !strings.Contains(string(text), "\n"+want.String()+"\n") {
		t.Errorf("docs/datasets.md has another table; allowed:\n%s", want)
	}
	for _, d := range datasets {
		if canHave(t, filter(d.budget), ledger.Spec{Name: "l"}) {
			t.Errorf("a DESCRIPTIVE ledger is below a dataset with the guard %s", d.name)
		}
	}
}

// canHave says whether a dataset can set aside all that a ledger may spend.
func canHave(t *testing.T, dataset, child ledger.Spec) bool {
	t.Helper()
	s := ledger.NewState(resolved(t, dataset))
	g := resolved(t, child).Genesis
	g.Spec.Name = "child"
	v, err := one(s.View(), g.Spec, g.Resolution)
	if err != nil {
		return false
	}
	return decide(s, v).Outcome == ledger.Accepted
}
