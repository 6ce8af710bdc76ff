// SPDX-License-Identifier: Apache-2.0

package compound

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/num"
)

// The pair of a release on disjoint parts has as its curve the pointwise maximum of the
// parts' curves, which is convex in e^ε as they are (docs/math/parallel.md §1.5.4). It is largestPair,
// or if all parts have finitely many outcomes a list of outcomes (largestOf).

// Pair is the pair of the largest curve. From above every part needs a pair; from below
// those without one are left out, and of a class of mechanisms only what some member
// attains counts.
func (p parallel) Pair(d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	var parts []loss.Pair
	atomic := true
	for _, c := range p.each() {
		pair := single(c, d, side, in)
		if pair == nil {
			if side == loss.Dominating {
				return nil
			}
			continue
		}
		_, atoms := pair.(loss.AtomicPair)
		parts, atomic = append(parts, pair), atomic && atoms
	}
	switch {
	case len(parts) == 0:
		return loss.NewAtomicPair([]loss.Mass{{}}, 0, 0)
	case len(parts) == 1:
		return parts[0]
	case atomic:
		return largestOf(parts, side, in)
	}
	return newLargestPair(parts, side, in)
}

// mostListed bounds the outcomes of a part that are listed.
const mostListed = 1 << 11

// single is one pair for all of c; nil if none is known. Gaussians together are a
// Gaussian, bounds on K one guarantee, and of losses with few outcomes all are listed.
func single(c loss.Composition, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	rest, g, declared := c.Declared(in)
	if side == loss.Dominated {
		c = rest.Attained()
		if len(c) == 0 {
			return nil
		}
	} else if declared {
		if len(rest) > 0 {
			return nil
		}
		return g.Pair()
	}
	if len(c) == 1 && c[0].Count == 1 {
		pair, _ := loss.PairOf(c[0].Loss, d, side, in)
		return pair
	}
	var squares num.Sum
	for _, t := range c {
		mu, _ := loss.MuOf(t.Loss)
		if mu == 0 {
			return listed(c, d, side, in)
		}
		squares.Add(num.Count(t.Count) * mu * mu)
	}
	mu := math.Sqrt(squares.Value())
	if side == loss.Dominated {
		return pairs.GaussianPair(mu * (1 - 32*num.Ulp))
	}
	return pairs.GaussianPair(mu * (1 + 16*num.Ulp))
}

// listed lists the outcomes of all of c; nil if they are too many.
func listed(c loss.Composition, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	all := []loss.Mass{{}}
	var left, leftQ num.Sum // ln of what is left of P and of Q without ∞
	for _, t := range c {
		pair, ok := loss.PairOf(t.Loss, d, side, in)
		one, atomic := pair.(loss.AtomicPair)
		if !ok || !atomic || t.Count > mostListed {
			return nil
		}
		for range t.Count {
			if len(all)*len(one.Atoms()) > 4*mostListed {
				return nil
			}
			in.Spend(productWork * len(all) * len(one.Atoms()))
			if all = products(all, one.Atoms()); len(all) > mostListed {
				return nil
			}
			left.Add(math.Log1p(-one.Infinite()))
			leftQ.Add(math.Log1p(-one.Null()))
		}
	}
	return loss.NewAtomicPair(all, -math.Expm1(left.Value()), -math.Expm1(leftQ.Value()))
}

// productWork is about what it takes to find one outcome of two releases, in nanoseconds.
const productWork = 150

// products are the outcomes of two releases by increasing loss, equal losses as one.
func products(a, b []loss.Mass) []loss.Mass {
	var all []loss.Mass
	for _, x := range a {
		for _, y := range b {
			m := loss.Mass{LogP: x.LogP + y.LogP, Loss: x.Loss + y.Loss, LogErr: x.LogErr + y.LogErr,
				LossErr: x.LossErr + y.LossErr}
			m.LogErr += num.Ulp * math.Abs(m.LogP)
			m.LossErr += num.Ulp * math.Abs(m.Loss)
			all = append(all, m)
		}
	}
	slices.SortFunc(all, byLoss)
	merged := all[:1]
	for _, m := range all[1:] {
		last := &merged[len(merged)-1]
		apart := m.Loss - last.Loss
		if apart > m.LossErr+last.LossErr {
			merged = append(merged, m)
			continue
		}
		last.LogErr = math.Max(last.LogErr, m.LogErr) + 4*num.Ulp*math.Max(math.Abs(last.LogP), math.Abs(m.LogP))
		last.LogP, last.LossErr = num.LogAddExp(last.LogP, m.LogP), math.Max(last.LossErr, m.LossErr+apart)
	}
	return merged
}

// largestOf is the pair of the largest curve of pairs with atoms only. Its outcomes are the
// sides of the hull of all parts' tests.
func largestOf(parts []loss.Pair, side loss.Side, in *num.Interrupt) loss.Pair {
	h := newTestHull(parts, side, in)
	for i, p := range parts {
		atoms := slices.Clone(p.Atoms())
		if side == loss.Dominating {
			for j := range atoms {
				atoms[j].Loss, atoms[j].LossErr = atoms[j].Loss+atoms[j].LossErr, 0
			}
		}
		h.add(i, atoms)
	}
	var out []loss.Mass
	if side == loss.Dominating {
		out = h.dominating(func(sides []loss.Mass) (masses []loss.Mass, knots []float64) {
			for _, m := range sides {
				knots = append(knots, m.Loss)
			}
			return sides, knots
		})
	} else {
		out = h.masses()
		slices.Reverse(out)
	}
	return loss.NewAtomicPair(out, h.infinite, h.null)
}

// largestPair has as its curve the largest of its parts' curves.
type largestPair struct {
	lines []loss.Pair
	side  loss.Side
	testHull
	anchor float64
}

func newLargestPair(parts []loss.Pair, side loss.Side, in *num.Interrupt) loss.Pair {
	p := largestPair{lines: parts, side: side, testHull: newTestHull(parts, side, in)}
	edges, most := []float64{math.Inf(-1), 0, math.Inf(1)}, math.Inf(-1)
	for _, part := range parts { // the part with the largest δ(0) holds most of P there
		_, sets := setsOf(part, edges)
		above := sets[1]
		if v := math.Exp(above.LogP)*-math.Expm1(-above.Loss) + part.Infinite(); v > most {
			most, p.anchor = v, part.Anchor()
		}
	}
	return p
}

func (p largestPair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, part := range p.lines {
		a, b := part.Ends(logBelow, logAbove)
		lo, hi = math.Min(lo, a), math.Max(hi, b)
	}
	return lo, hi
}

func (largestPair) Atoms() []loss.Mass  { return nil }
func (p largestPair) Infinite() float64 { return p.infinite }
func (p largestPair) Null() float64     { return p.null }
func (p largestPair) Anchor() float64   { return p.anchor }

// PartCount: a cell costs what all parts' cells cost, and as much again for the hull.
func (p largestPair) PartCount() int {
	n := 0
	for _, part := range p.lines {
		n += hullParts + loss.PartsOf(part)
	}
	return n
}

const hullParts = 12

// Joint: from above a cell has what the chords between all edges leave in it.
func (largestPair) Joint() {}

// Cells takes every part's outcomes cell by cell, atoms too, and the hull of the tests
// "the loss is above this edge". From above the chord between the largest curve's points
// at the edges is above that curve, and what lies at the edges is all that the chord needs;
// from below every test is one that some part allows.
func (p largestPair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	// A test needs all that lies above its edge.
	whole := edges
	if !math.IsInf(whole[0], -1) {
		whole = append([]float64{math.Inf(-1)}, whole...)
	}
	first := len(whole) - len(edges)
	if n := len(whole); !math.IsInf(whole[n-1], 1) {
		whole = append(whole[:n:n], math.Inf(1))
	}
	all := cells
	if len(whole) > len(edges) {
		all = make([]loss.Mass, len(whole)-1)
	}
	slack = p.cells(whole, all)
	copy(cells, all[first:])
	return slack
}

// cells is Cells for edges from −∞ to ∞.
func (p largestPair) cells(edges []float64, cells []loss.Mass) (slack float64) {
	h := p.testHull // of no outcomes yet
	for i, part := range p.lines {
		off, sets := setsOf(part, edges)
		slack = math.Max(slack, off)
		if p.side == loss.Dominating {
			for c := range sets { // in the cell, and up by what it may be off
				s := &sets[c]
				s.Loss, s.LossErr = math.Min(edges[c+1], math.Max(edges[c], s.Loss+s.LossErr+off)), 0
			}
		}
		h.add(i, sets)
	}
	into := func(sides []loss.Mass) ([]loss.Mass, []float64) {
		for i := range cells {
			cells[i] = loss.Nothing()
		}
		at := 0
		for _, m := range sides {
			for at+2 < len(edges) && m.Loss > edges[at+1] {
				at++
			}
			cells[at] = loss.Union(cells[at], m)
		}
		return cells, edges
	}
	if p.side == loss.Dominating {
		h.dominating(into)
		return slack
	}
	sides := h.masses()
	slices.Reverse(sides)
	into(sides)
	return slack
}

// setsOf are a pair's outcomes in the cells between edges, atoms among them.
func setsOf(p loss.Pair, edges []float64) (slack float64, sets []loss.Mass) {
	sets = make([]loss.Mass, len(edges)-1)
	slack = p.Cells(edges, sets)
	for _, a := range p.Atoms() {
		i, _ := slices.BinarySearch(edges, a.Loss)
		i = min(max(i-1, 0), len(sets)-1)
		sets[i] = loss.Union(sets[i], a)
		slack = math.Max(slack, a.LossErr)
	}
	return slack, sets
}

// Outcomes lists all outcomes of c from one side, if there is a partition in it and they
// are few and the same in both directions, and the probability of an infinite loss.
func Outcomes(c loss.Composition, side loss.Side, in *num.Interrupt) (outcomes []loss.Mass, infinite float64, ok bool) {
	if !parted(c, anyParallel) || !c.Symmetric() {
		return nil, 0, false
	}
	p := listed(c, loss.Remove, side, in)
	if p == nil {
		return nil, 0, false
	}
	return p.Atoms(), p.Infinite(), true
}
