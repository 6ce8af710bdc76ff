package loss

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/num"
)

// outcomes is one direction's pair as a finite sum: outcomes whose finite losses
// are Λ = ln p − ln q, with P's mass w·p and Q's mass w·q, and what P and Q have
// where the other has nothing. Together with the nodes of a quadrature a continuous
// part is such a sum too, within a bound.
type outcomes struct {
	nodes        []node  // half = −ln w
	weightErr    float64 // relative error of each w, in Ulp
	lostP, lostQ float64 // P(L = ∞), and Q's mass where P has none
	lostErr      float64 // absolute error of both together, where they are not just rounded
	cut          lostBy  // of the quadrature; nil without one
	flipped      bool    // P and Q are exchanged to take K(s) at −1−s
	reach        float64 // the |s| up to which the quadrature is fine enough

	in *num.Interrupt // of its sums
}

// tiltWork is about what it takes to make or to tilt one outcome, in nanoseconds, and
// turnWork what one takes on the line.
const tiltWork, turnWork = 150, 60

// lostBy bounds the error of the quadrature of p^{1+s}·q^{−s} − p − s(p − q), or with
// large of p^{1+s}·q^{−s}·e^{−shift} alone.
type lostBy func(s complex128, large bool, shift float64) float64

// mirror has P and Q exchanged.
func (o *outcomes) mirror() *outcomes {
	m := &outcomes{
		nodes: make([]node, len(o.nodes)), weightErr: o.weightErr, lostP: o.lostQ, lostQ: o.lostP, lostErr: o.lostErr,
		reach: o.reach, in: o.in,
	}
	for i, n := range o.nodes {
		m.nodes[i] = node{n.half, n.lq, n.lp, n.errQ, n.errP}
	}
	if o.cut != nil { // the integrand at s is the mirror's at −1−s, linear terms too
		m.cut = func(s complex128, large bool, shift float64) float64 { return o.cut(-1-s, large, shift) }
	}
	return m
}

// finite is P(L < ∞) of the pair before it was flipped.
func (o *outcomes) finite() float64 {
	if o.flipped {
		return 1 - o.lostQ
	}
	return 1 - o.lostP
}

// lost is what to add to Σ w·H at s for (M − 1)·finite, and its derivative.
func (o *outcomes) lost(s float64) (value, slope float64) {
	slope = o.lostQ - o.lostP
	if o.flipped {
		s++
	}
	return s * slope, slope
}

// outcomesLine is K of outcomes on the line s = θ + it, θ ≥ −½. With H as in
// docs/math/sampled-gaussian.md §1.2.1, Σ wp = 1 − lostP and Σ wq = 1 − lostQ,
//
//	(1 − lostP)·(M − 1) = Σ w·H + s·(lostQ − lostP),
//
// and with P and Q exchanged, at −1−s, the same sum with (1+s)·(lostQ − lostP) is
// (1 − lostQ)·(M − 1) (docs/math/sampling.md §1.3.5).
type outcomesLine struct {
	terms  sampledLine // θ, large and shift: what its method terms needs
	refine func(size float64) *outcomes

	finer *outcomesLine // the same with more nodes, made when needed

	out                           *outcomes // of the nodes below
	nodes                         []tiltedNode
	moment, err, slope, curvature float64 // as in sampledLine, before division by the finite mass
	noise                         float64 // error of slope
	finite                        float64 // P(L < ∞)
}

// newOutcomesLine tilts what refine(|s|) returns, which must be fine enough for s;
// refine returns nil where that would take too many nodes.
func newOutcomesLine(refine func(size float64) *outcomes, theta float64) *outcomesLine {
	l := &outcomesLine{terms: sampledLine{theta: theta}, refine: refine}
	o := refine(math.Abs(theta))
	if o == nil {
		return nil
	}
	var peak float64
	for _, n := range o.nodes {
		peak = math.Max(peak, n.lp+theta*(n.lp-n.lq)-n.half)
	}
	if theta > 0 && peak > 5 {
		l.terms.large, l.terms.shift = true, peak
	}
	l.tilt(o)
	// M − 1 has few digits of an M near 0, which Q's missing mass allows: the sum of M
	// itself, all of whose terms are positive, has all of them.
	if !l.terms.large && theta > 0 && o.cut == nil && l.mass() < l.finite/2 {
		l.terms.large, l.terms.shift = true, peak
		l.tilt(o)
	}
	return l
}

// tilt fills everything from nodes.
func (l *outcomesLine) tilt(o *outcomes) {
	o.in.Spend(tiltWork * len(o.nodes))
	l.out, l.finite, l.nodes = o, o.finite(), make([]tiltedNode, len(o.nodes))
	s, large := l.terms.theta, l.terms.large
	var moment, slope, curvature num.Sum
	var acc, noise float64
	for i, n := range o.nodes {
		v := l.terms.terms(n, s)
		moment.Add(v.excess)
		slope.Add(v.slope)
		curvature.Add(v.tilted * v.loss * v.loss)
		acc += v.err + o.weightErr*math.Abs(v.excess)
		noise += v.noise + o.weightErr*math.Abs(v.slope)
		rounding := 16 + o.weightErr + 2*n.half + 3*math.Abs(n.lp) + 3*math.Abs(n.lq) + 3*math.Abs(s*v.loss) + 2*math.Abs(l.terms.shift)
		l.nodes[i] = tiltedNode{
			v.tilted, v.loss,
			num.Ulp * (rounding + math.Abs(1+s)*n.errP + math.Abs(s)*n.errQ), num.Ulp * (n.errP + n.errQ + math.Abs(v.loss)),
		}
	}
	if !large {
		lost, each := o.lost(s)
		moment.Add(lost)
		slope.Add(each)
		// Rounded up from what was reported, and rounded once.
		acc += 4 * math.Abs(lost)
		noise += 4 * math.Abs(each)
		if o.lostErr > 0 {
			over := s
			if o.flipped {
				over++
			}
			acc += o.lostErr / num.Ulp * math.Abs(over)
			noise += o.lostErr / num.Ulp
		}
	}
	l.moment, l.slope, l.curvature = moment.Value(), slope.Value(), curvature.Value()
	l.err = num.Ulp*(acc+8*math.Abs(l.moment)) + l.cutError(0) + 1e-300
	l.noise = num.Ulp * (noise + 8*math.Abs(l.slope))
	if lost, _ := o.lost(s); s == 0 && lost == 0 { // M(0) = M(−1) = 1 exactly
		l.moment, l.err = 0, 0
	}
}

func (l *outcomesLine) cutError(t float64) float64 {
	if l.out.cut == nil {
		return 0
	}
	return l.out.cut(complex(l.terms.theta, t), l.terms.large, l.terms.shift)
}

// mass is M(θ) times the finite mass, in units of e^{shift}.
func (l *outcomesLine) mass() float64 {
	if l.terms.large {
		return l.moment
	}
	return l.finite + l.moment
}

// value is K(θ); its error is infinite where nothing is known.
func (l *outcomesLine) value() Value {
	v := Value{}
	mass := l.mass()
	off := (num.Ulp*(2+4*(1-l.finite)) + l.out.lostErr) / l.finite // relative error of finite
	if l.terms.large {
		v.K = l.terms.shift + num.Log(l.moment) - math.Log(l.finite)
		v.Err = math.Inf(1)
		if rest := l.moment - l.err; rest > 0 {
			v.Err = l.err/rest + 4*num.Ulp*(1+math.Abs(l.terms.shift)+math.Abs(v.K)) + off
		}
	} else {
		v.K, v.Err = fromExcess(l.moment/l.finite, (l.err+(4*num.Ulp+off)*math.Abs(l.moment))/l.finite*(1+4*num.Ulp))
	}
	v.Slope = l.slope / mass
	v.Curvature = l.curvature/mass - v.Slope*v.Slope
	return v
}

// at returns K(θ+it) as sampledLine.at does.
func (l *outcomesLine) at(t float64) ComplexValue {
	k := l.value()
	if t == 0 {
		return around(complex(k.K, 0), k.Err)
	}
	none := ComplexValue{complex(k.K, 0), math.Inf(1), k.Upper()}
	f := l
	if size := math.Hypot(l.terms.theta, t); size > l.out.reach {
		if l.finer == nil || size > l.finer.out.reach {
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
	f.out.in.Spend(turnWork * len(f.nodes))
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
	v := fromComplexExcess(quotient, (err+(2*f.err+8*num.Ulp*mass)*cmplx.Abs(quotient))/mass)
	baseErr := k.Err + 2*num.Ulp*math.Abs(k.K)
	upper := math.Min(k.Upper(), num.UpBy(v.Upper+k.K, baseErr+num.Ulp*math.Abs(v.Upper)))
	return ComplexValue{v.K + complex(k.K, 0), v.Err + baseErr, upper}
}
