// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Guard is the composition rule that enforces a budget while mechanisms, their
// parameters and the stop may depend on earlier outputs. A budget has one,
// fixed when its ledger is created: to choose the guard, or a Rényi order, after
// outputs were seen is not valid, and neither is a stop at a recomputed (ε, δ).
type Guard uint8

const (
	// GuardNone is not given.
	GuardNone Guard = iota
	// GuardBasic bounds Σε_j and Σδ_j (Rogers–Roth–Ullman–Vadhan 2016, arXiv
	// 1605.08294v4, Thm 4.1: the basic composition theorem is a filter).
	GuardBasic
	// GuardZCDP bounds Σρ_j (Feldman–Zrnic 2021, arXiv 2008.11193; Whitehouse et
	// al. 2023, arXiv 2203.05481).
	GuardZCDP
	// GuardApproximateZCDP bounds Σρ_j and Σδ_j (Whitehouse et al. 2023, arXiv
	// 2203.05481).
	GuardApproximateZCDP
	// GuardGDP bounds Σμ_j² (Smith–Thakurta 2022, arXiv 2210.17520).
	GuardGDP
	// GuardRDP bounds the sum of the Rényi divergences at one order (Feldman–Zrnic
	// 2021, arXiv 2008.11193).
	GuardRDP
)

var guardNames = [...]string{"NONE", "BASIC", "ZCDP", "APPROXIMATE_ZCDP", "GDP", "RDP"}

// String is the API's spelling: "APPROXIMATE_ZCDP".
func (g Guard) String() string {
	if int(g) < len(guardNames) {
		return guardNames[g]
	}
	return fmt.Sprintf("Guard(%d)", uint8(g))
}

// Budget is a bound on what may be spent, as requested, with the guard that
// enforces it. Numbers that were not given are 0. With a guard the numbers are:
//
//	BASIC             epsilon, or epsilon and delta
//	ZCDP              rho, or epsilon and delta
//	APPROXIMATE_ZCDP  rho and delta (δ for what mechanisms leave to failures), or epsilon and delta
//	GDP               mu, or epsilon and delta
//	RDP               epsilon and delta; order, unless a run is described
//	none (of a plan)  epsilon and delta, rho, or mu
type Budget struct {
	Guard   Guard   `field:"5"`
	Epsilon float64 `field:"1" range:"a finite number > 0"` // ε in nats; finite and > 0
	Delta   float64 `field:"2" range:"a number in (0, 1)"`  // δ; in (0, 1)
	Rho     float64 `field:"3" range:"a finite number > 0"` // ρ in nats; finite and > 0
	Mu      float64 `field:"4" range:"a finite number > 0"` // μ; finite and > 0
	Order   float64 `field:"6" range:"a finite number > 1"` // α of an RDP guard; finite and > 1
}

// Check returns nil, or a *mechanism.ParameterError on what is not allowed.
func (b Budget) Check() error {
	for _, n := range []struct {
		field      string
		value      float64
		above, end float64
		allowed    string
	}{
		{"epsilon", b.Epsilon, 0, math.Inf(1), "a finite number > 0"},
		{"delta", b.Delta, 0, 1, "a number in (0, 1)"},
		{"rho", b.Rho, 0, math.Inf(1), "a finite number > 0"},
		{"mu", b.Mu, 0, math.Inf(1), "a finite number > 0"},
		{"order", b.Order, 1, math.Inf(1), "a finite number > 1"},
	} {
		if n.value != 0 && !(n.value > n.above && n.value < n.end) {
			return &mechanism.ParameterError{Field: n.field, Value: number(n.value), Allowed: n.allowed}
		}
	}
	if b.Order != 0 && b.Guard != GuardRDP {
		return &mechanism.ParameterError{Field: "order", Value: number(b.Order),
			Allowed: "an order with the guard RDP only"}
	}
	given := b.given()
	forms, ok := budgetForms[b.Guard]
	if !ok {
		return &mechanism.ParameterError{Field: "guard", Value: b.Guard.String(),
			Allowed: "BASIC, ZCDP, APPROXIMATE_ZCDP, GDP or RDP"}
	}
	for _, f := range forms {
		if f == given {
			return nil
		}
	}
	if given == "" {
		given = "missing"
	}
	allowed := forms[0]
	for _, f := range forms[1:] {
		allowed += "; or " + f
	}
	if b.Guard != GuardNone {
		allowed += " with the guard " + b.Guard.String()
	}
	return &mechanism.ParameterError{Field: "bound", Value: given, Allowed: allowed}
}

const both = "epsilon and delta"

var budgetForms = map[Guard][]string{
	GuardNone:            {both, "rho", "mu"},
	GuardBasic:           {"epsilon", both},
	GuardZCDP:            {"rho", both},
	GuardApproximateZCDP: {"delta and rho", both},
	GuardGDP:             {"mu", both},
	GuardRDP:             {both},
}

// given lists the bounds that are given.
func (b Budget) given() string {
	list := ""
	for _, n := range []struct {
		field string
		value float64
	}{{"epsilon", b.Epsilon}, {"delta", b.Delta}, {"rho", b.Rho}, {"mu", b.Mu}} {
		if n.value == 0 {
			continue
		}
		if list != "" {
			list += " and "
		}
		list += n.field
	}
	return list
}

// String is a budget for people: "ε = 8 at δ = 1e-05 by RDP".
func (b Budget) String() string {
	var s string
	switch {
	case b.Epsilon != 0 && b.Delta != 0:
		s = "ε = " + number(b.Epsilon) + " at δ = " + number(b.Delta)
	case b.Epsilon != 0:
		s = "ε = " + number(b.Epsilon)
	case b.Mu != 0:
		s = "μ = " + number(b.Mu)
	case b.Delta != 0:
		s = "ρ = " + number(b.Rho) + " and δ = " + number(b.Delta)
	default:
		s = "ρ = " + number(b.Rho)
	}
	if b.Guard != GuardNone {
		s += " by " + b.Guard.String()
	}
	return s
}
