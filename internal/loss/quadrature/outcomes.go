// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Outcomes is one direction's pair as a finite sum: outcomes whose finite losses
// are Λ = ln p − ln q, with P's mass w·p and Q's mass w·q, and what P and Q have
// where the other has nothing. Together with the nodes of a quadrature a continuous
// part is such a sum too, within a bound.
type Outcomes struct {
	Nodes        []Node   // half = −ln w
	WeightErr    float64  // relative error of each w, in Ulp
	LostP, LostQ float64  // P(L = ∞), and Q's mass where P has none
	LostErr      float64  // absolute error of both together, where they are not just rounded
	CutError     CutError // of the quadrature; nil without one
	Flipped      bool     // P and Q are exchanged to take K(s) at −1−s
	Reach        float64  // the |s| up to which the quadrature is fine enough

	In *num.Interrupt // of its sums
}

// TiltWork is about what it takes to make or to tilt one outcome, in nanoseconds, and
// turnWork what one takes on the line.
const TiltWork, turnWork = 150, 60

// CutError bounds the error of the quadrature of p^{1+s}·q^{−s} − p − s(p − q), or with
// large of p^{1+s}·q^{−s}·e^{−shift} alone.
type CutError func(s complex128, large bool, shift float64) float64

// Mirror has P and Q exchanged.
func (o *Outcomes) Mirror() *Outcomes {
	m := &Outcomes{
		Nodes: make([]Node, len(o.Nodes)), WeightErr: o.WeightErr, LostP: o.LostQ, LostQ: o.LostP, LostErr: o.LostErr,
		Reach: o.Reach, In: o.In,
	}
	for i, n := range o.Nodes {
		m.Nodes[i] = Node{n.Half, n.LogQ, n.LogP, n.ErrQ, n.ErrP}
	}
	if o.CutError != nil { // the integrand at s is the mirror's at −1−s, linear terms too
		m.CutError = func(s complex128, large bool, shift float64) float64 { return o.CutError(-1-s, large, shift) }
	}
	return m
}

// finite is P(L < ∞) of the pair before it was flipped.
func (o *Outcomes) finite() float64 {
	if o.Flipped {
		return 1 - o.LostQ
	}
	return 1 - o.LostP
}

// lost is what to add to Σ w·H at s for (M − 1)·finite, and its derivative.
func (o *Outcomes) lost(s float64) (value, slope float64) {
	slope = o.LostQ - o.LostP
	if o.Flipped {
		s++
	}
	return s * slope, slope
}

// OutcomesLine is K of outcomes on the line s = θ + it, θ ≥ −½. With H as in
// docs/math/sampled-gaussian.md §1.2.1, Σ wp = 1 − lostP and Σ wq = 1 − lostQ,
//
//	(1 − lostP)·(M − 1) = Σ w·H + s·(lostQ − lostP),
//
// and with P and Q exchanged, at −1−s, the same sum with (1+s)·(lostQ − lostP) is
// (1 − lostQ)·(M − 1) (docs/math/sampling.md §1.3.5).
type OutcomesLine struct {
	terms  sampledLine // θ, large and shift: what its method terms needs
	refine func(size float64) *Outcomes

	finer *OutcomesLine // the same with more nodes, made when needed

	out                           *Outcomes // of the nodes below
	nodes                         []tiltedNode
	moment, err, slope, curvature float64 // as in sampledLine, before division by the finite mass
	noise                         float64 // error of slope
	finite                        float64 // P(L < ∞)
}

// NewOutcomesLine tilts what refine(|s|) returns, which must be fine enough for s;
// refine returns nil where that would take too many nodes.
func NewOutcomesLine(refine func(size float64) *Outcomes, theta float64) *OutcomesLine {
	l := &OutcomesLine{terms: sampledLine{theta: theta}, refine: refine}
	o := refine(math.Abs(theta))
	if o == nil {
		return nil
	}
	var peak float64
	for _, n := range o.Nodes {
		peak = math.Max(peak, n.LogP+theta*(n.LogP-n.LogQ)-n.Half)
	}
	if theta > 0 && peak > 5 {
		l.terms.large, l.terms.shift = true, peak
	}
	l.tilt(o)
	// M − 1 has few digits of an M near 0, which Q's missing mass allows: the sum of M
	// itself, all of whose terms are positive, has all of them.
	if !l.terms.large && theta > 0 && o.CutError == nil && l.mass() < l.finite/2 {
		l.terms.large, l.terms.shift = true, peak
		l.tilt(o)
	}
	return l
}

// tilt fills everything from nodes.
func (l *OutcomesLine) tilt(o *Outcomes) {
	o.In.Spend(TiltWork * len(o.Nodes))
	l.out, l.finite, l.nodes = o, o.finite(), make([]tiltedNode, len(o.Nodes))
	s, large := l.terms.theta, l.terms.large
	var moment, slope, curvature num.Sum
	var acc, noiseOf float64
	for i, n := range o.Nodes {
		v := l.terms.terms(n, s)
		moment.Add(v.excess)
		slope.Add(v.slope)
		curvature.Add(v.tilted * v.loss * v.loss)
		acc += v.err + o.WeightErr*math.Abs(v.excess)
		noiseOf += v.noise + o.WeightErr*math.Abs(v.slope)
		rounding := 16 + o.WeightErr + 2*n.Half + 3*math.Abs(n.LogP) + 3*math.Abs(n.LogQ) + 3*math.Abs(s*v.loss) +
			2*math.Abs(l.terms.shift)
		l.nodes[i] = tiltedNode{
			v.tilted, v.loss,
			num.Ulp * (rounding + math.Abs(1+s)*n.ErrP + math.Abs(s)*n.ErrQ),
			num.Ulp * (n.ErrP + n.ErrQ + math.Abs(v.loss)),
		}
	}
	if !large {
		lost, each := o.lost(s)
		moment.Add(lost)
		slope.Add(each)
		// Rounded up from what was reported, and rounded once.
		acc += 4 * math.Abs(lost)
		noiseOf += 4 * math.Abs(each)
		if o.LostErr > 0 {
			over := s
			if o.Flipped {
				over++
			}
			acc += o.LostErr / num.Ulp * math.Abs(over)
			noiseOf += o.LostErr / num.Ulp
		}
	}
	l.moment, l.slope, l.curvature = moment.Value(), slope.Value(), curvature.Value()
	l.err = num.Ulp*(acc+8*math.Abs(l.moment)) + l.cutError(0) + 1e-300
	l.noise = num.Ulp * (noiseOf + 8*math.Abs(l.slope))
	if lost, _ := o.lost(s); s == 0 && lost == 0 { // M(0) = M(−1) = 1 exactly
		l.moment, l.err = 0, 0
	}
}

func (l *OutcomesLine) cutError(t float64) float64 {
	if l.out.CutError == nil {
		return 0
	}
	return l.out.CutError(complex(l.terms.theta, t), l.terms.large, l.terms.shift)
}

// mass is M(θ) times the finite mass, in units of e^{shift}.
func (l *OutcomesLine) mass() float64 {
	if l.terms.large {
		return l.moment
	}
	return l.finite + l.moment
}

// Cumulant is K(θ); its error is infinite where nothing is known.
func (l *OutcomesLine) Cumulant() loss.Value {
	v := loss.Value{}
	mass := l.mass()
	off := (num.Ulp*(2+4*(1-l.finite)) + l.out.LostErr) / l.finite // relative error of finite
	if l.terms.large {
		v.K = l.terms.shift + num.Log(l.moment) - math.Log(l.finite)
		v.Err = math.Inf(1)
		if rest := l.moment - l.err; rest > 0 {
			v.Err = l.err/rest + 4*num.Ulp*(1+math.Abs(l.terms.shift)+math.Abs(v.K)) + off
		}
	} else {
		v.K, v.Err = loss.FromExcess(l.moment/l.finite,
			(l.err+(4*num.Ulp+off)*math.Abs(l.moment))/l.finite*(1+4*num.Ulp))
	}
	v.Slope = l.slope / mass
	v.Curvature = l.curvature/mass - v.Slope*v.Slope
	return v
}

// ComplexCumulant returns K(θ+it) as that of a sampledLine does.
func (l *OutcomesLine) ComplexCumulant(t float64) loss.ComplexValue {
	k := l.Cumulant()
	if t == 0 {
		return loss.Around(complex(k.K, 0), k.Err)
	}
	none := loss.ComplexValue{K: complex(k.K, 0), Err: math.Inf(1), Upper: k.Upper()}
	f := l
	if size := math.Hypot(l.terms.theta, t); size > l.out.Reach {
		if l.finer == nil || size > l.finer.out.Reach {
			o := l.refine(size)
			if o == nil {
				return none
			}
			g := *l
			g.tilt(o)
			l.finer = &g
		}
		f = l.finer
	}
	f.out.In.Spend(turnWork * len(f.nodes))
	var re, im num.Sum
	var acc float64
	for i := range f.nodes {
		n := &f.nodes[i]
		x := t * n.loss
		half := math.Sin(x / 2)
		square := 2 * half * half
		var odd, turned float64 // the imaginary part and what it moves by with x
		if f.terms.large {
			odd, turned = math.Sin(x), 1
		} else {
			odd, turned = sineRemainder(x), math.Min(2, x*x/2)
		}
		re.Add(-n.weight * square)
		im.Add(n.weight * odd)
		dx := math.Abs(t)*n.lossErr + 2*num.Ulp*math.Abs(x)
		acc += n.weight * (n.weightErr*(square+math.Abs(odd)) + (math.Min(1, math.Abs(x))+turned)*dx)
	}
	moved := complex(re.Value(), im.Value())
	err := acc + 2*f.cutError(t) + f.cutError(0) + 8*num.Ulp*cmplx.Abs(moved)
	if !f.terms.large {
		moved += complex(0, t*f.slope)
		err += math.Abs(t)*f.noise + 8*num.Ulp*math.Abs(t*f.slope)
	}
	mass := f.mass()
	if !(mass > 2*f.err) {
		return none
	}
	quotient := moved / complex(mass, 0)
	v := loss.FromComplexExcess(quotient, (err+(2*f.err+8*num.Ulp*mass)*cmplx.Abs(quotient))/mass)
	baseErr := k.Err + 2*num.Ulp*math.Abs(k.K)
	upper := math.Min(k.Upper(), num.UpBy(v.Upper+k.K, baseErr+num.Ulp*math.Abs(v.Upper)))
	return loss.ComplexValue{K: v.K + complex(k.K, 0), Err: v.Err + baseErr, Upper: upper}
}
