// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

func TestStatementDeltas(t *testing.T) {
	for _, c := range []struct{ asked, budgets, want []float64 }{
		{nil, nil, []float64{1e-5, 1e-6, 1e-8, 1e-10}},
		{nil, []float64{1e-6, 1e-3, 0}, []float64{1e-3, 1e-5, 1e-6, 1e-8, 1e-10}},
		{[]float64{1e-9, 1e-3, 1e-9}, []float64{1e-6}, []float64{1e-3, 1e-9}},
	} {
		var budgets []accountant.Budget
		for _, d := range c.budgets {
			budgets = append(budgets, accountant.Budget{Delta: d})
		}
		asked := append([]float64(nil), c.asked...)
		got := StatementDeltas(c.asked, budgets)
		if len(got) != len(c.want) {
			t.Fatalf("%v with %v: %v", c.asked, c.budgets, got)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%v with %v: %v, want %v", c.asked, c.budgets, got, c.want)
			}
		}
		for i := range asked {
			if asked[i] != c.asked[i] {
				t.Error("the caller's list was changed")
			}
		}
	}
	for _, bad := range [][]float64{{0}, {1}, {-1}, {math.NaN()}, {math.Inf(1)}, make([]float64, 17)} {
		if err := CheckDeltas(bad); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

// A statement opens at the ledger's own δ, where the overview shows ε, too, and otherwise at the first finite ε.
func TestStatementOpensAtItsOwnDelta(t *testing.T) {
	at := func(delta, epsilon float64) StatedPrivacy {
		return StatedPrivacy{Stated: accountant.Answer{Delta: delta, Epsilon: epsilon}}
	}
	all := []StatedPrivacy{at(1e-3, math.Inf(1)), at(1e-5, 2), at(1e-6, 3), at(1e-8, 4)}
	for _, c := range []struct {
		own  float64
		want string
	}{{1e-6, "(3.00, 1e-06)"}, {1e-8, "(4.00, 1e-08)"}, {1e-3, "(2.00, 1e-05)"}, {1e-9, "(2.00, 1e-05)"},
		{0, "(2.00, 1e-05)"}} {
		s := Statement{Privacy: all, Own: c.own, Rho: math.Inf(1), Mu: math.Inf(1)}
		if got := FromStatement(s).GetSummary(); !strings.Contains(got, c.want) {
			t.Errorf("δ = %g: %q; want %q", c.own, got, c.want)
		}
	}
	rho := []accountant.Budget{{Guard: accountant.GuardApproximateZCDP, Rho: 1, Delta: 1e-7}}
	if own := OwnDelta(rho); !slices.Contains(StatementDeltas(nil, rho), own) {
		t.Errorf("a statement does not say ε at δ = %g, where the overview shows it", own)
	}
}

// What a statement rests on follows from what it is of.
func TestStatementAssumptions(t *testing.T) {
	sampled := mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}
	of := func(guarantee, unit string, m mechanism.Mechanism, assumed ...ledger.Assumption) string {
		s := Statement{Stated: []mechanism.Part{{Mechanism: m, Count: 1}}, Rho: math.Inf(1),
			Mu: math.Inf(1), Time: time.Unix(0, 0)}
		s.View.Guarantee, s.View.Genesis.Spec.PrivacyUnit, s.View.Assumptions = guarantee, unit, assumed
		out := FromStatement(s)
		if out.Rho != nil || out.Mu != nil {
			t.Errorf("an infinite ρ or μ is stated: %v", out)
		}
		return strings.Join(out.GetAssumptions(), "\n")
	}
	for _, c := range []struct {
		text       string
		has, lacks []string
	}{
		{of(ledger.GuaranteePlan, "user", sampled),
			[]string{"one user", "Only what the plan declares", "Poisson sampling", "are public", "real-valued"},
			[]string{"declared by their guarantee", "unit of privacy was not given"}},
		{of(ledger.GuaranteeFilter, "", mechanism.PureDP{Epsilon: 1}),
			[]string{"one record", "may have depended on outputs", "declared by their guarantee",
				"unit of privacy was not given"}, []string{"Poisson", "Only what"}},
		{of(ledger.GuaranteeDescriptive, "user", mechanism.Laplace{Scale: 1, Sensitivity: 1},
			ledger.Assumption{Position: 7, Text: "so it is"}), []string{"Neither what was run", "Entry 7: so it is"},
			[]string{"Poisson", "declared"}},
	} {
		for _, want := range c.has {
			if !strings.Contains(c.text, want) {
				t.Errorf("no %q in\n%s", want, c.text)
			}
		}
		for _, not := range c.lacks {
			if strings.Contains(c.text, not) {
				t.Errorf("%q in\n%s", not, c.text)
			}
		}
	}
}

// Answers and statements name what randomized response rests on under ZERO_OUT, and say
// nothing of it elsewhere.
func TestRandomizedResponseNamesItsAssumption(t *testing.T) {
	for adj, want := range map[mechanism.Adjacency]int{mechanism.ZeroOut: 1, mechanism.ReplaceOne: 0} {
		c := mechanism.Composition{Adjacency: adj,
			Parts: []mechanism.Part{{Mechanism: mechanism.RandomizedResponse{Epsilon: 1}, Count: 1}}}
		const null = "null record"
		got := 0
		for _, a := range FromAnswer(accountant.AtDelta(1e-5), accountant.Answer{},
			Standing{Mechanisms: c}).GetAssumptions() {
			if strings.Contains(a.GetText(), null) && a.GetKind() == "mechanism" &&
				a.GetPosition() == 0 && !a.GetDescriptive() {
				got++
			}
		}
		if got != want {
			t.Errorf("%v: an answer names it %d times, want %d", adj, got, want)
		}
		var s Statement
		s.View.Genesis.Spec.Adjacency, s.Stated, got = adj, c.Parts, 0
		for _, text := range FromStatement(s).GetAssumptions() {
			if strings.Contains(text, null) {
				got++
			}
		}
		if got != want {
			t.Errorf("%v: a statement names it %d times, want %d", adj, got, want)
		}
	}
}
