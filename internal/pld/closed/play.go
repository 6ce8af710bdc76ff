// SPDX-License-Identifier: Apache-2.0

package closed

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// play is the privacy profile of n releases, each of which a player chooses after the answers so
// far among all mechanisms whose losses lie in a range of width η: the exponential mechanism n
// times, adaptively. With D_j the largest δ of j releases as a function of α = e^ε, r = e^η, and
// the chord of D_j over [a, ra] continued as the line ℓ_a,
//
//	D_0(α) = (1 − α)₊,  D_{j+1}(α) = sup over a of ℓ_a(α),
//
// and every D_j is convex (docs/math/noise.md §1.4.11). On a grid of ln α with the step η/m, whose
// points and middles are the a's, D_{j+1} is between the largest line and the largest one that is
// lifted by what lies between two a's.
type play struct {
	eta, step    float64 // η, rounded up, and η/m
	grid         int     // m
	first        int     // the grid's first point is first·step
	upper, lower []float64
	relative     float64 // bound on the relative error of the values

	// shift bounds the error of ln α. Each α and each chord's slope is rounded, which moves a value as
	// much as a move of ln α by some units of roundoff of 1 does, however narrow the range is.
	shift float64
}

// Bounds on how fine a play's grid is, and its work.
const (
	leastGrid  = 8
	mostGrid   = 1 << 13
	playReach  = 11 // standard deviations of the sum of losses, of which each has η/2 at most
	lineWork   = 60 // for each point and release
	mostPlayed = 1 << 14
	mostLog    = 600 // ln α, far from where e^x overflows
)

// ranged is a loss that stands for all mechanisms whose losses lie in a range of that width, of
// which a player may choose one for each release. The width is rounded up.
type ranged interface{ Range() float64 }

// Play is the privacy profile of adaptively chosen releases of one class: of several with a range of
// losses, by that work in about nanoseconds, or of any number with listed laws. It returns false for every other
// composition, and where it would take more.
func Play(c loss.Composition, work float64, in *num.Interrupt) (loss.PrivacyCurve, bool) {
	if len(c) != 1 {
		return nil, false
	}
	if l, ok := c[0].Loss.(loss.Moved); ok {
		return newMoves(l, c[0].Count, in)
	}
	eta, ok := played(c[0])
	if !ok {
		return nil, false
	}
	grid := gridFor(eta, c[0].Count, work)
	if grid < leastGrid {
		return nil, false
	}
	return newPlay(eta, int(c[0].Count), grid, in), true
}

// gridFor is the finest grid, of an even number, that n releases take no more work for; 0 where that is none.
func gridFor(eta float64, n uint64, work float64) int {
	reach := reachOf(eta, n)
	if n > mostPlayed || reach*eta > mostLog {
		return 0
	}
	return 2 * int(math.Min(mostGrid, work/(lineWork*2*reach*num.Count(n)))/2)
}

// reachOf is as many multiples of η as the sum of n losses reaches.
func reachOf(eta float64, n uint64) float64 {
	return math.Min(float64(n), math.Ceil(playReach*math.Sqrt(float64(n))/2+float64(n)*eta/8+2))
}

func newPlay(eta float64, n, grid int, in *num.Interrupt) play {
	reach := int(reachOf(eta, uint64(n)))
	p := play{eta: eta, step: eta / float64(grid), grid: grid, first: -reach * grid,
		relative: float64(n) * 1024 * num.Ulp * (1 + eta), shift: float64(n) * 32 * num.Ulp * (1 + eta)}
	p.upper, p.lower = make([]float64, 2*reach*grid+1), make([]float64, 2*reach*grid+1)
	for i := range p.upper {
		p.upper[i] = math.Max(0, -math.Expm1(p.at(i)))
	}
	copy(p.lower, p.upper)
	l := newLines(&p)
	for range n {
		in.Spend(lineWork * len(p.upper))
		l.draw(&p)
		l.step(&p)
	}
	return p
}

// at is ln α of a grid point.
func (p *play) at(i int) float64 { return float64(p.first+i) * p.step }

// lines are the chords of D over all [a, ra], where a is a point of the grid or a middle: with the index j
// of a among both, so that ra has the index j + 2m. Indices begin m points before the grid.
type lines struct {
	span   int       // 2m
	shares []float64 // of the left end at the point that lies so many middles and points behind it
	ends   []float64 // D from above at all points and middles, as far as lines end
	lifts  []float64 // by what a line is lifted, so that it is above all between its neighbours
	above  []float64 // D from above at the points, as far as lines end
	below  []float64 // D from below there; 0 behind the grid
	best   []int     // the line that is the highest at each point
	high   []float64
	before []float64 // α of the points before the grid
	middle float64   // the share of the left one of two points in their middle
	lift   float64   // r/(r−1)·(e^{h/4}−1)²·e^{h/2}
}

func newLines(p *play) *lines {
	points, span := len(p.upper), 2*p.grid
	l := &lines{span: span, shares: make([]float64, span+1), ends: make([]float64, 2*points+2*span),
		lifts: make([]float64, 2*points+span), above: make([]float64, points+span),
		below: make([]float64, points+span),
		best:  make([]int, points), high: make([]float64, points), before: make([]float64, p.grid)}
	for k := range l.shares {
		l.shares[k] = math.Expm1(float64(k-span)*p.step/2) / math.Expm1(-p.eta)
	}
	for i := range l.before {
		l.before[i] = math.Exp(p.at(i - p.grid))
	}
	l.middle = 1 / (1 + math.Exp(-p.step/2))
	l.lift = math.Pow(math.Expm1(p.step/4), 2) * math.Exp(p.step/2) / -math.Expm1(-p.eta)
	return l
}

// draw takes the lines' ends from D. Before the first point D is below the chord from α = 0, where it is 1, and
// at least 1 − α; beyond the last point it is at most what it is there, and at least 0.
func (l *lines) draw(p *play) {
	falls := (1 - p.upper[0]) / math.Exp(p.at(0))
	m := p.grid
	for i, alpha := range l.before {
		l.above[i], l.below[i] = 1-falls*alpha, 1-alpha
	}
	copy(l.above[m:], p.upper)
	copy(l.below[m:], p.lower)
	for i := m + len(p.upper); i < len(l.above); i++ {
		l.above[i] = p.upper[len(p.upper)-1]
	}
	for i, v := range l.above {
		next := l.above[min(i+1, len(l.above)-1)]
		l.ends[2*i], l.ends[2*i+1] = v, l.middle*v+(1-l.middle)*next
	}
	// a·|D'(a)| behind a point, in units that lift contains, from there and from where the line ends.
	rise, falling := l.lift/math.Expm1(p.step), math.Exp(-p.eta)
	before := 0.0
	for i := range len(l.lifts) / 2 {
		e := l.above[i] - l.above[i+1]
		if i+m+1 < len(l.above) {
			e -= (l.above[i+m] - l.above[i+m+1]) * falling
		}
		e = rise * math.Max(0, e)
		l.lifts[2*i], l.lifts[2*i+1], before = math.Max(before, e), e, e
	}
}

// line is the lifted line j at a point of the grid between its ends.
func (l *lines) line(j, point int) float64 {
	share := l.shares[2*point+l.span-j]
	return share*l.ends[j] + (1-share)*l.ends[j+l.span] + l.lifts[j]
}

// step makes D of one release more.
func (l *lines) step(p *play) {
	l.highest(0, len(p.upper)-1, 0, len(l.lifts)-1)
	low := func(line, point int) float64 { // attained: a is on the grid
		share := l.shares[2*(point+p.grid-line)]
		return share*l.below[line] + (1-share)*l.below[line+p.grid]
	}
	for i, j := range l.best {
		v := low(j/2, i)
		if j%2 == 1 && j/2 < i+p.grid {
			v = math.Max(v, low(j/2+1, i))
		}
		p.lower[i], p.upper[i] = v, l.high[i]
	}
}

// highest finds the highest line at each point from first to last, among the lines from one to other. Lines that
// begin further right fall less, so that at later points the highest one is no earlier one.
func (l *lines) highest(first, last, one, other int) {
	if first > last {
		return
	}
	at := first + (last-first)/2
	from, to := max(one, 2*at), min(other, 2*at+l.span)
	best, most := from, math.Inf(-1)
	for j := from; j <= to; j++ {
		if v := l.line(j, at); v > most {
			best, most = j, v
		}
	}
	l.best[at], l.high[at] = best, most
	l.highest(first, at-1, one, best)
	l.highest(at+1, last, best, other)
}

func (p play) LogDelta(epsilon float64) (b loss.Bounds, slope float64) {
	upper := p.above(epsilon - p.shift)
	b.Upper = math.Min(0, num.LogUp(upper)+p.relative)
	b.Lower = num.Log(p.below(epsilon+p.shift)) - p.relative
	if math.IsNaN(b.Lower) {
		b.Lower = math.Inf(-1)
	}
	i := p.before(epsilon)
	return b, math.Max(0, (p.above(p.at(i))-p.above(p.at(i+1)))/(p.step*upper))
}

// before is the grid's last point at or before ln α, clamped to the grid.
func (p *play) before(log float64) int {
	return max(0, min(int(math.Floor(log/p.step))-p.first, len(p.upper)-2))
}

// above bounds D from above, by a chord; beyond the last point by its value there.
func (p *play) above(log float64) float64 {
	i := p.before(log)
	share := math.Expm1(log-p.at(i)) / math.Expm1(p.step)
	return p.upper[i] + (p.upper[i+1]-p.upper[i])*math.Max(0, math.Min(1, share))
}

// below bounds D from below between two points: D is convex, so it lies above what continues a
// chord that ends or begins there, and it falls.
func (p *play) below(log float64) float64 {
	i := p.before(log)
	if log > p.at(i+1) {
		return 0
	}
	v := p.lower[i+1]
	if i > 0 { // from the left
		v = math.Max(v, p.lower[i]-(p.upper[i-1]-p.lower[i])*math.Expm1(log-p.at(i))/-math.Expm1(-p.step))
	}
	if i+2 < len(p.lower) { // from the right
		v = math.Max(v, p.lower[i+1]+(p.lower[i+1]-p.upper[i+2])*-math.Expm1(log-p.at(i+1))/math.Expm1(p.step))
	}
	return v
}

func (p play) Epsilon(delta float64) loss.Bounds {
	return loss.Inverse(p.LogDelta, delta, p.at(len(p.upper)-1))
}
