// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"sort"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// cells are what the decay bounds of a Pair are made of: the line z cut
// into cells, with bounds on each cell's mass under the tilted density
//
//	g0(z) = φ(z)·p^{1+θ}·q^{−θ}/M(θ)
//
// and on the total variation of g = g0/λ', where λ(z) is the loss, or minus it,
// as an increasing function of z (docs/math/inversion.md §2.3).
type cells struct {
	at   []float64 // boundaries, increasing; one more than there are cells
	loss []float64 // λ there
	off  []float64 // its error
	edge []float64 // upper bounds on g there

	high, variation []float64       // of each cell: mass from above, ∫|g'| from above
	low             []loss.MassCell // and mass from below

	outside float64 // bound on the mass beyond either end
	middle  bool    // λ' is least in the middle, otherwise at the left end

	cuts []cut

	heavy []loss.MassCell // those of low that are worth a pair
}

const (
	maxCells  = 4096
	cellWidth = 0.25
	cellTail  = -26 // ln of the mass left outside
	CellSlop  = 1e-7
)

// newCells cuts the line for a pair tilted by θ with K(θ) = k into cells of about
// width, narrower where the logarithms bend; nil where that
// takes too many cells or too much is lost to rounding.
func newCells(p Pair, theta float64, k loss.Value, width float64) *cells {
	up, _, _ := p.components(theta)
	if !(p.Mu > 0x1p-400 && p.Mu < 0x1p20 && math.Abs(theta) < 0x1p40) || !(k.Err < CellSlop) {
		return nil
	}
	limit := maxCells * width
	target := cellTail + math.Min(0, k.K)
	reach := math.Sqrt(-2 * target)
	right, a, okRight := p.cut(target, reach, limit, []component{up})
	left, b, okLeft := p.cut(target, reach, limit, []component{up.mirror()})
	if !okLeft || !okRight {
		return nil
	}
	c := &cells{middle: p.Kind == ReplacePair, outside: num.Up(math.Exp(a-k.Lower()) + math.Exp(b-k.Lower()))}
	w := newCellWalk(&p, up, k.K)
	w.width = width
	if !c.fill(w, -left, right) {
		return nil
	}
	c.makeCuts()
	// What is summed up is of no more use, and there may be thousands of cells' lists.
	c.at, c.loss, c.off, c.edge, c.high, c.variation = nil, nil, nil, nil, nil, nil
	c.heavy = loss.WorthPairs(c.low)
	return c
}

// cellWalk evaluates g0, g and the derivatives of their logarithms.
type cellWalk struct {
	p    *Pair
	c    component
	k    float64
	logs float64 // of μ

	width float64 // of a cell where nothing bends
}

func newCellWalk(p *Pair, c component, k float64) cellWalk {
	return cellWalk{p: p, c: c, k: k, logs: math.Log(p.Mu)}
}

// cellPoint is what is known at one z.
type cellPoint struct {
	z, loss    float64
	logDensity float64 // ln g0
	logFlux    float64 // ln g
	slope      float64 // (ln g0)'
	fluxSlope  float64 // (ln g)'
	up, down   float64 // w(z), w(−z)
	off        float64 // error of loss
	err        float64 // error of the logarithms
}

func (w *cellWalk) point(z float64) cellPoint {
	mu := w.p.Mu
	l, up, err := w.p.logRatio(z)
	x := cellPoint{z: z, loss: l, up: up}
	var m, down, errM float64
	rate, bend := up, w.p.bend(z, up)
	if w.p.Kind == ReplacePair {
		m, down, errM = w.p.logRatio(-z)
		x.loss -= m
		x.down = down
		rate += down
		bend -= w.p.bend(-z, down)
	}
	x.logDensity = -z*z/2 - logSqrtTwoPi + w.c.up*l + w.c.down*m - w.k
	x.slope = -z + mu*(w.c.up*up-w.c.down*down)
	// λ' = μ·(w(z) + w(−z)), the second only for the replace pair. ln w is within
	// its u's error.
	x.logFlux = x.logDensity - w.logs - math.Log(rate)
	x.fluxSlope = x.slope - mu*bend/rate
	x.off = num.Ulp * (err + errM + 2*math.Abs(x.loss))
	x.err = num.Ulp *
		(32 + z*z + 4*math.Abs(w.k) + (2+math.Abs(w.c.up))*(err+4*math.Abs(l)) +
			(2+math.Abs(w.c.down))*(errM+4*math.Abs(m)) +
			8*mu*(math.Abs(z)+mu))
	return x
}

// turn bounds w(1−w) between two points, at z and at −z.
func turnBetween(a, b float64) float64 {
	if (a-0.5)*(b-0.5) <= 0 {
		return 0.25
	}
	return math.Max(a*(1-a), b*(1-b)) * (1 + 1e-12)
}

func (c *cells) fill(w cellWalk, lo, hi float64) bool {
	mu2 := w.p.Mu * w.p.Mu
	x := w.point(lo)
	c.add(x)
	worst := x.err
	for x.z < hi {
		if len(c.low) == maxCells {
			return false
		}
		// Short where the logarithms bend. The guess of the next point is refined once.
		bend := (math.Abs(w.c.up)+1)*turnBetween(x.up, x.up) + (math.Abs(w.c.down)+1)*turnBetween(x.down, x.down)
		h := cellWidth / math.Sqrt(1+mu2*bend)
		_, up, _ := w.p.logRatio(x.z + h)
		bend = (math.Abs(w.c.up) + 1) * turnBetween(x.up, up)
		if w.p.Kind == ReplacePair {
			_, down, _ := w.p.logRatio(-x.z - h)
			bend += (math.Abs(w.c.down) + 1) * turnBetween(x.down, down)
		}
		h = math.Max(w.width/math.Sqrt(1+mu2*bend), 1e-6)
		next := w.point(x.z + h)
		mid := w.point(x.z + (next.z-x.z)/2)
		worst = math.Max(worst, math.Max(next.err, mid.err))
		c.cell(w, x, mid, next)
		c.add(next)
		x = next
	}
	return worst < CellSlop
}

func (c *cells) add(x cellPoint) {
	c.at = append(c.at, x.z)
	c.loss = append(c.loss, x.loss)
	c.off = append(c.off, x.off)
	c.edge = append(c.edge, math.Exp(x.logFlux)*(1+4*CellSlop))
}

// cell bounds one cell from the second derivatives
//
//	(ln g0)″ = −1 + up·μ²·w(1−w)(z) + down·μ²·w(1−w)(−z)
//
// and (ln g)″, which has up + 1 for up with one w. With two, the logarithm of
// w(z) + w(−z) bends by at most 2μ² and at most twice the sum of both w(1−w)
// over that of both w, times μ².
func (c *cells) cell(w cellWalk, a, mid, b cellPoint) {
	h := b.z - a.z
	mu2 := w.p.Mu * w.p.Mu
	turn, back := mu2*turnBetween(a.up, b.up), 0.0
	if w.p.Kind == ReplacePair {
		back = mu2 * turnBetween(a.down, b.down)
	}
	below := 1 + math.Max(0, -w.c.up)*turn + math.Max(0, -w.c.down)*back // (ln g0)″ ≥ −below
	above := math.Max(0, w.c.up)*turn + math.Max(0, w.c.down)*back       // (ln g0)″ ≤ above
	// With y = z − mid, ∫e^{by − By²/2} ≥ h·e^{−Bh²/24} by Jensen.
	density := math.Exp(mid.logDensity)
	m := loss.MassCell{Mass: h * density * math.Exp(-below*h*h/24) * (1 - 4*CellSlop),
		Left: a.loss - a.off, Right: b.loss + b.off}
	m.Least, m.Most = w.mean(a, mid, b, turn+back)
	c.low = append(c.low, m)
	x := mid.slope * h / 2
	grow := 1.0
	if math.Abs(x) > 1e-4 {
		grow = math.Sinh(x) / x
	}
	c.high = append(c.high, h*density*grow*math.Exp(above*h*h/8)*(1+4*CellSlop))

	bend := 1 + math.Abs(w.c.up+1)*turn
	if w.p.Kind == ReplacePair || w.p.Mixture != nil {
		ratio := (turn + back) / (a.up + b.down) // w(z) increases, w(−z) decreases
		bend = 1 + math.Abs(w.c.up)*turn + math.Abs(w.c.down)*back + 2*math.Min(mu2, ratio)
	}
	steepest := math.Abs(mid.fluxSlope) + bend*h/2
	if math.Abs(mid.fluxSlope) > bend*h/2*(1+1e-6)+CellSlop { // monotone
		c.variation = append(c.variation, (math.Abs(math.Exp(a.logFlux)-math.Exp(b.logFlux)))+
			4*CellSlop*(math.Exp(a.logFlux)+math.Exp(b.logFlux)))
		return
	}
	c.variation = append(c.variation, h*steepest*math.Exp(mid.logFlux+steepest*h/2)*(1+4*CellSlop))
}

// mean bounds E[λ | cell]. Where |(ln g0)'| ≤ β, the mean of y = z − mid is within
// βh²/12 of 0, as under the density e^{βy}; λ is within turn·y²/2 of its tangent,
// y² ≤ h²/4.
func (w cellWalk) mean(a, mid, b cellPoint, turn float64) (least, most float64) {
	h := b.z - a.z
	steepest := math.Abs(mid.slope) + (1+(1+math.Abs(w.c.up)+math.Abs(w.c.down))*turn)*h/2
	off := w.p.Mu*(mid.up+mid.down)*math.Min(h/2, steepest*h*h/12)*(1+1e-9) + turn*h*h/8 + mid.off
	return math.Max(a.loss-a.off, mid.loss-off), math.Min(b.loss+b.off, mid.loss+off)
}

// cut takes the line apart: I = [z, right end), or I = both sides of [−z, z], where
// λ' is not small, and the rest: cells from … to−1.
type cut struct {
	from, to  int
	mass      float64 // of the rest, from above
	variation float64 // Σ g(ends of I) + TV_I(g), from above: |∫_I g0·e^{itλ}| ≤ variation/t
}

// smooth is (b) and (c): integrating by parts over I and paying the mass elsewhere,
//
//	|φ(t)| ≤ P(z ∉ I) + [Σ g(ends of I) + TV_I(g)]/t,
//
// the least over all cuts.
func (c *cells) smooth(t float64) float64 {
	best := math.Inf(1)
	for i := range c.cuts {
		best = math.Min(best, c.cuts[i].mass+c.cuts[i].variation/t)
	}
	return loss.LogModulus(math.Log((c.outside+best)*(1+1e-9)) + 1e-9) // 1e-9: sums of 4,096 terms
}

// makeCuts cuts at every boundary.
func (c *cells) makeCuts() {
	n := len(c.low)
	after := make([]float64, n+1)
	for i := n - 1; i >= 0; i-- {
		after[i] = after[i+1] + c.variation[i]
	}
	if !c.middle {
		mass := 0.0
		for i := range n + 1 {
			c.cuts = append(c.cuts, cut{0, i, mass, c.edge[n] + c.edge[i] + after[i]})
			if i < n {
				mass += c.high[i]
			}
		}
		return
	}
	// From the cell that holds 0 to both sides alike.
	i := sort.SearchFloat64s(c.at, 0)
	left, mass := (after[0]-after[i])*(1+1e-9), 0.0
	for j := i; i >= 0 && j <= n; {
		c.cuts = append(c.cuts, cut{i, j, mass, c.edge[0] + left + c.edge[i] + c.edge[j] + after[j] + c.edge[n]})
		if i--; i >= 0 && j < n {
			left -= c.variation[i]
			mass += c.high[i] + c.high[j]
		}
		j++
	}
}
