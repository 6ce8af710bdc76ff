package closed

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// play is the privacy profile of n releases, each of which a player chooses after the answers so
// far among all mechanisms whose losses lie in a range of width η: the exponential mechanism n
// times, adaptively. With D_j the largest δ of j releases as a function of α = e^ε,
//
//	D_0(α) = (1 − α)₊,  D_{j+1}(α) = sup over t of p·D_j(α·e^{−t}) + (1−p)·D_j(α·e^{η−t}),
//	p = (1 − e^{t−η})/(1 − e^{−η}),  0 ≤ t ≤ η,
//
// and every D_j is convex (docs/math/noise.md §1.4.11). On a grid of ln α with the step η/m the
// values with t on the grid are attained; with D_j replaced by its chords they are bounds from
// above, of which the largest between two grid points has a closed form.
type play struct {
	eta, step    float64   // η, rounded up, and η/m
	grid         int       // m
	first        int       // the grid's first point is first·step
	alpha        []float64 // of the grid points
	upper, lower []float64
	relative     float64 // bound on the relative error of the values

	// shift bounds the error of ln α. Each α and each chord's slope is rounded, which moves a value as
	// much as a move of ln α by some units of roundoff of 1 does, however narrow the range is.
	shift float64
}

// Bounds on the work of a play, in chords, and on how fine its grid is.
const (
	playWork            = 4e7
	leastGrid, mostGrid = 6, 512
	playReach           = 11 // standard deviations of the sum of losses, of which each has η/2 at most
	chordWork           = 15 // nanoseconds
	mostPlayed          = 1 << 14
	mostLog             = 600 // ln α, far from where e^x overflows
)

// ranged is a loss that stands for all mechanisms whose losses lie in a range of that width, of
// which a player may choose one for each release. The width is rounded up.
type ranged interface{ Range() float64 }

// Play is the privacy profile of adaptively chosen releases of one class: of several with a range of
// losses, or of any number with listed laws. It returns false for every other composition, and where it would take
// too long.
func Play(c loss.Composition, in *num.Interrupt) (loss.PrivacyCurve, bool) {
	if len(c) != 1 {
		return nil, false
	}
	if l, ok := c[0].Loss.(loss.Moved); ok {
		return newMoves(l, c[0].Count, in)
	}
	l, ok := c[0].Loss.(ranged)
	if !ok || c[0].Count == 1 || c[0].Count > mostPlayed || !(l.Range() >= 1e-9) {
		return nil, false
	}
	eta, n := l.Range(), int(c[0].Count)
	// As many multiples of η as the sum of losses reaches.
	reach := math.Min(float64(n), math.Ceil(playReach*math.Sqrt(float64(n))/2+float64(n)*eta/8+2))
	grid := math.Floor(math.Sqrt(playWork / (2 * reach * float64(n))))
	if grid < leastGrid || reach*eta > mostLog {
		return nil, false
	}
	return newPlay(eta, n, int(reach), int(math.Min(grid, mostGrid)), in), true
}

func newPlay(eta float64, n, reach, grid int, in *num.Interrupt) play {
	p := play{eta: eta, step: eta / float64(grid), grid: grid, first: -reach * grid,
		relative: float64(n) * 256 * num.Ulp * (1 + eta), shift: float64(n) * 32 * num.Ulp * (1 + eta)}
	p.upper, p.lower = make([]float64, 2*reach*grid+1), make([]float64, 2*reach*grid+1)
	p.alpha = make([]float64, len(p.upper))
	for i := range p.upper {
		p.alpha[i] = math.Exp(p.at(i))
		p.upper[i] = math.Max(0, -math.Expm1(p.at(i)))
	}
	copy(p.lower, p.upper)
	high, low := make([]float64, len(p.upper)), make([]float64, len(p.upper))
	shares := make([]float64, grid+1) // p of t = k·step
	for k := range shares {
		shares[k] = math.Expm1(float64(k-grid)*p.step) / math.Expm1(-eta)
	}
	for range n {
		in.Spend(chordWork * len(p.upper) * grid)
		chords := p.chords()
		for i := range p.upper {
			low[i] = p.reached(i, shares)
			high[i] = p.bounded(i, shares, chords)
		}
		p.lower, low = low, p.lower
		p.upper, high = high, p.upper
	}
	return p
}

// at is ln α of a grid point.
func (p *play) at(i int) float64 { return float64(p.first+i) * p.step }

// reached is the most a player reaches at a grid point with t on the grid. Left of the grid it has
// at least 1 − α, and right of it at least 0.
func (p *play) reached(i int, shares []float64) float64 {
	value := func(i int) float64 {
		switch {
		case i < 0:
			return -math.Expm1(p.at(i))
		case i >= len(p.lower):
			return 0
		}
		return p.lower[i]
	}
	most := 0.0
	for k, share := range shares {
		most = math.Max(most, share*value(i-k)+(1-share)*value(i-k+p.grid))
	}
	return most
}

// chord is the line c − d·α.
type chord struct{ c, d float64 }

// chords are those between neighbouring points, chords[i] from point i−1 to point i. The first one
// comes from α = 0, where D = 1. Beyond the last point D is at most what it is there.
func (p *play) chords() []chord {
	all := make([]chord, len(p.upper)+1)
	before, beforeAt := 1.0, 0.0
	for i, v := range p.upper {
		at := p.alpha[i]
		falls := math.Max(0, before-v) / (at - beforeAt)
		all[i] = chord{v + falls*at, falls}
		before, beforeAt = v, at
	}
	all[len(p.upper)] = chord{before, 0}
	return all
}

// bounded is the largest value at a grid point over every t, with chords in the place of D. Between
// two grid points it is, as a function of a = α·e^{−t}, a constant less x·a less y/a.
func (p *play) bounded(i int, shares []float64, chords []chord) float64 {
	last := len(p.upper)
	value := func(i int) float64 {
		if i < 0 { // by the first chord
			return chords[0].c - chords[0].d*math.Exp(p.at(i))
		}
		return p.upper[min(i, last-1)]
	}
	r, most := math.Exp(p.eta), 0.0
	for k, share := range shares {
		most = math.Max(most, share*value(i-k)+(1-share)*value(i-k+p.grid))
		// With t from k to k+1 steps a lies between the points i−k−1 and i−k.
		one, other := chords[max(0, i-k)], chords[max(0, min(i-k+p.grid, last))]
		x, y := r*(one.d-other.d), p.alpha[i]*(one.c-other.c)
		if !(x > 0 && y > 0) || k == p.grid {
			continue
		}
		a := math.Sqrt(y / x)
		if i > k && a >= p.alpha[i-k] || i > k+1 && a <= p.alpha[i-k-1] {
			continue
		}
		if t := p.at(i) - math.Log(a); t > 0 && t < p.eta {
			share := math.Expm1(t-p.eta) / math.Expm1(-p.eta)
			most = math.Max(most, share*(one.c-one.d*a)+(1-share)*(other.c-other.d*a*r))
		}
	}
	return most
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
