// SPDX-License-Identifier: Apache-2.0

package losstest

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
)

// Hockey encloses δ(ε) = Σ (P − e^ε·Q)₊ of a pair from n cells between which ε is an
// edge: on each side of it a cell is all or nothing.
func Hockey(p loss.Pair, epsilon float64, n int) (delta float64) {
	lo, hi := p.Ends(-80, -80)
	edges := []float64{math.Inf(-1)}
	for i := range n + 1 {
		l := lo + (hi-lo)*float64(i)/float64(n)
		if last := edges[len(edges)-1]; last < epsilon && l > epsilon {
			edges = append(edges, epsilon)
		}
		edges = append(edges, l)
	}
	cells := make([]loss.Mass, len(edges))
	p.Cells(append(edges, math.Inf(1)), cells)
	for _, m := range append(cells, p.Atoms()...) {
		if !math.IsInf(m.LogP, -1) {
			delta += math.Max(0, math.Exp(m.LogP)-math.Exp(epsilon+m.LogP-m.Loss))
		}
	}
	return delta + p.Infinite()
}
