package loss

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/num"
)

// The pair of a release on disjoint parts has as its curve the pointwise maximum of the
// parts' curves, which is convex in e^ε as they are (docs/math/parallel.md §1.5.4). It is largestPair,
// or if all parts have finitely many outcomes a list of outcomes (largestOf).

// Pair is the pair of the largest curve. From above every part needs a pair; from below
// those without one are left out, and of a class of mechanisms only what some member
// attains counts.
func (p parallel) Pair(d Direction, side Side) Pair {
	var parts []Pair
	atomic := true
	for _, c := range p.each() {
		pair := c.single(d, side, p.in)
		if pair == nil {
			if side == Dominating {
				return nil
			}
			continue
		}
		_, atoms := pair.(atomicPair)
		parts, atomic = append(parts, pair), atomic && atoms
	}
	switch {
	case len(parts) == 0:
		return atomicPair{atoms: []Mass{{}}}
	case len(parts) == 1:
		return parts[0]
	case atomic:
		return largestOf(parts, side, p.in)
	}
	return newLargestPair(parts, side, p.in)
}

// mostListed bounds the outcomes of a part that are listed.
const mostListed = 1 << 11

// single is one pair for all of c; nil if none is known. Gaussians together are a
// Gaussian, bounds on K one guarantee, and of losses with few outcomes all are listed.
func (c Composition) single(d Direction, side Side, in *num.Interrupt) Pair {
	rest, g, declared := c.Declared(in)
	if side == Dominated {
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
		pair, _ := PairOf(c[0].Loss, d, side)
		return pair
	}
	var squares num.Sum
	for _, t := range c {
		mu, _ := MuOf(t.Loss)
		if mu == 0 {
			return c.listed(d, side, in)
		}
		squares.Add(num.Count(t.Count) * mu * mu)
	}
	mu := math.Sqrt(squares.Value())
	if side == Dominated {
		return GaussianPair(mu * (1 - 32*num.Ulp))
	}
	return GaussianPair(mu * (1 + 16*num.Ulp))
}

// listed lists the outcomes of all of c; nil if they are too many.
func (c Composition) listed(d Direction, side Side, in *num.Interrupt) Pair {
	all := atomicPair{atoms: []Mass{{}}}
	left, leftQ := 0.0, 0.0 // ln of what is left of P and of Q without ∞
	for _, t := range c {
		pair, ok := PairOf(t.Loss, d, side)
		one, atomic := pair.(atomicPair)
		if !ok || !atomic || t.Count > mostListed {
			return nil
		}
		for range t.Count {
			if len(all.atoms)*len(one.atoms) > 4*mostListed {
				return nil
			}
			in.Spend(productWork * len(all.atoms) * len(one.atoms))
			if all.atoms = products(all.atoms, one.atoms); len(all.atoms) > mostListed {
				return nil
			}
			left += math.Log1p(-one.infinite)
			leftQ += math.Log1p(-one.null)
		}
	}
	all.infinite, all.null = -math.Expm1(left), -math.Expm1(leftQ)
	return all
}

// productWork is about what it takes to find one outcome of two releases, in nanoseconds.
const productWork = 150

// products are the outcomes of two releases by increasing loss, equal losses as one.
func products(a, b []Mass) []Mass {
	var all []Mass
	for _, x := range a {
		for _, y := range b {
			m := Mass{LogP: x.LogP + y.LogP, Loss: x.Loss + y.Loss, LogErr: x.LogErr + y.LogErr, LossErr: x.LossErr + y.LossErr}
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
func largestOf(parts []Pair, side Side, in *num.Interrupt) Pair {
	h := newTestHull(parts, side, in)
	for i, p := range parts {
		atoms := slices.Clone(p.Atoms())
		if side == Dominating {
			for j := range atoms {
				atoms[j].Loss, atoms[j].LossErr = atoms[j].Loss+atoms[j].LossErr, 0
			}
		}
		h.add(i, atoms)
	}
	var out []Mass
	if side == Dominating {
		out = h.dominating(func(sides []Mass) (masses []Mass, knots []float64) {
			for _, m := range sides {
				knots = append(knots, m.Loss)
			}
			return sides, knots
		})
	} else {
		out = h.masses()
		slices.Reverse(out)
	}
	return atomicPair{atoms: out, infinite: h.infinite, null: h.null}
}

// largestPair has as its curve the largest of its parts' curves.
type largestPair struct {
	lines []Pair
	side  Side
	testHull
	anchor float64
}

func newLargestPair(parts []Pair, side Side, in *num.Interrupt) Pair {
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

func (largestPair) Atoms() []Mass       { return nil }
func (p largestPair) Infinite() float64 { return p.infinite }
func (p largestPair) Null() float64     { return p.null }
func (p largestPair) Anchor() float64   { return p.anchor }

// parts: a cell costs what all parts' cells cost, and as much again for the hull.
func (p largestPair) parts() int {
	n := 0
	for _, part := range p.lines {
		n += hullParts + PartsOf(part)
	}
	return n
}

const hullParts = 12

// joint: from above a cell has what the chords between all edges leave in it.
func (largestPair) joint() {}

// Cells takes every part's outcomes cell by cell, atoms too, and the hull of the tests
// "the loss is above this edge". From above the chord between the largest curve's points
// at the edges is above that curve, and what lies at the edges is all that the chord needs;
// from below every test is one that some part allows.
func (p largestPair) Cells(edges []float64, cells []Mass) (slack float64) {
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
		all = make([]Mass, len(whole)-1)
	}
	slack = p.cells(whole, all)
	copy(cells, all[first:])
	return slack
}

// cells is Cells for edges from −∞ to ∞.
func (p largestPair) cells(edges []float64, cells []Mass) (slack float64) {
	h := p.testHull // of no outcomes yet
	for i, part := range p.lines {
		off, sets := setsOf(part, edges)
		slack = math.Max(slack, off)
		if p.side == Dominating {
			for c := range sets { // in the cell, and up by what it may be off
				s := &sets[c]
				s.Loss, s.LossErr = math.Min(edges[c+1], math.Max(edges[c], s.Loss+s.LossErr+off)), 0
			}
		}
		h.add(i, sets)
	}
	into := func(sides []Mass) ([]Mass, []float64) {
		for i := range cells {
			cells[i] = nothing()
		}
		at := 0
		for _, m := range sides {
			for at+2 < len(edges) && m.Loss > edges[at+1] {
				at++
			}
			cells[at] = together(cells[at], m)
		}
		return cells, edges
	}
	if p.side == Dominating {
		h.dominating(into)
		return slack
	}
	sides := h.masses()
	slices.Reverse(sides)
	into(sides)
	return slack
}

// setsOf are a pair's outcomes in the cells between edges, atoms among them.
func setsOf(p Pair, edges []float64) (slack float64, sets []Mass) {
	sets = make([]Mass, len(edges)-1)
	slack = p.Cells(edges, sets)
	for _, a := range p.Atoms() {
		i, _ := slices.BinarySearch(edges, a.Loss)
		i = min(max(i-1, 0), len(sets)-1)
		sets[i] = together(sets[i], a)
		slack = math.Max(slack, a.LossErr)
	}
	return slack, sets
}

// Outcomes lists all outcomes of c from one side, if there is a partition in it and they
// are few and the same in both directions, and the probability of an infinite loss.
func (c Composition) Outcomes(side Side, in *num.Interrupt) (outcomes []Mass, infinite float64, ok bool) {
	if !c.parted(anyParallel) || !c.Symmetric() {
		return nil, 0, false
	}
	p, ok := c.listed(Remove, side, in).(atomicPair)
	return p.atoms, p.infinite, ok
}
