// SPDX-License-Identifier: Apache-2.0

package closed

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// moves is the privacy profile of n releases, for each of which an adversary chooses a law of the loss after the
// answers before. With D_j(k) the largest δ of j more releases once k units have been lost,
//
//	D_0(k) = (1 − e^{ε−k·unit})₊,  D_{j+1}(k) = max over laws p of Σ_i p(i)·D_j(k + i),
//
// and δ(ε) = D_n(0) is attained (docs/math/vectors.md §1.4.13.2).
type moves struct {
	from loss.Moved
	n    int
	in   *num.Interrupt

	known *loss.Moves // to the depth that was needed last
	depth float64
}

// Bounds on one question's work in products, and what one takes; and how deep the laws go.
const (
	mostMoves               = 3e7
	moveWork                = 2 // nanoseconds
	leastDepth, deepestMove = 60, 690
)

// newMoves returns false where the releases are too many.
func newMoves(l loss.Moved, count uint64, in *num.Interrupt) (loss.PrivacyCurve, bool) {
	if count > 1<<16 {
		return nil, false
	}
	m := &moves{from: l, n: int(count), in: in}
	return m, m.deep(leastDepth)
}

// deep has laws of that depth; false where a question would take too long.
func (g *moves) deep(depth float64) bool {
	m, ok := g.from.Moves(depth, g.in)
	if !ok {
		return false
	}
	work, stride := 0.0, float64(m.Stride)
	for _, law := range m.Laws {
		work += float64(len(law.Masses))
	}
	n := float64(g.n)
	work *= (n - 1) * ((m.Most-m.Least)*n + 1.5*m.Reach*math.Sqrt(n)) / stride
	if !(work <= mostMoves) {
		return false
	}
	g.known, g.depth = &m, depth
	return true
}

// LogDelta goes deeper where what is missing of the laws matters.
func (g *moves) LogDelta(epsilon float64) (b loss.Bounds, slope float64) {
	for {
		b, slope = g.at(epsilon)
		if b.Upper-b.Lower < 1e-9 || g.depth >= deepestMove {
			return b, slope
		}
		if !g.deep(math.Min(deepestMove, math.Max(g.depth+30, 50-b.Upper))) {
			return b, slope
		}
	}
}

func (g *moves) Epsilon(delta float64) loss.Bounds {
	top := float64(g.n) * g.known.Most * g.known.Unit
	return loss.Inverse(g.LogDelta, delta, top)
}

// stage has D_j from above and from below at k = first, first + stride, …; and about −∂D_j/∂ε.
type stage struct {
	first               int
	upper, lower, falls []float64
}

// window returns the k that matter with j releases to come, the first one on the grid. Before it D_j is at most what
// it is there, and behind it at least what it is at its end, and at most 1.
func (g *moves) window(m *loss.Moves, j int, epsilon float64) (first, count int) {
	done, left := float64(g.n-j), float64(j)
	units := epsilon / m.Unit
	low := math.Max(done*m.Least-m.Reach*math.Sqrt(done), units-left*m.Most-m.Reach*math.Sqrt(left))
	high := math.Min(done*m.Most+m.Reach*math.Sqrt(done), units-left*m.Least+m.Reach*math.Sqrt(left)+g.depth/m.Unit)
	// One more, so that D_0, whose ε is moved for rounding, begins with 0.
	low = math.Max(-1e15, math.Min(low, 1e15)) - float64(m.Stride)
	offset := ((g.n-j)*m.Laws[0].First%m.Stride + m.Stride) % m.Stride // all first losses are alike in this
	first = int(math.Floor((low-float64(offset))/float64(m.Stride)))*m.Stride + offset
	return first, 1 + max(0, int(math.Ceil((high-float64(first))/float64(m.Stride))))
}

// at is LogDelta with the laws that are known.
func (g *moves) at(epsilon float64) (b loss.Bounds, slope float64) {
	m := g.known
	// ε and k·unit are known within some units of roundoff.
	off := 16 * num.Ulp * (epsilon + m.Unit*(float64(g.n)*m.Most+m.Reach*math.Sqrt(float64(g.n))))
	var s stage
	first, count := g.window(m, 0, epsilon)
	s = stage{first, make([]float64, count), make([]float64, count), make([]float64, count)}
	for i := range count {
		beyond := float64(first+i*m.Stride)*m.Unit - epsilon
		s.upper[i] = math.Max(0, -math.Expm1(-beyond-off))
		s.lower[i] = math.Max(0, -math.Expm1(-beyond+off))
		if beyond > 0 {
			s.falls[i] = math.Exp(-beyond)
		}
	}
	widest := 0
	for _, law := range m.Laws {
		widest = max(widest, len(law.Masses))
	}
	for j := 1; j <= g.n; j++ {
		first, count := 0, 1
		if j < g.n {
			first, count = g.window(m, j, epsilon)
		}
		g.in.Spend(moveWork * count * widest * len(m.Laws))
		next := stage{first, make([]float64, count), make([]float64, count), make([]float64, count)}
		for i := range count {
			for _, law := range m.Laws {
				up, low, falls := s.mean(law, (first+i*m.Stride+law.First-s.first)/m.Stride)
				if up > next.upper[i] {
					next.upper[i], next.falls[i] = up, falls
				}
				next.lower[i] = math.Max(next.lower[i], low)
			}
			next.upper[i] = math.Min(1, next.upper[i]+m.Tail)
		}
		s = next
	}
	relative := float64(g.n) * (m.Err + num.Ulp*float64(4*widest+16))
	b.Upper = math.Min(0, num.LogUp(s.upper[0]+2e-300)+relative)
	b.Lower = num.LogDown(s.lower[0]) - relative
	return b, s.falls[0] / s.upper[0]
}

// mean is Σ p(i)·D(at + i) from above and from below, with D at that place of the stage.
func (s *stage) mean(law loss.Law, at int) (up, low, falls float64) {
	p, last := law.Masses, len(s.upper)-1
	var before, behind float64
	from := max(0, min(len(p), -at))
	to := max(from, min(len(p), last+1-at))
	for _, w := range p[:from] {
		before += w
	}
	for _, w := range p[to:] {
		behind += w
	}
	for i := from; i < to; i++ {
		w := p[i]
		up += w * s.upper[at+i]
		low += w * s.lower[at+i]
		falls += w * s.falls[at+i]
	}
	return up + before*s.upper[0] + behind, low + behind*s.lower[last], falls + behind*s.falls[last]
}
