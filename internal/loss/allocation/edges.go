// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// What follows only steers: any edges give bounds. They serve best where the law's normal
// scale, u with Φ(u) = P(s ≤ outcome), grows by as much from each to the next; far out, where
// the largest of all terms decides, outcomes grow there as e^{μu}.

// knotsOf is how many outcomes each of two laws is reduced to, to see where their sum lies, and
// knotWidth how far apart on the normal scale the points of its curve are.
const knotsOf, knotWidth = 150, 0.3

// Widths of cells: on the logarithmic scale up to the mean of the whole sum and beyond it, where the law falls off
// slowly, and on the scale of a normal quantile.
const logWidth, topWidth, normalWidth = 0.0175, 0.028, 0.0116

// mostCells bounds the cells of a law.
const mostCells = 4000

// tailPart is what part of all that may be left out each sum may leave out at either end. What is beyond farPart times
// as much shows little: cells are farWidth times as wide there.
const tailPart, farPart, farWidth = 0x1p-13, 0x1p10, 8

// margin is by what factor, less 1, the outer edges are beyond the outermost outcomes, so that
// no rounding puts an outcome outside.
const margin = 1e-9

// grid has the edges of cells, rising, and about their places on the normal scale.
type grid struct{ edges, scale []float64 }

// gridOf is where the sum of two independent numbers is cut into cells (docs/math/allocation.md
// §1.11.2). An end where the largest or the least sum has more than next to nothing is an edge: no
// sum is beyond it, but of outcomes at 0.
func gridOf(x, y Bounds, in *num.Interrupt) grid {
	in.Spend(knotsOf * knotsOf * 20)
	a, b := x.below, y.below
	coarseA, coarseB := a.reduced(knotsOf), b.reduced(knotsOf)
	all := sumOf(coarseA, coarseB)
	s, near := all.trimmed(x.lost*tailPart), all.trimmed(x.lost*farPart)
	nearLow, nearHigh := math.Log(near.at[0]), math.Log(near.at[len(near.at)-1])
	lowA, highA := x.ends()
	lowB, highB := y.ends()
	u, v := s.curve()
	var g grid
	put := func(at, scale float64) {
		if k := len(g.edges); k == 0 || at > g.edges[k-1]*(1+1e-12) {
			g.edges, g.scale = append(g.edges, at), append(g.scale, scale)
		}
	}
	if s.at[0] == all.at[0] {
		put((lowA+lowB)*(1-margin), u[0])
	}
	wanted := 0.0
	cells := func(i int) float64 {
		normal, log := u[i+1]-u[i], v[i+1]-v[i]
		switch {
		case v[i+1] <= x.logFloor:
			return log / floorWidth
		case v[i+1] < nearLow || v[i] > nearHigh:
			return cellsIn(normal, log, logWidth) / farWidth
		case v[i] <= x.logMean:
			return cellsIn(normal, log, logWidth)
		}
		return cellsIn(normal, log, topWidth)
	}
	for i := range len(u) - 1 {
		wanted += cells(i)
	}
	wider := math.Max(x.width, wanted/mostCells)
	for i := range len(u) - 1 {
		n := math.Ceil(cells(i) / wider)
		for j := range int(n) {
			part := float64(j) / n
			put(math.Exp(v[i]+(v[i+1]-v[i])*part), u[i]+(u[i+1]-u[i])*part)
		}
	}
	last, most := s.at[len(s.at)-1], (highA+highB)*(1+margin)
	end := u[len(u)-1]
	put(last*(1+margin), end)
	if last == all.at[len(all.at)-1] {
		put(most, end)
	}
	// The last of the gathered outcomes stands for some that are larger.
	put(math.Min(most, last*math.Max(coarseA.lastStep(), coarseB.lastStep())), end)
	return g
}

// lastStep is by what factor the largest outcome is above the one before it.
func (l law) lastStep() float64 {
	if n := len(l.at); n > 1 && l.at[n-2] > 0 {
		return l.at[n-1] / l.at[n-2]
	}
	return 1
}

// ends are the least outcome above 0 and the largest one of both laws.
func (b Bounds) ends() (low, high float64) {
	low = math.Inf(1)
	for _, l := range []law{b.below, b.above} {
		for i, s := range l.at {
			if s > 0 && l.mass[i] > 0 {
				low, high = math.Min(low, s), math.Max(high, s)
			}
		}
	}
	return low, high
}

// cellsIn is how many cells a stretch of this length on the two scales should have, with this width on the second one.
func cellsIn(normal, log, width float64) float64 { return math.Max(normal/normalWidth, log/width) }

// scale returns each outcome's place on the normal scale.
func (l law) scale() []float64 {
	u := make([]float64, len(l.at))
	var total, below, above float64
	for _, w := range l.mass {
		total += w
	}
	for i, w := range l.mass {
		if half := (below + w/2) / total; half <= 0.5 {
			u[i] = -normalQuantile(half)
		}
		below += w
	}
	for i := len(l.mass) - 1; i >= 0; i-- {
		w := l.mass[i]
		if half := (above + w/2) / total; half < 0.5 {
			u[i] = normalQuantile(half)
		}
		above += w
	}
	return u
}

// normalQuantile is x ≥ 0 with P(N(0,1) > x) = p, p ≤ ½, within 5e-4 (Abramowitz and Stegun
// 1964, 26.2.23).
func normalQuantile(p float64) float64 {
	t := math.Sqrt(-2 * math.Log(math.Max(p, 1e-300)))
	x := t - (2.515517+t*(0.802853+t*0.010328))/(1+t*(1.432788+t*(0.189269+t*0.001308)))
	return math.Max(0, x)
}

// reduced gathers a law to about n outcomes.
func (l law) reduced(n int) law {
	if len(l.at) <= n {
		return l
	}
	u := l.scale()
	width := (u[len(u)-1] - u[0]) / float64(n)
	var out law
	for i := 0; i < len(u); {
		var mass, moment float64
		for start := u[i]; i < len(u) && u[i] <= start+width; i++ {
			mass += l.mass[i]
			moment += l.mass[i] * l.at[i]
		}
		if mass > 0 {
			out.at, out.mass = append(out.at, moment/mass), append(out.mass, mass)
		}
	}
	return out
}

// sumPlaces is how many outcomes a sum is gathered to at most, by its first bits.
const sumPlaces = 1 << 13

// sumOf has every sum of two outcomes, those that are next to each other together.
func sumOf(a, b law) law {
	var least, most uint64 = math.MaxUint64, 0
	for i, x := range a.at {
		for j, y := range b.at {
			if x+y > 0 && a.mass[i]*b.mass[j] > 0 {
				least, most = min(least, math.Float64bits(x+y)), max(most, math.Float64bits(x+y))
			}
		}
	}
	var shift uint
	for most>>shift-least>>shift >= sumPlaces {
		shift++
	}
	all := make(sums, most>>shift-least>>shift+1)
	for i, x := range a.at {
		for j, y := range b.at {
			if m := a.mass[i] * b.mass[j]; x+y > 0 && m > 0 {
				c := &all[math.Float64bits(x+y)>>shift-least>>shift]
				c.mass += m
				c.moment += m * (x + y)
			}
		}
	}
	var sum law
	for _, c := range all {
		if c.mass > 0 {
			sum.at, sum.mass = append(sum.at, c.moment/c.mass), append(sum.mass, c.mass)
		}
	}
	return sum
}

// trimmed is the law without ends that hold less than tail of Q, or of P = s·Q.
func (l law) trimmed(tail float64) law {
	first, last := 0, len(l.at)-1
	for sum := l.mass[first]; first < last && sum < tail; sum += l.mass[first] {
		first++
	}
	mean := l.mean()
	for sum := l.mass[last] * l.at[last]; first < last && sum < tail*mean; sum += l.mass[last] * l.at[last] {
		last--
	}
	return law{at: l.at[first : last+1], mass: l.mass[first : last+1]}
}

// curve has points of the normal scale and the logarithms of the outcomes there, both rising.
func (l law) curve() (u, y []float64) {
	scale := l.scale()
	last := len(scale) - 1
	put := func(at, log float64) {
		if k := len(u); k == 0 || at > u[k-1] && log > y[k-1] {
			u, y = append(u, at), append(y, log)
		}
	}
	put(scale[0], math.Log(l.at[0]))
	for i := 0; i <= last; {
		var mass, at, log float64
		for start := scale[i]; i <= last && scale[i] <= start+knotWidth; i++ {
			mass += l.mass[i]
			at += l.mass[i] * scale[i]
			log += l.mass[i] * math.Log(l.at[i])
		}
		put(at/mass, log/mass)
	}
	put(scale[last], math.Log(l.at[last]))
	return u, y
}
