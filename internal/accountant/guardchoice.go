// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"math/big"
	"slices"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Run is something that a budget should have room for.
type Run struct {
	Name        string // in a few words, for people
	Composition mechanism.Composition
}

// UsualRuns stand for what people run within a budget, where nobody has said what it is for:
// releases with Gaussian and with Laplace noise, and steps of DP-SGD. A smaller ε has more noise,
// so that some of each fit. Those that are not defined under adj are left out.
func (b Budget) UsualRuns(adj mechanism.Adjacency) []Run {
	noise := 1.0
	if b.Epsilon != 0 {
		noise = math.Max(1, math.Ceil(5/b.Epsilon))
	}
	gaussian := func(multiplier float64) mechanism.Mechanism { return mechanism.Gaussian{NoiseMultiplier: multiplier} }
	var runs []Run
	for _, r := range []struct {
		name string
		m    mechanism.Mechanism
	}{
		{"Gaussian σ/Δ=" + number(10*noise), gaussian(10 * noise)},
		{"Laplace b/Δ=" + number(10*noise), mechanism.Laplace{Scale: 10 * noise, Sensitivity: 1}},
		{"DP-SGD σ/Δ=" + number(noise) + " q=1%",
			mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: gaussian(noise)}},
	} {
		if r.m.Check(adj) == nil {
			runs = append(runs,
				Run{r.name, mechanism.Composition{Adjacency: adj, Parts: []mechanism.Part{{Mechanism: r.m, Count: 1}}}})
		}
	}
	return runs
}

// Choice is a guard that can enforce a budget.
type Choice struct {
	Budget Budget   // with the guard, and an RDP guard's order
	Fits   []uint64 // how often each run fits alone; 0 for one that the guard cannot charge
	score  float64  // the least share, over the runs, of what the best guard for it allows
}

// Choices are the guards that can enforce a budget that was given without one, the best first.
// A guard is as good as it is for the run that it favours least: the share of what the best
// guard for that run would allow. So a single run has the guard under which it fits most often.
// An RDP guard has the order that is best by the same measure. A *mechanism.ParameterError says
// that nothing can enforce the budget.
func (b Budget) Choices(runs []Run, in *num.Interrupt) ([]Choice, error) {
	var all []Choice
	most := make([]float64, len(runs))
	for _, guard := range []Guard{GuardRDP, GuardGDP, GuardApproximateZCDP, GuardZCDP, GuardBasic} {
		for _, guarded := range b.guardedBy(guard, runs, in) {
			c := Choice{Budget: guarded, Fits: make([]uint64, len(runs))}
			limit, err := guarded.ResolveWithin(mechanism.Composition{}, in)
			if err != nil {
				continue // of this guard's form, and too small for it
			}
			for i, r := range runs {
				c.Fits[i] = limit.fits(r.Composition, in)
				most[i] = math.Max(most[i], float64(c.Fits[i]))
			}
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		b.Guard = GuardRDP
		_, err := b.ResolveWithin(mechanism.Composition{}, in)
		return nil, err
	}
	for i := range all {
		all[i].score = 1
		for j, n := range all[i].Fits {
			if most[j] > 0 {
				all[i].score = math.Min(all[i].score, float64(n)/most[j])
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Choice) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	seen := map[Guard]bool{}
	return slices.DeleteFunc(all, func(c Choice) bool { // only the best order
		before := seen[c.Budget.Guard]
		seen[c.Budget.Guard] = true
		return before
	}), nil
}

// guardedBy is the budget with a guard, if it has the form that the guard needs: with an RDP
// guard at several orders, between those that are best for each run alone.
func (b Budget) guardedBy(guard Guard, runs []Run, in *num.Interrupt) []Budget {
	b.Guard = guard
	if b.Check() != nil {
		return nil
	}
	if guard != GuardRDP || b.Order != 0 {
		return []Budget{b}
	}
	low, high := math.Inf(1), 0.0
	for _, r := range runs {
		if order, err := b.bestOrder(r.Composition, in); err == nil {
			low, high = math.Min(low, order-1), math.Max(high, order-1)
		}
	}
	var out []Budget
	const between = 16 // a finer grid gains less than a hundredth
	for i := range between + 1 {
		if s := low * math.Pow(high/low, float64(i)/between); s > 0 && !math.IsInf(s, 1) {
			b.Order = 1 + threeDigits(s)
			out = append(out, b)
		}
	}
	return slices.Compact(out)
}

// threeDigits rounds a number > 0.
func threeDigits(x float64) float64 {
	digits := math.Pow(10, 2-math.Floor(math.Log10(x)))
	return math.Round(x*digits) / digits
}

// fits is how often c fits into the limit alone, 0 if the guard cannot charge it.
func (l Limit) fits(c mechanism.Composition, in *num.Interrupt) uint64 {
	value, delta := new(big.Int), new(big.Int)
	for _, p := range c.Parts {
		v, d, reason := l.Shares(p.Mechanism, c.Adjacency, in)
		if reason != "" || v == nil {
			return 0
		}
		n := new(big.Int).SetUint64(p.Count)
		value.Add(value, v.Mul(v, n))
		delta.Add(delta, d.Mul(d, n))
	}
	if delta.Cmp(value) > 0 {
		value = delta
	}
	if value.Sign() == 0 {
		return 0
	}
	whole := new(big.Int).SetUint64(Whole)
	return whole.Div(whole, value).Uint64()
}
