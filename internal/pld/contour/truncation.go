// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"
	"slices"
)

// levels are points T_0 < T_1 < … of the line, as whole numbers of steps, with
// which the rest of the trapezoid sum is bounded: on each interval, and beyond
// the last point, the product of the tilted of all losses.
type levels struct {
	step  float64
	at    []int     // T_i = at[i]·step
	logs  []float64 // ln of the bound on Π|φ_j|^{n_j} over [T_i, T_{i+1}]
	last  float64   // and over [T_last, ∞)
	reach float64   // min(|θ|, 1+θ): |s(s+1)| ≥ reach² + t²
}

const (
	maxLevels   = 90
	farthest    = 1 << 50
	firstGrowth = 1.15
)

// newLevels goes up from about first until what lies beyond is below e^{floor}.
func newLevels(tilted tilts, step, first, floor float64) *levels {
	l := &levels{step: step, reach: math.Min(math.Abs(tilted.theta), 1+tilted.theta)}
	n := max(2, int(math.Min(first/step, farthest)))
	growth := firstGrowth
	for {
		t := float64(n) * step
		l.at = append(l.at, n)
		l.last = tilted.decay(t, math.Inf(1), floor, false)
		if l.last+math.Log(l.beyond(t)) < floor || len(l.at) == maxLevels || n >= farthest {
			return l
		}
		next := max(n+1, int(float64(n)*growth))
		growth = math.Min(2, growth+0.03)
		l.logs = append(l.logs, tilted.decay(t, float64(next)*step, floor-3, false))
		n = next
	}
}

// interval is where level i holds.
func (l *levels) interval(i int) (from, to float64) {
	from, to = float64(l.at[i])*l.step, math.Inf(1)
	if i+1 < len(l.at) {
		to = float64(l.at[i+1]) * l.step
	}
	return from, to
}

// refine bounds more closely the levels from node first on that are too much, as
// long as that is not too much work.
func (l *levels) refine(tilted tilts, first int, floor float64) {
	enough := math.Max(0, tilted.meter.left-mostScan)
	for i := range l.logs {
		if l.at[i+1] < first || l.at[i] > maxNodes {
			continue
		}
		t, next := float64(l.at[i])*l.step, float64(l.at[i+1])*l.step
		if l.logs[i]+math.Log(l.beyond(t)-l.beyond(next)) < floor-2 ||
			tilted.meter.left < enough || tilted.meter.out() {
			return
		}
		l.logs[i] = math.Min(l.logs[i], tilted.decay(t, next, floor-3, true))
	}
}

// split cuts the interval before level i into four, so that the last node need not
// be at a level.
func (l *levels) split(tilted tilts, i int, floor float64, closely bool) {
	if i == 0 || l.at[i]-l.at[i-1] < 8 {
		return
	}
	a, b := float64(l.at[i-1]), float64(l.at[i])
	var at []int
	var logs []float64
	for k := range 4 {
		at = append(at, int(a*math.Pow(b/a, float64(k)/4)))
	}
	for k := range 4 {
		next := l.at[i]
		if k < 3 {
			next = at[k+1]
		}
		v := tilted.decay(float64(at[k])*l.step, float64(next)*l.step, floor-3, closely)
		logs = append(logs, math.Min(v, l.logs[i-1]))
	}
	l.at = slices.Replace(l.at, i-1, i, at...)
	l.logs = slices.Replace(l.logs, i-1, i, logs...)
}

// beyond is ∫_t^∞ dx/(reach² + x²).
func (l *levels) beyond(t float64) float64 {
	if l.reach < 1e-8*t {
		return 1 / t
	}
	return math.Atan(l.reach/t) / l.reach
}

// cut bounds (Δ/π)·Σ |e^{K(s_k)−K(θ)}/(s_k(s_k+1))| over k > at[i]: the sum of
// Δ/(reach² + t_k²) over an interval's nodes is at most the integral, as the
// integrand falls. See docs/math/inversion.md §2.3.
func (l *levels) cut(i int) float64 {
	var total float64
	for ; i < len(l.logs); i++ {
		t, next := float64(l.at[i])*l.step, float64(l.at[i+1])*l.step
		total += math.Exp(l.logs[i]) * (l.beyond(t) - l.beyond(next) + 1e-14*l.beyond(t))
	}
	total += math.Exp(l.last) * l.beyond(float64(l.at[i])*l.step)
	return total / math.Pi * (1 + 1e-12)
}

// enough is the first level whose cut is below e^{floor}, or the last.
func (l *levels) enough(floor float64) int {
	i, j := 0, len(l.at)-1
	for i < j {
		if m := (i + j) / 2; math.Log(l.cut(m)) < floor {
			j = m
		} else {
			i = m + 1
		}
	}
	return i
}

// worthwhile is the first level whose cut is about that of the last level within so many nodes:
// where a characteristic function returns to 1 again and again, more nodes would not help.
func (l *levels) worthwhile(nodes int) int {
	last := 0
	for last+1 < len(l.at) && l.at[last+1] <= nodes {
		last++
	}
	const about = 1.02
	return l.enough(math.Log(about * l.cut(last)))
}
