// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/num"
)

// Link is one step in a chain of neighbouring datasets, and Times steps like it: Ask bounds what the two
// datasets of one step tell apart, in both directions, whichever of the other steps were made before.
type Link struct {
	Ask   func(Question) (Answer, error)
	Times uint64
}

// AskChain bounds what the two ends of a chain of datasets tell apart, from the privacy curves of its links alone:
// by the composition of their trade-off functions, each after the other (Dong, Roth and Su 2022, Thm 2.14, for
// links that are equal). See docs/math/children.md §5.6.1. The bound is +Inf, or δ = 1, where none is found.
//
// Each curve is asked at a few points, which are lines over the power of a test. First they are far apart, for all
// δ; then they are near to each other where the answer is.
func AskChain(links []Link, q Question) (Answer, error) {
	if err := q.begin(); err != nil {
		return Answer{}, err
	}
	all := make(chain, len(links))
	for i, l := range links {
		all[i].link = l
		if err := all[i].coarse(q); err != nil {
			return Answer{}, err
		}
	}
	// What fails whatever ε is comes last, where no ε multiplies it.
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.fails(), b.fails()) })
	best := all.answer(q)
	if len(links) <= mostFineLinks {
		for i, used := range all.used(q) {
			if err := all[i].fine(q, used[0], used[1]); err != nil {
				return Answer{}, err
			}
		}
		best = all.answer(q)
	}
	best.Stopped = q.in.Over()
	best.Analysis, best.Analyses = chainName, []Result{{Analysis: chainName, Epsilon: best.Epsilon, Delta: best.Delta,
		LogDelta: best.LogDelta}}
	return best, nil
}

// chainName is how answers name AskChain.
const chainName Analysis = "chain"

const (
	coarsePoints = 40 // of each curve, at δ from ½ to leastProbability
	finePoints   = 48 // of each curve, between the ε that the answer lies between
	// mostFineLinks bounds the curves that are asked twice.
	mostFineLinks = 64
)

// line is the bound P(S) ≤ e^intercept + e^slope·Q(S) on a test S of two neighbours P and Q: slope is ε, and
// intercept ln δ.
type line struct{ slope, intercept float64 }

// step is a link's lines, the steepest first.
type step struct {
	link  Link
	lines []line
}

type chain []step

func (s *step) coarse(q Question) error {
	deepest := -math.Log(leastProbability)
	for k := range coarsePoints {
		part := float64(k) / (coarsePoints - 1)
		delta := math.Max(math.Exp(-math.Ln2*math.Pow(deepest/math.Ln2, part)), leastProbability)
		a, err := s.link.Ask(Question{Delta: &delta, Stop: q.Stop, rough: true})
		if err != nil {
			return err
		}
		s.add(a.Epsilon, math.Log(delta))
	}
	a, err := s.link.Ask(Question{Delta: new(float64), Stop: q.Stop, rough: true}) // pure, if it is
	if err == nil {
		s.add(a.Epsilon, math.Inf(-1))
	}
	s.sort()
	return err
}

// fine adds points between two slopes.
func (s *step) fine(q Question, low, high float64) error {
	low = math.Max(low, 0)
	for k := 0; k <= finePoints && (k == 0 || high > low); k++ {
		epsilon := low + (high-low)*float64(k)/finePoints
		a, err := s.link.Ask(Question{Epsilon: &epsilon, Stop: q.Stop, rough: true})
		if err != nil {
			return err
		}
		s.add(epsilon, a.LogDelta)
	}
	s.sort()
	return nil
}

// add adds a point (ε, ln δ) of the curve, and the one that it gives in the other direction: what is
// (ε, δ)-differentially private has Q(S) ≤ δ + e^ε·P(S) too, for the complements of all S, and so
// P(S) ≤ 1 − (1 − δ)·e^−ε + e^−ε·Q(S).
func (s *step) add(epsilon, logDelta float64) {
	if math.IsInf(epsilon, 1) || math.IsNaN(epsilon) {
		return
	}
	s.lines = append(s.lines, line{epsilon, math.Min(logDelta, 0)})
	if epsilon > 0 {
		other := num.LogAddExp(num.Log1mExp(epsilon), math.Min(logDelta, 0)-epsilon)
		s.lines = append(s.lines, line{-epsilon, math.Min(0, num.UpBy(other, 8*num.Ulp*(1+math.Abs(other))))})
	}
}

// fails is the least ln δ that is known.
func (s *step) fails() float64 {
	if len(s.lines) == 0 {
		return 0
	}
	return s.lines[0].intercept
}

func (s *step) sort() {
	slices.SortFunc(s.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.slope, a.slope), cmp.Compare(a.intercept, b.intercept))
	})
	kept := s.lines[:0]
	for _, l := range s.lines {
		for len(kept) > 0 && kept[len(kept)-1].intercept >= l.intercept && kept[len(kept)-1].slope > l.slope {
			kept = kept[:len(kept)-1] // above this one everywhere
		}
		if len(kept) == 0 || kept[len(kept)-1].slope > l.slope {
			kept = append(kept, l)
		}
	}
	s.lines = kept
}

// lowest is the index of the line that is the lowest at Q(S) = e^x.
func (s *step) lowest(x float64) (at int, value float64) {
	value = math.Inf(1)
	for i, l := range s.lines {
		if y := num.LogAddExp(l.intercept, l.slope+x); y < value {
			at, value = i, y
		}
	}
	return at, math.Min(value, 0)
}

// through is the line of the whole chain that is about the lowest at Q(S) = e^x. Its rounding is upwards. visit,
// which may be nil, is told of each link's line.
func (c chain) through(x float64, visit func(link, line int)) (whole line, ok bool) {
	whole.intercept = math.Inf(-1)
	steps, moved := 0.0, 0.0
	for i := range c {
		for range c[i].link.Times {
			if len(c[i].lines) == 0 {
				return whole, false
			}
			at, y := c[i].lowest(x)
			if visit != nil {
				visit(i, at)
			}
			l := c[i].lines[at]
			whole.intercept = num.LogAddExp(l.intercept, l.slope+whole.intercept)
			whole.slope += l.slope
			x = y
			moved += math.Abs(l.slope)
			steps++
		}
	}
	slack := 8 * num.Ulp * (steps + 1) * (moved + 1)
	whole.slope += slack
	if !math.IsInf(whole.intercept, -1) {
		whole.intercept += slack + 8*num.Ulp*math.Abs(whole.intercept)
	}
	return whole, true
}

// bracket finds two neighbouring lines of the chain: steep meets ok, and flat does not.
func (c chain) bracket(ok func(line) bool) (x float64, steep, flat line, found bool) {
	low, high := -4000.0, 0.0
	steep, found = c.through(low, nil)
	if !found || !ok(steep) {
		return low, steep, flat, false
	}
	if flat, _ = c.through(high, nil); ok(flat) {
		return high, flat, flat, true
	}
	for range 100 {
		middle := low + (high-low)/2
		if l, _ := c.through(middle, nil); ok(l) {
			low, steep = middle, l
		} else {
			high, flat = middle, l
		}
	}
	return low, steep, flat, true
}

// meets is what steep lines meet that answer q.
func (q Question) meets() func(line) bool {
	if q.Delta != nil {
		most := math.Log(*q.Delta)
		return func(l line) bool { return l.intercept <= most }
	}
	return func(l line) bool { return l.slope >= *q.Epsilon }
}

// answer is the least that the lines prove. δ as a function of e^ε is convex, so between two lines it is at most
// what lies straight between them.
func (c chain) answer(q Question) (a Answer) {
	_, steep, flat, found := c.bracket(q.meets())
	if q.Delta != nil {
		a.Delta, a.Epsilon = *q.Delta, math.Inf(1)
		if !found {
			return a
		}
		a.Epsilon = steep.slope
		most := math.Log(*q.Delta)
		if flat.intercept > most && steep.intercept < most && steep.slope > flat.slope {
			// t of the way from steep to flat, rounded down.
			t := math.Exp(most-flat.intercept) * math.Expm1(steep.intercept-most) /
				math.Expm1(steep.intercept-flat.intercept) * (1 - 1e-12)
			if t > 0 && t < 1 { // e^ε, divided by that of steep
				between := steep.slope + math.Log1p(t*math.Expm1(flat.slope-steep.slope))
				a.Epsilon = math.Min(a.Epsilon, num.UpBy(between, 1e-13*(1+math.Abs(steep.slope))))
			}
		}
		a.Epsilon = math.Max(a.Epsilon, 0)
		return a
	}
	a.Epsilon = *q.Epsilon
	switch {
	case !found: // it falls with ε, so what holds at a smaller one holds
		if steep, found = c.through(-4000, nil); !found {
			a.Delta = 1
			return a
		}
		a.LogDelta = steep.intercept
	case flat.slope >= *q.Epsilon || steep.slope <= flat.slope:
		a.LogDelta = steep.intercept
	default:
		// from flat up to steep, e^ε goes t of the way; t is rounded down
		t := math.Expm1(*q.Epsilon-flat.slope) / math.Expm1(steep.slope-flat.slope) * (1 - 1e-12)
		a.LogDelta = num.LogAddExp(math.Log(t)+steep.intercept, math.Log1p(-t)+flat.intercept) + 1e-12
	}
	a.LogDelta = math.Min(a.LogDelta, 0)
	a.Delta = math.Min(1, num.ExpUp(a.LogDelta))
	return a
}

// used are the slopes of each link's lines beside those of the answer to q, the least and the largest.
func (c chain) used(q Question) [][2]float64 {
	x, _, _, _ := c.bracket(q.meets())
	out := make([][2]float64, len(c))
	for i := range out {
		out[i] = [2]float64{math.Inf(1), math.Inf(-1)}
	}
	c.through(x, func(link, at int) {
		lines := c[link].lines
		out[link][0] = math.Min(out[link][0], lines[min(at+1, len(lines)-1)].slope)
		out[link][1] = math.Max(out[link][1], lines[max(at-1, 0)].slope)
	})
	return out
}
