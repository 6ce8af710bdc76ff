// SPDX-License-Identifier: Apache-2.0

package closed

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/num"
)

// played reports whether t is several releases with a range of losses, and what the range is.
func played(t loss.Term) (eta float64, ok bool) {
	l, ok := t.Loss.(ranged)
	if !ok || t.Count == 1 {
		return 0, false
	}
	eta = l.Range()
	return eta, eta >= 1e-9 && eta <= mostLog
}

// Played is in how many terms of c there are several releases with a range of losses.
func Played(c loss.Composition) (terms int) {
	for _, t := range c {
		if _, ok := played(t); ok {
			terms++
		}
	}
	return terms
}

// Blocks is c with blocks in the place of releases with a range of losses: a block is k releases with the pair
// whose curve is the profile of their play. It is worse than c, wherever the releases stand among the others, and
// less so the longer its blocks are (docs/math/noise.md §1.4.11.2). It returns false where no blocks can be made
// with that work, in about nanoseconds.
func Blocks(c loss.Composition, work float64, in *num.Interrupt) (blocks loss.Composition, ok bool) {
	terms := float64(Played(c))
	for _, t := range c {
		eta, ok := played(t)
		if !ok {
			blocks = append(blocks, t)
			continue
		}
		size, grid := blockOf(eta, t.Count, work/terms)
		if grid == 0 {
			return nil, false
		}
		step := coarse(eta / float64(grid))
		whole := newPlay(step*float64(grid), int(size), grid, in)
		blocks = append(blocks, loss.Term{Loss: whole.block(), Count: t.Count / size})
		if rest := t.Count % size; rest > 0 {
			part := newPlay(step*float64(grid), int(rest), grid, in)
			blocks = append(blocks, loss.Term{Loss: part.block(), Count: 1})
		}
	}
	return blocks.Merged(), terms > 0
}

// coarse is a step that is rounded up, so that few multiples of it are exact.
func coarse(step float64) float64 {
	fraction, exponent := math.Frexp(step)
	return math.Ldexp(math.Ceil(fraction*(1<<36)), exponent-36)
}

// blockOf is how long the blocks of n releases are, and their grid, 0 where there is none: those with about the
// least loss. A grid adds about 0.6/m² to ε, relatively, and the ends of the blocks 0.2·k^{−0.8}, as was measured.
func blockOf(eta float64, n uint64, work float64) (size uint64, grid int) {
	least := math.Inf(1)
	for k := uint64(2); ; k *= 2 {
		k = min(k, n)
		m := gridFor(eta, k, work)
		if m < leastGrid {
			return size, grid
		}
		adds := 0.6 / float64(m) / float64(m)
		if k < n {
			adds += 0.2 * math.Pow(float64(k), -0.8)
		}
		if adds < least {
			least, size, grid = adds, k, m
		}
		if k == n {
			return size, grid
		}
	}
}

// block is a loss of which the pair has the play's profile as its curve, in both directions.
type block struct{ loss.Loss }

// leastKnown is what the lowest outcome of a block has at least, so that it is known well as what the others leave.
const leastKnown = 1e-5

// block makes the profile from above, straight between points, a list of outcomes: at a point it has what its
// slope changes by there. Masses are rounded up, and what they have too much is taken from the lowest losses:
// below the lowest one that is left the curve is straight from D(0) = 1, and so above every profile.
func (p play) block() loss.Loss {
	narrow, wide, up := -math.Expm1(-p.step), math.Expm1(p.step), 1+p.relative
	losses, masses := make([]float64, len(p.upper)), make([]float64, len(p.upper))
	before, infinite := 1.0, p.upper[len(p.upper)-1]*up
	var total num.Sum
	total.Add(infinite)
	for i, v := range p.upper {
		falls := before - v
		if i > 0 {
			falls /= narrow
		}
		if i+1 < len(p.upper) {
			falls -= (v - p.upper[i+1]) / wide
		}
		losses[i], masses[i] = p.at(i), up*math.Max(0, falls+16*num.Ulp*before/narrow)
		total.Add(masses[i])
		before = v
	}
	low, least := 0, masses[0]-(total.Value()-1)
	for ; least < leastKnown && low+1 < len(masses); low++ {
		least += masses[low+1]
	}
	masses[low] = least
	return block{declared.Computed("block of releases with a range of losses", losses[low:], masses[low:], infinite, 1,
		64*num.Ulp/leastKnown, p.shift+4*num.Ulp*math.Abs(p.at(0)))}
}

func (b block) Facts() loss.Facts {
	f := b.Loss.Facts()
	f.InfinityMass = f.InfinityMasses[loss.Remove]
	f.InfinityMasses[loss.Add] = f.InfinityMass
	f.Symmetric, f.Dominating = true, true
	return f
}

func (b block) Pair(_ loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	return b.Loss.Pair(loss.Remove, side, in)
}

func (b block) MaxLoss(loss.Direction) float64 { return b.Loss.MaxLoss(loss.Remove) }
