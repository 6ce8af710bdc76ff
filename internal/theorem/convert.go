// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// These are the kinds of guarantees, followed by other things that a guarantee can be turned
// into.
const (
	Pure         = "pure-dp"              // ε
	Approximate  = "approximate-dp"       // (ε, δ)
	Concentrated = "zero-concentrated-dp" // ρ
	Renyi        = "renyi-dp"             // ε at one order α
	Gaussian     = "gaussian-dp"          // μ

	Group   = "group"           // of k records
	Sampled = "sampled"         // of a batch drawn by Poisson sampling
	Testing = "hypothesis-test" // what a test of neighbours can reach
)

// Kinds lists the guarantees that can be converted. Targets lists what they can become.
func Kinds() []string   { return []string{Pure, Approximate, Concentrated, Renyi, Gaussian} }
func Targets() []string { return append(Kinds(), Group, Sampled, Testing) }

// Guarantee is a privacy guarantee. Parameters that its kind does not have are 0.
type Guarantee struct {
	Kind    string
	Epsilon float64 // of Pure, Approximate, Renyi; in nats
	Delta   float64 // of Approximate; in (0, 1)
	Rho     float64 // of Concentrated; in nats
	Mu      float64 // of Gaussian
	Order   float64 // α > 1 of Renyi
}

// Target is what a guarantee is to be turned into, with the parameters for it: one of Delta and
// Epsilon for Approximate, Order for Renyi, GroupSize for Group, SamplingProbability and
// Adjacency for Sampled, Alpha for Testing.
type Target struct {
	Kind                string
	Delta, Epsilon      *float64
	Order               float64
	GroupSize           uint64
	SamplingProbability float64
	Adjacency           mechanism.Adjacency
	Alpha               *float64 // the type I error, in [0, 1]; nil: no point is asked for
}

// Converted is what follows from a guarantee, rounded to the safe side.
type Converted struct {
	Guarantee Guarantee // of Target's kind; of a Group or Sampled of the same kind as before
	Test      *Test     // where the target is Testing
	Theorem   string
	Source    string
	Tight     bool // some mechanism with the guarantee has no smaller one
}

// RefusedError means that no theorem turns one guarantee into another.
type RefusedError struct{ From, To, Reason string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s → %s is no theorem: %s", e.From, e.To, e.Reason)
}

// Convert turns g into t. It returns a *RefusedError if no theorem does this, and a
// *mechanism.ParameterError if a parameter is not allowed.
func Convert(g Guarantee, t Target) (Converted, error) {
	m, err := g.check()
	if err != nil {
		return Converted{}, err
	}
	if err := t.check(); err != nil {
		return Converted{}, err
	}
	if reason := refusals[g.Kind][t.Kind]; reason != "" {
		return Converted{}, &RefusedError{g.Kind, t.Kind, reason}
	}
	switch t.Kind {
	case Approximate:
		return toApproximate(g, m, t)
	case Concentrated:
		return toConcentrated(g), nil
	case Renyi:
		return toRenyi(g, m, t)
	case Gaussian:
		return Converted{
			Guarantee: Guarantee{Kind: Gaussian, Mu: muOfPure(g.Epsilon)}, Tight: true,
			Theorem: "μ = 2Φ⁻¹(e^ε/(1 + e^ε))",
			Source:  "Dong–Roth–Su 2022 (arXiv 1905.02383v3), §2; docs/math/conversions.md §4.5.5",
		}, nil
	case Group:
		return ofGroup(g, t)
	case Sampled:
		return ofSampled(g, t)
	}
	return tested(g, t), nil
}

// check checks g as its mechanism's descriptor does, and returns that descriptor. It returns
// nil for Renyi, which has a single order here.
func (g Guarantee) check() (mechanism.Mechanism, error) {
	var m mechanism.Mechanism
	switch g.Kind {
	case Pure:
		m = mechanism.PureDP{Epsilon: g.Epsilon}
	case Approximate:
		m = mechanism.ApproximateDP{Epsilon: g.Epsilon, Delta: g.Delta}
	case Concentrated:
		m = mechanism.ZeroConcentratedDP{Rho: g.Rho}
	case Gaussian:
		m = mechanism.GaussianDP{Mu: g.Mu}
	case Renyi:
		if err := (mechanism.PureDP{Epsilon: g.Epsilon}).Check(mechanism.AddOrRemoveOne); err != nil {
			return nil, &mechanism.ParameterError{Field: "renyi_dp.epsilon", Value: fmt.Sprint(g.Epsilon),
				Allowed: "a finite number > 0"}
		}
		return nil, checkOrder("order", g.Order)
	default:
		return nil, &mechanism.ParameterError{Field: "guarantee", Value: fmt.Sprintf("%q", g.Kind),
			Allowed: strings.Join(Kinds(), ", ")}
	}
	return m, m.Check(mechanism.AddOrRemoveOne)
}

func checkOrder(field string, order float64) error {
	if !(order > 1 && order <= 1e15) {
		return &mechanism.ParameterError{Field: field, Value: fmt.Sprint(order), Allowed: "a number > 1, at most 1e15"}
	}
	return nil
}

func (t Target) check() error {
	bad := func(field string, value any, allowed string) error {
		return &mechanism.ParameterError{Field: field, Value: fmt.Sprint(value), Allowed: allowed}
	}
	switch t.Kind {
	case Pure, Concentrated, Gaussian:
	case Approximate:
		err := accountant.Question{Delta: t.Delta, Epsilon: t.Epsilon}.Check()
		if e, ok := err.(*mechanism.ParameterError); ok {
			e.Field, e.Allowed = "target_"+e.Field,
				strings.Replace(e.Allowed, "delta, epsilon", "target_delta, target_epsilon", 1)
		}
		return err
	case Renyi:
		return checkOrder("target_order", t.Order)
	case Group:
		if t.GroupSize == 0 || t.GroupSize > 1<<32 {
			return bad("group_size", t.GroupSize, "a whole number from 1 to 2^32")
		}
	case Sampled:
		if q := t.SamplingProbability; !(q > 0 && q <= 1) {
			return bad("sampling_probability", q, "a number in (0, 1]")
		}
		if t.Adjacency != mechanism.AddOrRemoveOne {
			return bad("adjacency", t.Adjacency, "ADD_OR_REMOVE_ONE: elsewhere a guarantee between batches of one "+
				"size says nothing of the batch without the record")
		}
	case Testing:
		if a := t.Alpha; a != nil && !(*a >= 0 && *a <= 1) {
			return bad("alpha", *a, "a number in [0, 1]")
		}
	default:
		return bad("to", fmt.Sprintf("%q", t.Kind), strings.Join(Targets(), ", "))
	}
	return nil
}

// toApproximate returns the exact curve of the worst mechanism with the guarantee, where that
// is known.
func toApproximate(g Guarantee, m mechanism.Mechanism, t Target) (Converted, error) {
	const conversion = "ε = τ + ln((α−1)/α) − (ln δ + ln α)/(α−1)"
	out := Converted{Guarantee: Guarantee{Kind: Approximate}}
	if g.Kind == Renyi {
		// The divergence grows with the order, so a lower one may be taken.
		s := num.Down(g.Order - 1)
		k := num.MulUp(s, g.Epsilon)
		out.Theorem, out.Source = conversion, "Canonne–Kamath–Steinke 2020 (arXiv 2004.00010v3), Prop. 12"
		if t.Delta != nil {
			out.Guarantee.Delta, out.Guarantee.Epsilon = *t.Delta, loss.EpsilonAt(s, k, num.LogDown(*t.Delta))
		} else {
			out.Guarantee.Epsilon, out.Guarantee.Delta = *t.Epsilon,
				min(1, num.ExpUp(loss.LogDeltaAt(s, k, *t.Epsilon)))
		}
		return out, nil
	}
	analysis := accountant.PLD
	switch g.Kind {
	case Pure:
		out.Theorem, out.Source, out.Tight = "δ' = (e^ε − e^ε')/(1 + e^ε)",
			"Kairouz–Oh–Viswanath 2015 (arXiv 1311.0776), Thm 3.3 with k = 1", true
	case Approximate:
		out.Theorem, out.Source, out.Tight = "δ' = δ + (1 − δ)·(e^ε − e^ε')/(1 + e^ε)",
			"Kairouz–Oh–Viswanath 2015 (arXiv 1311.0776), Thm 3.3 with k = 1", true
	case Concentrated:
		analysis = accountant.ZCDP
		out.Theorem, out.Source = "least over α > 1 of "+conversion+" with τ = αρ",
			"Canonne–Kamath–Steinke 2020 (arXiv 2004.00010v3), Prop. 12"
	case Gaussian:
		analysis = accountant.GDP
		out.Theorem, out.Source, out.Tight = "δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)",
			"Balle–Wang 2018 (arXiv 1805.06530v2), Thm 8; Dong–Roth–Su 2022, Cor. 2.13", true
	}
	c := mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne, Parts: []mechanism.Part{{Mechanism: m, Count: 1}}}
	a, err := accountant.AskBy(c, accountant.Question{Delta: t.Delta, Epsilon: t.Epsilon}, analysis)
	out.Guarantee.Epsilon, out.Guarantee.Delta = a.Epsilon, a.Delta
	return out, err
}

func toConcentrated(g Guarantee) Converted {
	if g.Kind == Gaussian {
		return Converted{
			Guarantee: Guarantee{Kind: Concentrated, Rho: num.MulUp(num.MulUp(g.Mu, g.Mu), 0.5)}, Tight: true,
			Theorem: "ρ = μ²/2", Source: "Dong–Roth–Su 2022 (arXiv 1905.02383v3), Cor. B.6",
		}
	}
	facts, _ := kinds.Of(mechanism.PureDP{Epsilon: g.Epsilon}, mechanism.AddOrRemoveOne) // it has one
	return Converted{
		Guarantee: Guarantee{Kind: Concentrated, Rho: facts.Facts().Rho}, Tight: true,
		Theorem: "ρ = ε·tanh(ε/2), at most the classical ε²/2",
		Source:  "Bun–Steinke 2016 (arXiv 1605.02065v1), Prop. 1.4; docs/math/conversions.md §4.5.4",
	}
}

func toRenyi(g Guarantee, m mechanism.Mechanism, t Target) (Converted, error) {
	out := Converted{Guarantee: Guarantee{Kind: Renyi, Order: t.Order}, Tight: true}
	switch g.Kind {
	case Pure:
		l, err := kinds.Of(m, mechanism.AddOrRemoveOne)
		if err != nil {
			return Converted{}, err
		}
		s := num.Up(t.Order - 1) // K(s)/s does not fall
		out.Guarantee.Epsilon = min(g.Epsilon, num.DivUp(l.Cumulant(loss.Remove, s, nil).Upper(), s))
		out.Theorem, out.Source = "τ = ln[(sinh αε − sinh (α−1)ε)/sinh ε]/(α−1)",
			"Bun–Steinke 2016 (arXiv 1605.02065v1), Prop. 3.3 with its proof"
	case Concentrated:
		out.Guarantee.Epsilon = num.MulUp(g.Rho, t.Order)
		out.Theorem, out.Source = "τ = αρ", "Bun–Steinke 2016 (arXiv 1605.02065v1), Def. 1.1"
	case Gaussian:
		out.Guarantee.Epsilon = num.MulUp(num.MulUp(num.MulUp(g.Mu, g.Mu), 0.5), t.Order)
		out.Theorem, out.Source = "τ = αμ²/2", "Dong–Roth–Su 2022 (arXiv 1905.02383v3), Cor. B.6"
	case Renyi:
		if t.Order > g.Order {
			return Converted{}, &RefusedError{g.Kind, t.Kind,
				fmt.Sprintf("a divergence at order %v bounds those at smaller orders only", g.Order)}
		}
		out.Guarantee.Epsilon, out.Tight = g.Epsilon, t.Order == g.Order
		out.Theorem, out.Source = "the divergence does not fall with the order",
			"van Erven–Harremoës 2014 (arXiv 1206.2459), Thm 3"
	}
	return out, nil
}
