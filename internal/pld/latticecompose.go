package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// deepest is the least ln δ the lattice resolves.
const deepest = -745

// newLatticeProblem takes a composition in one direction, or says why it cannot.
// All Gaussians become one with μ² = Σ n_j·μ_j², all that is known
// by bounds on K alone one guarantee: then only what is above the curve holds.
func newLatticeProblem(c loss.Composition, d loss.Direction, in *num.Interrupt) (*latticeProblem, string) {
	low, high := c.AtomOf(d)
	p := &latticeProblem{in: in, distinct: len(c), maxLoss: c.MaxLoss(d), atom: loss.Bounds{Lower: num.LogDown(low), Upper: num.LogUp(high)}}
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
		upper, ok := loss.PairOf(t.Loss, d, loss.Dominating)
		lower, okLow := loss.PairOf(t.Loss, d, loss.Dominated)
		if !ok || !okLow {
			return nil, "a " + f.Name + " has parameters out of the range of the lattice"
		}
		p.add(upper, lower, n)
	}
	if s := squares.Value(); s > 0 {
		mu := math.Sqrt(s)
		upper := loss.GaussianPair(mu * (1 + 16*num.Ulp))
		lower := loss.GaussianPair(mu * (1 - 32*num.Ulp))
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

func (p *latticeProblem) add(upper, lower loss.Pair, n float64) {
	most := mostRough
	if p.distinct > 0 {
		most = min(most, max(allRough/p.distinct, leastRough))
	}
	price := cellPrice(upper)
	most = max(min(most, int(mostRough/price)), leastRough)
	t := newLatticeTerm(upper, lower, n, most, p.in)
	p.atoms += atomWork * float64(len(upper.Atoms()))
	if !t.discrete {
		p.setup += roughWork * price * float64(most)
	}
	p.terms = append(p.terms, t)
	p.releases += n
}

// latticeDirections are those to compose: one where both are the same.
func latticeDirections(c loss.Composition) []loss.Direction {
	if c.Symmetric() {
		return []loss.Direction{loss.Remove}
	}
	return []loss.Direction{loss.Remove, loss.Add}
}

// latticeAnswers asks every direction; the larger curve counts.
func latticeAnswers(c loss.Composition, q *latticeQuestion, w Wanted) (loss.Bounds, string) {
	return w.inTime(everything, func() (loss.Bounds, string) { return latticeAnswersOf(c, q, w) })
}

func latticeAnswersOf(c loss.Composition, q *latticeQuestion, w Wanted) (b loss.Bounds, reason string) {
	b = loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	for _, d := range latticeDirections(c) {
		p, reason := newLatticeProblem(c, d, w.In)
		if reason != "" {
			return loss.Bounds{}, reason
		}
		one, _ := p.solve(q, b.Lower, w.Stop)
		b.Lower, b.Upper = math.Max(b.Lower, one.Lower), math.Max(b.Upper, one.Upper)
	}
	return b, ""
}

// latticeLogDelta encloses ln δ at ε ≥ 0 on the lattice, within gap if its bounds
// on work allow and w does not end it before; the interval
// is sound however wide.
func latticeLogDelta(c loss.Composition, epsilon, gap float64, w Wanted) (loss.Bounds, string) {
	return latticeAnswers(c, &latticeQuestion{epsilon: epsilon, gap: gap}, w)
}

// latticeEpsilon encloses ε at δ in (0, 1) likewise: +Inf where δ is below δ_∞.
func latticeEpsilon(c loss.Composition, delta, gap float64, w Wanted) (loss.Bounds, string) {
	return latticeAnswers(c, &latticeQuestion{byDelta: true, delta: delta, gap: gap}, w)
}
