// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// ofFixedSize is a mechanism on a batch drawn without replacement, γ of the records,
// under REPLACE_ONE. Of a mechanism with Rényi bounds it is a table of them: with κ(j)
// its K at j − 1 and whole α ≥ 2
//
//	K(α−1) ≤ ln(1 + Σ_{j=2}^α C(α,j)·γ^j·ζ_j),  ζ_j = min{2e^{κ(j)}, 4ξ_j},
//
// ξ_j ≥ E_Q|P/Q − 1|^j (Wang, Balle and Kasiviswanathan 2019, arXiv 1808.00087v2,
// Thm 9 and its tighter moments; docs/math/batches.md §1.9). What has an ε0 is
// (ln(1 + γ(e^{ε0}−1)), γδ0)-DP (Balle, Barthe and Gaboardi 2018, arXiv 1807.01647v2, Thm 10).
// What has a pair has one on a batch, too (fixedSize). γ = 1 is the unsampled mechanism.
func ofFixedSize(m mechanism.FixedSizeSampled, x loss.Maker) (loss.Loss, error) {
	inner, err := x.Under(mechanism.ReplaceOne).Loss(m.Mechanism)
	rate := m.Rate()
	if err != nil || rate == 1 {
		return inner, err
	}
	inner = loss.BoundOf(inner)
	f := inner.Facts()
	name := "fixed-size-sampled " + f.Name
	switch {
	case math.IsInf(f.Epsilon, 1) && f.InfinityMass == 0 && f.Symmetric:
		return onFixedSize(declared.NewRenyiTable(loss.Hull(withoutReplacement(inner, rate, x.In)), name),
			inner, rate, x.In), nil
	case math.IsInf(f.Epsilon, 1) || f.OneSided:
		return nil, fmt.Errorf("fixed_size_sampled: no privacy loss is known for a sampled %s", m.Mechanism.Kind())
	}
	r := pairs.Response{Epsilon: poisson.Sample{Rate: rate}.Amplified(f.Epsilon), K: 2, Rounded: true,
		Name: name, Class: true}
	if f.InfinityMass > 0 {
		r.InfinityMass = math.Max(num.MulUp(rate, f.InfinityMass), math.SmallestNonzeroFloat64)
		return r, nil
	}
	return onFixedSize(r, inner, rate, x.In), nil
}

// onFixedSize has what is known of K, and the pair where the inner loss has one.
func onFixedSize(bound, inner loss.Loss, rate float64, in *num.Interrupt) loss.Loss {
	if !inner.Facts().Symmetric || !loss.Paired(inner, in) {
		return bound
	}
	return fixedSize{bound, inner, rate}
}

const (
	mostOrder  = 1024
	mostMoment = 64 // the most ξ_j, for jμ up to mostReach
	mostReach  = 40
)

// withoutReplacement bounds K at whole orders: all of them at first, then in growing
// steps; the unsampled mechanism is a bound too (joint convexity).
func withoutReplacement(inner loss.Loss, rate float64, in *num.Interrupt) []loss.Knot {
	xi := moments(inner, min(mostMoment, 12+int(200*rate)), in) // C(α,j)·γ^j leaves little of the others
	logRate := num.Log(rate)
	kappa := []float64{0, 0}
	var knots []loss.Knot
	for s := 1.0; s < mostOrder; s = math.Max(s+1, math.Floor(s*1.2)) {
		var sum num.LogSum
		in.Spend(80 * int(s))
		binomial := 0.0 // ln C(α, j)
		for j := 1; j <= int(s)+1; j++ {
			n := float64(j)
			binomial += math.Log((s + 2 - n) / n)
			if j == 1 {
				continue
			}
			if j == len(kappa) {
				kappa = append(kappa, inner.Cumulant(loss.Remove, n-1, in).Upper())
			}
			term := math.Ln2 + kappa[j]
			if j == 2 { // E_Q(P/Q − 1)² = e^κ − 1
				term = math.Min(term, 2*math.Ln2+num.LogExpm1(kappa[j]))
			} else if j < len(xi) {
				term = math.Min(term, 2*math.Ln2+xi[j])
			}
			sum.Add(binomial + n*logRate + term)
		}
		// 1,024 steps of the binomial, j·ln γ and κ: far within 1e-9.
		v := sum.Log()
		k := num.Log1pExp(v+1e-9*(1+1e-3*math.Abs(v))) * (1 + 1e-12)
		knots = append(knots, loss.Knot{S: s, K: math.Min(k, kappa[int(s)+1])})
	}
	return knots
}

// moments are upper bounds on ln E_Q|P/Q − 1|^j of a Gaussian, j = 3 … most; fewer
// where the moments reach far. x^j's modulus is convex in x = P/Q, so that on a cell,
// with its masses kept, it is at most what it is at the ends (docs/math/lattice.md §3.0 (iii)).
func moments(inner loss.Loss, most int, in *num.Interrupt) []float64 {
	mu, ok := loss.MuOf(inner)
	if !ok || !(mu >= pairs.LeastMu) {
		return nil
	}
	most = min(most, int(mostReach/mu))
	if most < 3 {
		return nil
	}
	const width, beyond = 1. / 8, 12.0
	pair := pairs.NormalPair{Mu: mu}
	// z is N(0,1) under P, and N(−μ,1) under Q: x·Q gathers around (j−1)μ.
	lo, hi := -mu-beyond, float64(most-1)*mu+beyond
	sums := make([]num.LogSum, most+1)
	count := int(math.Ceil((hi - lo) / width))
	before := pair.LossAt(lo)
	for i := range count {
		in.Spend(100 * most)
		a, b := lo+float64(i)*width, lo+float64(i+1)*width
		after := pair.LossAt(b)
		m := pair.CellOf(pairs.Interval{A: a, B: b})
		// Shares of the ends, of Q's mass: x̄ − x_a over x_b − x_a.
		share := math.Min(1, math.Max(0, math.Expm1(m.Loss-before)/math.Expm1(after-before)))
		logQ := m.LogP - m.Loss
		left, right := math.Log(math.Abs(math.Expm1(before))), math.Log(math.Abs(math.Expm1(after)))
		for j := 3; j <= most; j++ {
			n := float64(j)
			sums[j].Add(logQ + num.LogAddExp(num.Log(1-share)+n*left, num.Log(share)+n*right))
		}
		before = after
	}
	moments := make([]float64, most+1)
	cut := num.LogNormalCDF(-beyond)
	for j := 3; j <= most; j++ {
		// Beyond either end |x − 1|^j ≤ 1, and ≤ x^j, which has e^κ·Φ(−12) there at most.
		sums[j].Add(cut)
		sums[j].Add(inner.Cumulant(loss.Remove, float64(j-1), in).Upper() + cut)
		moments[j] = sums[j].Log() + 1e-9
	}
	return moments
}
