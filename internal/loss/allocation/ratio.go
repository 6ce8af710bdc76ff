// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// mostLog bounds the logarithms of ratios: they and their sums are to be numbers of binary64 that
// keep their relative accuracy.
const mostLog = 600

// Sum bounds the law of the sum of so many independent likelihood ratios X = P/Q under Q, steps ≥ 1, from a pair that
// dominates the mechanism and one that it dominates, both with the record in P, and the pair from above with
// P and Q exchanged. It fails if the ratios are too large or too small to be added up. width is
// that of cells, 1 or more: bounds are as wide as its square, and take as much less time. Outcomes of the sum are
// computed as far out as lost, of which they leave out less at either end.
func Sum(above, exchanged, below loss.Pair, steps uint64, width, lost float64, in *num.Interrupt) (b Bounds, ok bool) {
	tail := lost * tailPart
	logTail := math.Log(tail)
	low, high := above.Ends(logTail, logTail)
	_, top := exchanged.Ends(logTail, logTail) // what Q has of the least losses
	low, high = math.Min(low, -top)-margin, high+margin
	if !(-mostLog < low && low < high && high < mostLog) {
		return Bounds{}, false
	}
	in.Spend(coarseCells * ratioWork)
	coarse := ratio(below, stretch(nil, low, high, coarseCells), -1).gathered()
	b = Bounds{width: width, lost: lost, logFloor: coarse.logFloor(steps, logTail), logMean: math.Log(num.Count(steps))}
	var logEdges []float64
	all := high - low // over which the normal scale is taken to be even
	normalRange := 2 * normalQuantile(tail)
	for _, part := range [...]struct{ upTo, cells float64 }{
		{b.logFloor, 1 / floorWidth},
		{b.logMean, cellsIn(normalRange/all, 1, logWidth)},
		{high, cellsIn(normalRange/all, 1, topWidth)},
	} {
		if to := math.Min(part.upTo, high); low < to {
			logEdges = stretch(logEdges, low, to, math.Ceil(math.Min((to-low)*part.cells, mostCells)/width))
			low = to
		}
	}
	in.Spend(len(logEdges) * ratioWork)
	b.below, b.above = ratio(below, logEdges, -1).gathered(), ratio(above, logEdges, 1).spread()
	return b.times(steps, in), true
}

// stretch appends the ends of n parts from low to high to edges, which may end with low.
func stretch(edges []float64, low, high, n float64) []float64 {
	for i := range int(n) + 1 {
		if i > 0 || len(edges) == 0 {
			edges = append(edges, low+(high-low)*float64(i)/n)
		}
	}
	return edges
}

// coarseCells is how many cells a law has that only tells where the sum lies.
const coarseCells = 400

// Below the floor, which is this part of the least sum that is of interest, over the square root of the steps, cells
// are floorWidth wide on the logarithmic scale: what is so small moves no sum by much.
const floorPart, floorWidth = 1e-3, 1

// logFloor is the logarithm of the floor: the least sum of so many is where Chernoff's bound is e^logTail.
func (l law) logFloor(steps uint64, logTail float64) float64 {
	t := float64(steps)
	low, high := math.Log(1e-300), math.Log(1e300) // of the tilt
	least := 0.0
	for range 60 {
		tilt := math.Exp((low + high) / 2)
		var sum, moment float64
		for i, s := range l.at {
			m := l.mass[i] * math.Exp(-tilt*s)
			sum += m
			moment += m * s
		}
		if least = t * moment / sum; t*math.Log(sum)+tilt*least > logTail { // its probability is more
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	return math.Log(least * floorPart / math.Sqrt(t))
}

// ratioWork is about what it takes to compute the masses of a cell, in nanoseconds.
const ratioWork = 500

// ratio has the likelihood ratios of a pair in cells, with masses that are rounded up for a sign
// of 1 and down for −1. Atoms go into the cells as well.
func ratio(pair loss.Pair, logEdges []float64, sign float64) cells {
	n := len(logEdges)
	bounds := append(append([]float64{math.Inf(-1)}, logEdges...), math.Inf(1))
	masses := make([]loss.Mass, n+1)
	slack := pair.Cells(bounds, masses)
	for _, a := range pair.Atoms() {
		k := 0
		for k < n && logEdges[k] < a.Loss {
			k++
		}
		masses[k] = loss.Union(masses[k], a)
	}
	c := cells{mass: make([]float64, n+1), moment: make([]float64, n+1), lost: num.Up(pair.Infinite())}
	for _, e := range logEdges {
		c.edges = append(c.edges, math.Exp(e))
	}
	for k, m := range masses {
		if math.IsInf(m.LogP, -1) {
			continue
		}
		err := 1 + sign*(m.LogErr+m.LossErr+num.Ulp*(8+2*math.Abs(m.LogP)+2*math.Abs(m.Loss)))
		c.moment[k], c.mass[k] = math.Exp(m.LogP)*err, math.Exp(m.LogP-m.Loss)*err
		c.momentErr = math.Max(c.momentErr, m.LossErr+num.Ulp*(4+2*math.Abs(m.Loss)))
	}
	c.mass[0] += pair.Null() // X = 0
	c.atErr = slack + num.Ulp*(4+2*math.Max(math.Abs(logEdges[0]), math.Abs(logEdges[n-1])))
	c.momentErr = num.Up(1.001 * c.momentErr)
	return c
}
