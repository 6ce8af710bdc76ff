package allocation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Outcomes beyond probabilities of about e^logTail are taken together.
const logTail = -97 // 1e-42

// Widths of cells: on the logarithmic scale, and on the scale of a normal quantile.
const logWidth, normalWidth = 0.0175, 0.0116

// mostCells bounds the cells of a law. normalRange is about the length of the part of the normal
// scale that is of interest.
const mostCells, normalRange = 4000, 27

// mostLog bounds the logarithms of ratios: they and their sums are to be numbers of binary64 that
// keep their relative accuracy.
const mostLog = 600

// Of bounds the law of the likelihood ratio X = P/Q under Q, from a pair that dominates the
// mechanism and one that it dominates, both with the record in P, and the pair from above with
// P and Q exchanged. It fails if the ratios are too large or too small to be added up. width is
// that of cells, 1 or more: bounds are as wide as its square, and take as much less time.
func Of(above, exchanged, below loss.Pair, width float64, in *num.Interrupt) (b Bounds, ok bool) {
	low, high := above.Ends(logTail, logTail)
	_, top := exchanged.Ends(logTail, logTail) // what Q has of the least losses
	low, high = math.Min(low, -top)-margin, high+margin
	if !(-mostLog < low && low < high && high < mostLog) {
		return Bounds{}, false
	}
	n := math.Max(1, math.Min(math.Ceil(cellsIn(normalRange, high-low)/width), mostCells))
	in.Spend(int(n) * ratioWork)
	logEdges := make([]float64, int(n)+1)
	for i := range logEdges {
		logEdges[i] = low + (high-low)*float64(i)/n
	}
	return Bounds{
		below: ratio(below, logEdges, -1).gathered(),
		above: ratio(above, logEdges, 1).spread(),
		width: width,
	}, true
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
