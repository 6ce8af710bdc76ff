// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// fixedSize is a mechanism on a batch drawn without replacement. Let (P, Q) be the mechanism's pair
// under REPLACE_ONE. The curve of one release is at most that of ((1−γ)Q + γP, Q) for ε ≥ 0 and
// that of its mirror for ε < 0, which together are the curve of one pair
// (docs/math/batches.md §1.9.4). Besides there are bounds on K at each order.
type fixedSize struct {
	loss.Loss           // the bound on K: a table, or a pure guarantee
	inner     loss.Loss // under REPLACE_ONE: symmetric, without infinite losses
	rate      float64   // γ in (0, 1), rounded up
}

func (f fixedSize) Facts() loss.Facts {
	facts := f.Loss.Facts()
	facts.Symmetric, facts.BoundOnly, facts.Dominating = true, true, true
	return facts
}

// Last and Corners implement Tabled: they are those of a table.
func (f fixedSize) Last() float64 { return loss.Composition{{Loss: f.Loss, Count: 1}}.Last() }

func (f fixedSize) Corners(s float64) (below, above float64) {
	return loss.Composition{{Loss: f.Loss, Count: 1}}.Corners(s)
}

// Covers: only itself is known to be covered.
func (f fixedSize) Covers(loss.Loss) bool { return false }

// Grouped: nothing is proven of groups.
func (f fixedSize) Grouped(uint64) (loss.Loss, error) { return nil, nil }

func (f fixedSize) Order() [4]float64 {
	o, b := f.inner.Order(), f.Loss.Order()
	return [4]float64{f.rate, o[0], o[1] + o[2] + o[3], b[0] + b[1] + b[2] + b[3]}
}

// Members are what a dataset has whose other records all contribute the same. If that is as much as
// a record can, one of the two neighbours moves the sum by twice as much where it is in the batch,
// and the other not at all; if it is nothing, they move the sum to two sides of it.
func (f fixedSize) Members() (members []loss.Loss) {
	if f.inner.Facts().Dominating {
		return nil
	}
	if l, err := poissonSampled(f.inner, f.rate, mechanism.AddOrRemoveOne); err == nil {
		members = append(members, l)
	}
	if mu, ok := loss.MuOf(f.inner); ok {
		members = append(members, sampledGaussian{mu: mu / 2, rate: f.rate, replace: true})
	}
	return members
}

// NormalMu is that of the mechanism on every record: batches differ as whole datasets do, if at all. A dataset in
// which the record moves as far, where it is in the batch, has that tail.
func (f fixedSize) NormalMu(count uint64) loss.NormalMu {
	mu := loss.NormalMuOf(f.inner, count).TailOnly()
	if f.inner.Facts().Dominating {
		mu.Lower, mu.Tail = 0, 0
	}
	return mu
}

func (f fixedSize) Pair(_ loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	inner, ok := loss.PairOf(f.inner, loss.Remove, side, in)
	rate := loss.Sided(f.rate, side)
	if !ok || !(rate >= 1e-15) {
		return nil
	}
	return newFixedSizePair(poisson.SampledPair(inner, rate, loss.Remove),
		poisson.SampledPair(inner, rate, loss.Add), side)
}

// fixedSizePair has the losses above 0 of the sampled pair, those below 0 of its mirror, and a
// loss of 0 with what is left.
type fixedSizePair struct {
	above, below loss.Pair
	none         loss.Mass // at 0
}

// newFixedSizePair finds what is left, 1 − P(L > 0) − Q(L > 0) of the pair above: there P and Q
// have the same mass. An error of it is rounded to the side.
func newFixedSizePair(above, below loss.Pair, side loss.Side) loss.Pair {
	var cell [1]loss.Mass
	off := above.Cells([]float64{0, math.Inf(1)}, cell[:])
	var sum, slack num.Sum
	for _, m := range append(cell[:], positive(above.Atoms())...) {
		p, q := math.Exp(m.LogP), math.Exp(m.LogP-m.Loss)
		sum.Add(p)
		sum.Add(q)
		slack.Add((p + q) * (m.LogErr + m.LossErr + num.Ulp*(8+2*math.Abs(m.LogP)+2*math.Abs(m.Loss))))
	}
	left, err := 1-sum.Value(), slack.Value()+8*num.Ulp
	if side == loss.Dominating {
		left += err
	} else {
		left -= err
	}
	pair := fixedSizePair{above: above, below: below, none: loss.Nothing()}
	if left > 0 {
		pair.none = loss.Mass{LogP: num.Log(math.Min(1, left)), LossErr: off, LogErr: 4 * num.Ulp}
	}
	return pair
}

// positive are the atoms with a loss above 0.
func positive(atoms []loss.Mass) []loss.Mass {
	return slices.DeleteFunc(slices.Clone(atoms), func(m loss.Mass) bool { return !(m.Loss > 0) })
}

func (p fixedSizePair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	lo, _ = p.below.Ends(logBelow, logAbove)
	_, hi = p.above.Ends(logBelow, logAbove)
	return math.Min(lo, 0), math.Max(hi, 0)
}

// Cells asks each pair for the cells on its side. The one around 0 is the union of two.
func (p fixedSizePair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	at, _ := slices.BinarySearch(edges, 0) // the first edge ≥ 0
	for i := range cells {
		cells[i] = loss.Nothing()
	}
	if at > 0 {
		part := make([]loss.Mass, at)
		under := append(slices.Clone(edges[:at]), 0)
		if at == len(edges) { // all of them are below 0
			part, under = part[:at-1], under[:at]
		}
		slack = p.below.Cells(under, part)
		copy(cells, part)
	}
	if at < len(edges) {
		over := edges[at:]
		first := at
		if over[0] > 0 && at > 0 {
			over, first = append([]float64{0}, over...), at-1
		}
		part := make([]loss.Mass, len(over)-1)
		if len(part) > 0 {
			slack = math.Max(slack, p.above.Cells(over, part))
		}
		for i, m := range part {
			cells[first+i] = loss.Union(cells[first+i], m)
		}
	}
	return slack
}

func (p fixedSizePair) Atoms() []loss.Mass {
	var atoms []loss.Mass
	for _, m := range p.below.Atoms() {
		if m.Loss < 0 {
			atoms = append(atoms, m)
		}
	}
	if !math.IsInf(p.none.LogP, -1) {
		atoms = append(atoms, p.none)
	}
	return append(atoms, positive(p.above.Atoms())...)
}

func (p fixedSizePair) Infinite() float64 { return p.above.Infinite() }
func (p fixedSizePair) Null() float64     { return p.below.Null() }

// Anchor is where most of P is.
func (p fixedSizePair) Anchor() float64 { return 0 }
