// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/compound"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/num"
)

// What the best of several runs costs at least: the privacy curve of one choice of scores, of a run that is known from
// below (docs/math/best-of.md §1.6.9).

// attainedRun is a pair that a run of one mechanism dominates; it has no outcomes where none is known. The curves are
// those that bound the runs, and are used where they are of one mechanism.
func attainedRun(runs loss.Composition, above, below [2]profile, deepest float64, in *num.Interrupt) outcomes {
	if compound.Parted(runs) { // a curve may be of one part here and of another one there
		return outcomes{}
	}
	if runs.Dominating() {
		if runs = runs.Attained().Merged(); len(runs) == 0 || runs.Dominating() {
			return outcomes{}
		}
		above, below = profilesOf(runs, deepest, in)
	}
	if len(above[0]) < 2 || len(above[1]) < 2 || len(below[0]) < 2 || len(below[1]) < 2 {
		return outcomes{}
	}
	var corners [2]profile
	for d := range corners {
		if corners[d] = under(below[d], above[d], above[1-d]); len(corners[d]) == 0 {
			return outcomes{}
		}
	}
	o, ok := outcomesOf(corners, in)
	if !ok || o.atoms != [2]float64{} {
		return outcomes{}
	}
	return o
}

// belowErr is by how much a curve is lowered, far more than what is rounded in the pair that is made of it.
const belowErr = 1e-6

// under has points of which the lower hull in e^ε is below a convex curve, given points below it, and points above it
// in the same direction and the opposite one: between two points the curve is above the lines that come from the
// left and from the right.
func under(below, above, opposite profile) profile {
	at := func(p point) corner {
		return corner{p.epsilon, math.Exp(p.epsilon), num.ExpDown(p.log)}
	}
	same, other := above.chords(), opposite.chords()
	known := func(epsilon float64) corner {
		return corner{epsilon, math.Exp(epsilon), deltaOf(epsilon, same, other)}
	}
	out := make(profile, 0, 2*len(below)+1)
	put := func(alpha, delta float64) {
		next := point{math.Max(0, math.Log(alpha)), num.LogDown(math.Max(0, delta*(1-belowErr)))}
		if n := len(out); n > 0 && next.epsilon <= out[n-1].epsilon {
			out[n-1].log = math.Min(out[n-1].log, next.log)
			return
		}
		out = append(out, next)
	}
	left := known(-opposite[1].epsilon)
	for i, p := range below {
		here := at(p)
		put(here.alpha, here.delta)
		down := falls(left, here) // the curve falls no more steeply from here on
		if !(down > 0) {
			return out[:0]
		}
		if i+1 == len(below) {
			put(here.alpha+here.delta/down*(1+1e-9), 0)
			break
		}
		next, up := at(below[i+1]), 0.0 // and before the next point no less
		if i+2 < len(below) {
			up = math.Max(0, falls(next, known(below[i+2].epsilon)))
		}
		// here.δ − down·(α − here.α) = next.δ + up·(next.α − α)
		if down > up {
			alpha := here.alpha + (here.delta-next.delta-up*(next.alpha-here.alpha))/(down-up)
			if alpha >= here.alpha && alpha < next.alpha { // equal: it falls within what is rounded
				put(alpha, next.delta+up*(next.alpha-alpha))
			}
		}
		left = known(p.epsilon)
	}
	return out
}

// A choice of scores: the outcomes with the smallest losses are the best ones, and then those with the largest.
// Of the first run above a threshold, so many of either are good.
type scores struct{ smallest, largest int }

// Outcomes of a run are chosen among in as many ways as this.
const mostScores = 64

// ordered are the masses of outcomes in the order of the scores, of which the good ones come first.
func (s scores) ordered(masses []float64, out []float64) []float64 {
	out = append(out[:0], masses[:s.smallest]...)
	for i := len(masses) - 1; i >= s.smallest; i-- {
		out = append(out, masses[i])
	}
	return out
}

// parts are the masses on both datasets, with likely outcomes as several equal ones: scores may tell them apart.
func (o outcomes) parts() (p, q []float64) {
	const most = 1. / 128
	for i, a := range o.of {
		b := a * math.Exp(-o.at[i])
		n := math.Ceil(math.Max(a, b) / most)
		for range int(n) {
			p, q = append(p, a/n), append(q, b/n)
		}
	}
	return p, q
}

// attainedBest is the loss of the best of several runs by scores that make it large in one release: the one with the
// largest value of worth, which is given the masses on both datasets. It is nil where no run is known.
func attainedBest(l loss.Chosen, run outcomes, worth func(p, q []float64, most float64) float64,
	in *num.Interrupt) loss.Loss {
	p, q := run.parts()
	n := len(p)
	massErr := 1e-12 * (1 + l.Mean())
	if n < 2 || !(massErr < 1e-3) {
		return nil
	}
	step := 1 + n/mostScores
	var best [2][]float64
	most := 0.0
	for _, turned := range [...]bool{false, true} {
		if turned {
			if l.Runs().Symmetric() {
				break
			}
			p, q = q, p
			slices.Reverse(p)
			slices.Reverse(q)
		}
		var ps, qs []float64
		try := func(s scores) {
			in.Spend(n * scoreWork)
			ps, qs = s.ordered(p, ps), s.ordered(q, qs)
			a, b := l.Published(ps, s.smallest+s.largest), l.Published(qs, s.smallest+s.largest)
			if w := worth(a, b, most); w > most {
				most, best = w, [2][]float64{a, b}
				if turned {
					best = [2][]float64{b, a}
				}
			}
		}
		for i := 0; i < n; i += step {
			if !l.Threshold() {
				try(scores{smallest: i})
				continue
			}
			for j := 0; i+j <= n; j += step {
				try(scores{i, j})
			}
		}
	}
	if most == 0 {
		return nil
	}
	at, of := risingLosses(best[0], best[1])
	if len(at) == 0 {
		return nil
	}
	return declared.Computed("some best of several runs", at, of, 0, 0, massErr, massErr)
}

// scoreWork is about what it takes to try one outcome of a choice of scores, in nanoseconds.
const scoreWork = 100

// risingLosses are the losses of outcomes that both distributions have, rising, and P's masses.
func risingLosses(p, q []float64) (at, of []float64) {
	type outcome struct{ loss, mass float64 }
	var all []outcome
	for i := range p {
		if p[i] > 0 && q[i] > 0 {
			all = append(all, outcome{math.Log(p[i]) - math.Log(q[i]), p[i]})
		}
	}
	slices.SortFunc(all, func(a, b outcome) int {
		switch {
		case a.loss < b.loss:
			return -1
		case a.loss > b.loss:
			return 1
		}
		return 0
	})
	for _, o := range all {
		if n := len(at); n > 0 && o.loss == at[n-1] {
			of[n-1] += o.mass
			continue
		}
		at, of = append(at, o.loss), append(of, o.mass)
	}
	return at, of
}

// hockey is δ(ε) of masses.
func hockey(p, q []float64, epsilon float64) (sum float64) {
	alpha := math.Exp(epsilon)
	for i := range p {
		sum += math.Max(0, p[i]-alpha*q[i])
	}
	return sum
}

// worthDelta has δ(ε) as what scores are worth.
func worthDelta(epsilon float64) func(p, q []float64, most float64) float64 {
	return func(p, q []float64, _ float64) float64 { return hockey(p, q, epsilon) }
}

// worthEpsilon has about the ε at δ as what scores are worth.
func worthEpsilon(delta float64) func(p, q []float64, most float64) float64 {
	return func(p, q []float64, most float64) float64 {
		if hockey(p, q, most) <= delta {
			return 0
		}
		low, high := most, most+1
		for hockey(p, q, high) > delta && high < mostLoss {
			low, high = high, 2*high
		}
		for range 30 {
			if middle := (low + high) / 2; hockey(p, q, middle) > delta {
				low = middle
			} else {
				high = middle
			}
		}
		return low
	}
}

// attainedAmong is c with what is attained in the place of what has no pair: of the best of several runs, by scores
// that are worth much, and of classes of which a member is known. What only bounds on K are known of is left out. It is
// false where nothing was replaced.
func attainedAmong(c loss.Composition, deepest float64, worth func(p, q []float64, most float64) float64,
	in *num.Interrupt) (all loss.Composition, known bool) {
	for _, t := range c {
		if best, is := t.Loss.(loss.Chosen); is {
			if t.Loss = attainedBest(best, bestOf(best, deepest, in).run, worth, in); t.Loss == nil {
				continue
			}
			known = true
		} else if t.Loss.Facts().BoundOnly {
			some := loss.MembersOf(t.Loss)
			if len(some) == 0 {
				continue
			}
			t.Loss, known = some[0], true
		}
		all = append(all, t)
	}
	return all.Merged(), known
}
