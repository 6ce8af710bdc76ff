// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// longestTurn nodes at most are reached by turning from the first of them.
const longestTurn = 32

// along fills K(θ + ik·step) − K(θ) for k = 1 … n−1, as complexCumulant does, but with sines and
// cosines by rotation. The runs of nodes double from 1 to longestTurn, so that t at
// most doubles within each. Once stop returns true the rest is unknown.
func (l *sampledLine) along(step float64, out []loss.ComplexValue, stop func() bool) {
	for k, n := 1, 1; k < len(out); k, n = k+n, min(2*n, longestTurn) {
		run := out[k:min(k+n, len(out))]
		if stop() {
			for j := range run {
				run[j] = loss.Unknown()
			}
			continue
		}
		l.run(step, k, run)
	}
}

// run fills K(θ+it) − K(θ) for t = (first + j)·step, t_end < 2·t_first or one node.
func (l *sampledLine) run(step float64, first int, out []loss.ComplexValue) {
	end := float64(first+len(out)-1) * step
	g := l.gridFor(end)
	mass := l.moment
	if !l.large {
		mass = 1 + l.moment
	}
	if g == nil || l.theta > 0 && l.moment < 1e-280 || !(mass > 2*l.err) {
		for j := range out {
			out[j] = loss.Unknown()
		}
		return
	}
	if g.turns == nil {
		g.turns = newTurns(g.nodes, !l.large)
	}
	l.spent += float64(len(g.nodes)) * (4*sineCost + float64(len(out)))
	var re, im [longestTurn]float64
	g.turns.sums(step, first, re[:len(out)], im[:len(out)], !l.large)
	for j := range out {
		t := float64(first+j) * step
		moved := complex(re[j], im[j]+t*g.slope)
		err := g.turns.error(t) + t*g.noise + l.cutError(g.rule, t) + 8*num.Ulp*cmplx.Abs(moved)
		quotient := moved / complex(mass, 0)
		v := loss.FromComplexExcess(quotient, (err+(2*l.err+8*num.Ulp*mass)*cmplx.Abs(quotient))/mass)
		v.Upper = math.Min(0, v.Upper)
		if cmplx.IsNaN(v.K) || !(v.Err >= 0) {
			v = loss.Unknown()
		}
		out[j] = v
	}
}

// turns sum a grid's w·(cos x − 1) and w·(sin x − x), or w·sin x, x = tΛ, over runs
// of t. The nodes are in order of |Λ|.
type turns struct {
	weight, loss []float64
	beyond       []float64 // Σ w·Λ from each node on

	// The errors at t are bounded by squares·t² and by ones + lines·t.
	squares, ones, lines float64

	gr, gi, cr, ci []float64 // scratch
}

func newTurns(nodes []tiltedNode, remainder bool) *turns {
	n := len(nodes)
	order := bySize(nodes)
	r := &turns{weight: make([]float64, n), loss: make([]float64, n), beyond: make([]float64, n+1)}
	scratch := make([]float64, 4*n)
	r.gr, r.gi, r.cr, r.ci = scratch[:n], scratch[n:2*n], scratch[2*n:3*n], scratch[3*n:]
	// The terms have the errors of sums, of their weights and of x, which move
	// them by 3·min(1, |x|)·w; adding up n of them costs n Ulp of their moduli: ½x² and
	// ½x² of sin x − x, or 2 and 1 + |x|, or 1 of sin x.
	count := 5 * num.Ulp * float64(n)
	for i := n - 1; i >= 0; i-- {
		o := &order[i]
		r.weight[i], r.loss[i] = o.weight, o.loss
		r.beyond[i] = r.beyond[i+1] + o.weight*o.loss
		size := math.Abs(o.loss)
		r.squares += o.weight * (size*size*(o.weightErr+num.Ulp*(4096+70)+count) + 3*size*o.lossErr)
		r.ones += o.weight * (3*o.weightErr + num.Ulp*(4096+64) + count)
		r.lines += o.weight * (6*num.Ulp*size + 3*o.lossErr)
		if remainder {
			r.lines += o.weight * size * (o.weightErr + count)
		}
	}
	if !remainder { // sin x is not of the order of x²
		r.squares = math.Inf(1)
	}
	return r
}

// bySize are the nodes in order of |Λ|. Λ is monotone along them: its two signs are
// two runs to be merged.
func bySize(nodes []tiltedNode) []tiltedNode {
	size := func(i int) float64 { return math.Abs(nodes[i].loss) }
	at := 0
	for i := range nodes {
		if size(i) < size(at) {
			at = i
		}
	}
	order := make([]tiltedNode, 0, len(nodes))
	for i, j := at-1, at; len(order) < len(nodes); {
		if j == len(nodes) || i >= 0 && size(i) < size(j) {
			order = append(order, nodes[i])
			i--
		} else {
			order = append(order, nodes[j])
			j++
		}
	}
	return order
}

func (r *turns) error(t float64) float64 {
	return math.Min(r.squares*t*t, r.ones+r.lines*t) * (1 + 1e-9)
}

// sums fills re and im for t = (first + j)·step. Where |x| < ½ throughout it takes
// the series. Elsewhere |x| ≥ ¼, and with y = x/2 at t = step
//
//	G_k = e^{iky} − 1,  G_{k+1} = G_k + G_1 + G_k·G_1,
//
// keeps sin ky and cos ky − 1 relative to min(2, k|y|), each step adding 14 Ulp of
// that at most, 448 Ulp in a run; cos x − 1 = −2·sin² ky is then within 448 Ulp of
// x² and sin x = 2·sin ky·cos ky within 896 Ulp of |x| ≤ 4x², and within 3584 Ulp.
// See docs/math/inversion.md §2.4.
func (r *turns) sums(step float64, first int, re, im []float64, remainder bool) {
	end := float64(first+len(re)-1) * step
	small := 0
	if remainder {
		small, _ = slices.BinarySearchFunc(r.loss, 0.5/end, func(lossAt, top float64) int {
			return cmp.Compare(math.Abs(lossAt), top)
		})
	}
	for i := small; i < len(r.loss); i++ {
		y := step * r.loss[i] / 2
		half := math.Sin(y / 2)
		r.cr[i], r.ci[i] = -2*half*half, math.Sin(y)
		at := float64(first) * y
		half = math.Sin(at / 2)
		r.gr[i], r.gi[i] = -2*half*half, math.Sin(at)
	}
	n := len(r.weight)
	weight, gr, gi, cr, ci := r.weight[:n], r.gr[:n], r.gi[:n], r.cr[:n], r.ci[:n]
	for j := range re {
		t := float64(first+j) * step
		var a, b float64
		for i := small; i < n; i++ {
			x, y, c, s := gr[i], gi[i], cr[i], ci[i]
			double := 2 * weight[i] * y
			a -= double * y
			b += double * (1 + x)
			gr[i] = x + c + (x*c - y*s)
			gi[i] = y + s + (x*s + y*c)
		}
		if remainder {
			b -= t * r.beyond[small]
		}
		for i := range small {
			x := t * r.loss[i]
			square := x * x
			w := weight[i] * square
			a -= w * (1./2 - square*(1./24-square*(1./720-square*(1./40320-square*(1./3628800-square/479001600)))))
			b -= w * x * (1./6 - square*(1./120-square*(1./5040-square*(1./362880-square/39916800))))
		}
		re[j], im[j] = a, b
	}
}
