// SPDX-License-Identifier: Apache-2.0

// Package lattice composes privacy losses on a grid: every release's distribution of losses
// becomes masses at the points offset + i·step, and Fourier transforms convolve them.
//
// Two such compositions enclose the truth. On the pessimistic side each release is replaced by a
// pair of distributions that dominates it, on the optimistic side by one that it dominates
// (measure.go, merge.go), so that no rounding of a loss to a point is lost from sight. The
// measures are tilted by e^{θL} first, so that the digits are where the answer is (saddle.go).
// docs/math/lattice.md §3 has the proofs.
//
// A question is asked in attempts with ever smaller steps, until the bounds are as close as wanted
// or the work is used up (solve.go).
package lattice

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

// deepest is the least ln δ the lattice resolves.
const deepest = -745

// newProblem takes a composition in one direction, or says why it cannot.
// All Gaussians become one with μ² = Σ n_j·μ_j², all that is known
// by bounds on K alone one guarantee: then only what is above the curve holds.
func newProblem(c loss.Composition, d loss.Direction, in *num.Interrupt) (*problem, string) {
	low, high := c.InfinityMassOf(d)
	p := &problem{in: in, distinct: len(c), maxLoss: c.MaxLoss(d),
		atom: loss.Bounds{Lower: num.LogDown(low), Upper: num.LogUp(high)}}
	var squares num.Sum
	c, g, declared := c.Declared(in)
	for _, t := range c {
		f := t.Loss.Facts()
		n := num.Count(t.Count)
		mu, _ := loss.MuOf(t.Loss)
		switch {
		case n > 1<<53:
			return nil, "more than 2^53 releases of one mechanism are too many for the lattice"
		case mu > 0:
			squares.Add(n * mu * mu)
			continue
		}
		upper, ok := loss.PairOf(t.Loss, d, loss.Dominating, in)
		lower, okLow := loss.PairOf(t.Loss, d, loss.Dominated, in)
		if !ok || !okLow {
			return nil, "a " + f.Name + " has parameters out of the range of the lattice"
		}
		p.add(upper, lower, n)
	}
	if s := squares.Value(); s > 0 {
		mu := math.Sqrt(s)
		upper := pairs.GaussianPair(mu * (1 + 16*num.Ulp))
		lower := pairs.GaussianPair(mu * (1 - 32*num.Ulp))
		if upper == nil || lower == nil {
			return nil, "the Gaussians together are out of the range of the lattice"
		}
		p.add(upper, lower, 1)
	}
	if declared {
		pair := g.Pair()
		if pair == nil {
			return nil, "the guarantees of zCDP and RDP together are out of the range of the lattice"
		}
		p.add(pair, pair, 1)
		p.maxLoss = math.Inf(1)
	}
	p.block()
	return p, ""
}

func (p *problem) add(upper, lower loss.Pair, n float64) {
	most := mostRough
	if p.distinct > 0 {
		most = min(most, max(allRough/p.distinct, leastRough))
	}
	price := cellPrice(upper)
	most = max(min(most, int(mostRough/price)), leastRough)
	t := newTerm(upper, lower, n, most, p.in)
	p.atoms += atomWork * float64(len(upper.Atoms()))
	if !t.discrete {
		p.setup += roughWork * price * float64(most)
	}
	p.terms = append(p.terms, t)
	p.releases += n
}

// ask asks every direction; the larger curve counts.
func ask(c loss.Composition, q *question, w interval.Wanted) (loss.Bounds, string) {
	return w.InTime(func() (loss.Bounds, string) { return askAll(c, q, w) })
}

func askAll(c loss.Composition, q *question, w interval.Wanted) (b loss.Bounds, reason string) {
	b = loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	for _, d := range c.Directions() {
		p, reason := newProblem(c, d, w.In)
		if reason != "" {
			return loss.Bounds{}, reason
		}
		one, _ := p.solve(q, b.Lower, w.Stop)
		b.Lower, b.Upper = math.Max(b.Lower, one.Lower), math.Max(b.Upper, one.Upper)
	}
	return b, ""
}

// EpsilonGap and LogGap are the widths aimed at where none is asked for: of ε in nats, and of
// ln δ.
const EpsilonGap, LogGap = 1e-4, 1e-2

func wantedOr(w interval.Wanted, usual float64) float64 {
	if w.Gap > 0 {
		return w.Gap
	}
	if w.Half {
		return usual / 2
	}
	return usual
}

// LogDelta encloses ln δ at ε ≥ 0, as closely as wanted if the bounds on work allow and w
// does not end it before; the interval is sound however wide.
func LogDelta(c loss.Composition, epsilon float64, w interval.Wanted) (loss.Bounds, string) {
	return ask(c, &question{epsilon: epsilon, gap: wantedOr(w, LogGap), closely: w.Closely}, w)
}

// Epsilon encloses ε at δ in (0, 1) in the same way: +Inf where δ is below δ_∞.
func Epsilon(c loss.Composition, delta float64, w interval.Wanted) (loss.Bounds, string) {
	return ask(c, &question{byDelta: true, delta: delta, gap: wantedOr(w, EpsilonGap), closely: w.Closely}, w)
}
