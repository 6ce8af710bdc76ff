// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

const (
	maxNodes = 1 << 13
	// Where a line is cut although what lies beyond counts, it must pay off early: a lattice
	// answers what decays slowly.
	maxWorthwhile = 1 << 9
	mostClosely   = 16 // distinct losses with which decays are worth a closer look
)

// newInversion builds the inversion that was planned for ε near epsilon. It refuses,
// with the reason, where the bounds would say nothing; where they are wide because a
// longer line would be too much work, they are wide.
func newInversion(p *parts, d loss.Direction, pl plan) (*inversion, string) {
	s, reason := newSite(p, d, pl)
	if reason != "" {
		return nil, reason
	}
	s.c.fill(s.line, s.nodes(), p.meter)
	return s.c, ""
}

// site is an inversion without its nodes: where it is and how far it goes.
type site struct {
	c       *inversion
	line    tilts
	levels  *levels
	end     int  // the level of the last node
	closely bool // the levels took a closer look
}

func (s *site) nodes() int { return s.levels.at[s.end] + 1 }

func newSite(p *parts, d loss.Direction, pl plan) (*site, string) {
	x := pl.x
	c := &inversion{theta: x.theta, maxLoss: p.maxLoss(d)}
	if !(pl.width > 0 && pl.width < math.MaxFloat64 && math.Abs(x.theta) < mostTheta) {
		return nil, "no place for the contour was found"
	}
	line := p.tilt(d, x.theta)
	if len(line.rest) < line.distinct {
		return nil, interval.OutOfTime
	}
	if c.k = line.k(); !(c.k.Err < 0.1) {
		return nil, "the cumulant is not known closely enough where it is needed"
	}
	c.above = newAlias(c, pl.above, p.cumulant(d, pl.above))
	c.below = newAlias(c, pl.below, p.cumulant(d, pl.below))
	c.step = shortened(2 * math.Pi / pl.width)

	first := 0.85 * math.Sqrt(2*pl.need/math.Max(x.curvature, 1e-300))
	l := newLevels(line, c.step, first, -pl.need)
	i, closely := l.enough(-pl.need), false
	if aim := int(pl.nodes / (2 * math.Pi)); l.at[i] > 2*aim && l.at[i] > 100 && len(p.terms) <= mostClosely {
		closely = true
		l.refine(line, aim, -pl.need)
		i = l.enough(-pl.need)
	}
	l.split(line, i, -pl.need, closely)
	i = l.enough(-pl.need)
	if j := l.worthwhile(maxNodes); l.at[i] > maxNodes && l.at[j] <= maxWorthwhile {
		i, c.limited = j, true
	}
	for p.meter.out() || line.work(c.step, l.at[i]) > p.meter.left {
		if i == 0 || p.meter.out() {
			return nil, interval.OutOfTime
		}
		i--
		c.limited = true
	}
	if c.cut = l.cut(i); l.at[i] > maxNodes || !(math.Log(c.cut) < -pl.need-math.Log(pl.tolerance)) {
		return nil, "the characteristic function decays too slowly: too many nodes"
	}
	return &site{c, line, l, i, closely}, ""
}

// shortened rounds down to 24 bits, so that every multiple k·step is exact.
func shortened(step float64) float64 {
	return math.Float64frombits(math.Float64bits(step) &^ (1<<29 - 1))
}

// fill computes n nodes, and uses up the line.
func (c *inversion) fill(line tilts, n int, m *meter) {
	sums := make([]nodeSum, n)
	for i, r := range line.rest {
		before := r.Spent()
		for k, v := range r.Along(c.step, n, m.stopped) {
			sums[k].add(line.terms[i], v)
		}
		m.spend(r.Spent() - before)
		line.rest[i] = nil // thousands of them may be large
	}
	c.re, c.im = make([]float64, n), make([]float64, n)
	for k := range sums {
		if k > 0 { // there the difference is 0
			sums[k].err += line.err(float64(k)*c.step) + line.err(0)
			if !(sums[k].err < 1) { // of losses in clusters only the decay is known there
				sums[k].upper += line.milderDecay(float64(k) * c.step)
			}
		}
		c.node(k, &sums[k], line.variance)
	}
}

// nodeSum is Σ n_j·(K_j(s) − K_j(θ)) at one node.
type nodeSum struct {
	re, im num.Sum
	err    float64 // bound on the error, the products' rounding included
	upper  float64 // bound on the real part
}

func (s *nodeSum) add(t weighted, v loss.ComplexValue) {
	if !t.clustered {
		s.upper += t.count * v.Upper * (1 - 1e-12)
	}
	if math.IsInf(v.Err, 1) {
		s.err = math.Inf(1)
		return
	}
	s.re.Add(t.count * real(v.K))
	s.im.Add(t.count * imag(v.K))
	s.err += math.Abs(t.count) * (v.Err + 4*num.Ulp*(math.Abs(real(v.K))+math.Abs(imag(v.K))))
}

// node stores term k: e^{sum + Gaussian part}/(s(s+1)). See docs/math/inversion.md §2.4.
func (c *inversion) node(k int, sum *nodeSum, variance float64) {
	t := float64(k) * c.step
	s := complex(c.theta, t)
	// s(s+1) − θ(θ+1) = −t² + it(2θ+1)
	gr, gi := -t*t*variance/2, t*(2*c.theta+1)*variance/2
	kernel := s * (s + 1)
	if k == 0 {
		kernel *= 2
	}
	exponent := complex(sum.re.Value()+gr, sum.im.Value()+gi)
	err := sum.err*(1+1e-9) + (varianceError+8*num.Ulp)*(math.Abs(gr)+math.Abs(gi)) + 4*num.Ulp*cmplx.Abs(exponent)
	if !(err < 1) {
		// The node is not known: 0, within its modulus.
		most := math.Exp(math.Min(0, sum.upper+gr*(1-1e-12)) + 1e-12)
		c.err += most / cmplx.Abs(kernel) * (1 + 1e-9)
		return
	}
	v := cmplx.Exp(exponent) / kernel
	size := cmplx.Abs(v)
	c.re[k], c.im[k] = real(v), imag(v)
	c.size += size
	c.drift += size * t
	// Exponential and division are within 16 Ulp, and the phase's reduction.
	c.err += size*(math.Expm1(err)+32*num.Ulp)*(1+1e-9) + 1e-300
}
