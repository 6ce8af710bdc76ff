// SPDX-License-Identifier: Apache-2.0

package participation

import (
	"math"
	"math/bits"
	"slices"

	"github.com/dpaccountant/accountant/internal/num"
)

const (
	// mostCounted bounds the participations that are counted one by one.
	mostCounted = 1 << 16
	// mostJoined bounds the work of joining halves of trees: it takes a tenth of a second and 50 MB.
	mostJoined = 1 << 25
)

// trees remembers what Tree returned.
var trees = remembered[Pattern]()

// Tree bounds the sensitivity of the complete nodes of one binary tree over the steps, each the
// sum of its steps: the largest sum over the nodes of the square of the participations in each
// (docs/math/matrices.md §1.8.3). The pattern is not Periodic.
func Tree(p Pattern) Bound {
	if b, ok := trees.Get(p); ok {
		return b
	}
	b := byLevels(p)
	if !b.Exact {
		b = least(b, byHalves(p))
	}
	trees.Add(p, b)
	return b
}

// byLevels adds for each level the largest sum that a pattern can have there. A node over 2^l
// steps holds at most ⌈2^l/separation⌉ participations, and of all with as many together the most
// uneven are the most. One participation has ⌊log2 steps⌋ + 1 nodes (Kairouz et al. 2021, arXiv
// 2103.00039, Thm 4.1).
func byLevels(p Pattern) Bound {
	k := num.Count(p.Most)
	var squares, reached float64
	for level := range bits.Len64(p.Steps) {
		size, nodes := uint64(1)<<level, num.Count(p.Steps>>level)
		most := math.Min(k, num.Count((size-1)/p.Separation+1))
		full := math.Floor(k / most)
		if full >= nodes {
			squares += nodes * most * most
		} else {
			rest := k - full*most
			squares += full*most*most + rest*rest
		}
		if p.Most > mostCounted {
			continue
		}
		// The steps 0, separation, 2·separation, …
		var node, in uint64
		for a := range p.Most {
			if at := (a * p.Separation) >> level; at != node {
				reached += float64(in) * float64(in)
				node, in = at, 0
			}
			if node < p.Steps>>level {
				in++
			}
		}
		reached += float64(in) * float64(in)
	}
	exact := p.Most <= mostCounted && reached >= squares
	if squares < 1<<53 { // whole numbers, so that nothing was rounded
		return Bound{squares, exact}
	}
	return Bound{num.UpBy(squares, 512*num.Ulp*squares), exact}
}

// byHalves finds the largest sum of any pattern, in blocks that are as short as there is time
// for. It is +Inf if even blocks of the separation are too many.
func byHalves(p Pattern) Bound {
	for fold := 0; p.Separation>>fold > 0; fold++ {
		if joins(p.Steps>>fold, p.Most, p.Separation>>fold) <= mostJoined {
			return inBlocks(p, fold)
		}
	}
	return Bound{Squares: math.Inf(1)}
}

// joins is the work of joining all halves: what is on the left, what is on the right, and the steps
// between that nobody takes part in.
func joins(steps, most, apart uint64) (work float64) {
	for level := range bits.Len64(steps) {
		row := num.Count(apart) * num.Count(min(most, uint64(1)<<level/apart+1))
		work += row * row
	}
	return work
}

// inBlocks takes blocks of 2^fold steps, no more than the separation, for steps, and patterns that
// keep their distance in whole blocks: all patterns do, and if the separation is in whole blocks
// no others.
func inBlocks(p Pattern, fold int) Bound {
	blocks, apart := p.Steps>>fold, p.Separation>>fold
	f := forest{int(apart), int(min(p.Most, blocks/apart+1))}
	rest := p.Steps & (1<<fold - 1) // of the last block
	sum := f.largest(blocks, int32(fold+1), int32(bits.Len64(rest)))
	return Bound{float64(sum), p.Separation == apart<<fold}
}

// forest is a way to count participations in steps that lie in trees, one beside the other.
type forest struct{ apart, most int }

// part is some neighbouring steps of a forest: sums[k][lead][trail] is the largest sum over its
// nodes of k participations of which none is in the first lead or the last trail steps. It is
// impossible where there are none. lead and trail are less than the separation; the leftmost
// part has the lead 0 only.
type part struct {
	size uint64
	sums [][][]int32
}

// impossible is far below all sums. Those are at most 3·mostJoined, as each level has at most the
// square of the participations.
const impossible = math.MinInt32 / 4

// largest is the largest sum in that many steps, each of which adds alone so much. A last step
// follows them that is in no other node, unless it adds 0.
func (f forest) largest(steps uint64, each, last int32) (sum int32) {
	tree := f.leaf(each)
	left := leftmost(tree)
	var rest []part // trees beside the first one, the smallest first
	for l := range bits.Len64(steps) - 1 {
		if steps>>l&1 == 1 {
			rest = append(rest, tree)
		}
		left = f.join(left, tree, true)
		if l < bits.Len64(steps)-2 {
			tree = f.join(tree, tree, true)
		}
	}
	for _, tree := range slices.Backward(rest) {
		left = f.join(left, tree, false)
	}
	if last > 0 {
		left = f.join(left, f.leaf(last), false)
	}
	for _, s := range left.sums {
		sum = max(sum, s[0][0])
	}
	return sum
}

func (f forest) leaf(adds int32) part {
	none, one := f.none(f.apart), f.none(f.apart)
	for _, row := range none {
		clear(row)
	}
	one[0][0] = adds
	return part{1, [][][]int32{none, one}}
}

func leftmost(p part) part {
	left := part{size: p.size}
	for _, s := range p.sums {
		left.sums = append(left.sums, s[:1])
	}
	return left
}

// none has no sums for so many leads.
func (f forest) none(leads int) [][]int32 {
	s := make([][]int32, leads)
	for lead := range s {
		s[lead] = make([]int32, f.apart)
		for trail := range s[lead] {
			s[lead][trail] = impossible
		}
	}
	return s
}

// join places two parts beside each other; if both together are a node, it counts too.
func (f forest) join(left, right part, node bool) part {
	size := left.size + right.size
	most := int(min(uint64(f.most), (size-1)/uint64(f.apart)+1))
	both := part{size: size, sums: [][][]int32{left.sums[0]}}
	for k := 1; k <= most; k++ {
		sums := f.none(len(left.sums[0]))
		for in := max(0, k+1-len(right.sums)); in <= min(k, len(left.sums)-1); in++ {
			for lead, row := range sums {
				switch in {
				case k: // all are on the left
					for trail := range row {
						row[trail] = max(row[trail], left.sums[k][lead][less(trail, right.size)])
					}
				case 0:
					larger(row, 0, right.sums[k][less(lead, left.size)])
				default:
					f.across(row, left.sums[in][lead], right.sums[k-in])
				}
			}
		}
		if node {
			for _, row := range sums {
				for trail := range row {
					row[trail] += int32(k) * int32(k)
				}
			}
		}
		both.sums = append(both.sums, sums)
	}
	return both
}

// across adds sums of the left to those of the right that keep the distance.
func (f forest) across(row, left []int32, right [][]int32) {
	for trail, v := range left {
		if v < 0 {
			return
		}
		if trail+1 == len(left) || left[trail+1] < v { // else the next trail is as good
			larger(row, v, right[f.apart-1-trail])
		}
	}
}

// larger makes each of row at least v more than that of other.
func larger(row []int32, v int32, other []int32) {
	for i, w := range other {
		row[i] = max(row[i], v+w)
	}
}

// less is v less size, and at least 0.
func less(v int, size uint64) int {
	if uint64(v) <= size { //nolint:gosec // v is not negative
		return 0
	}
	return v - int(size)
}
