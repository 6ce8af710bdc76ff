package loss

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/num"
)

// Tilted is one loss in one direction on the line Re s = θ > −1: all that an
// integral along it needs. It is not for concurrent use.
type Tilted struct {
	loss  Loss
	d     Direction
	theta float64

	k     Value
	decay decay // made when needed
	spent float64

	sampled *sampledLine // for a normalPair; at −1−θ of the other direction with flip
	flip    bool
	parts   []*Tilted // of a cutSample: what its points cost
}

// normalPair is a loss whose pair has densities relative to the normal's.
type normalPair interface {
	pair(d Direction, flip bool) sampledPair
}

// Tilt returns l on the line Re s = theta.
func Tilt(l Loss, d Direction, theta float64) *Tilted {
	t := &Tilted{loss: l, d: d, theta: theta}
	if g, ok := l.(normalPair); ok {
		m, flip := mirrored(theta)
		t.sampled, t.flip = newLine(g.pair(d, flip), m), flip
		if t.k = t.sampled.value(); flip {
			t.k.Slope = -t.k.Slope
		}
		return t
	}
	if c, ok := l.(cutSample); ok {
		t.parts = []*Tilted{Tilt(c.kept, d, theta), Tilt(c.cut, d, theta)}
	}
	t.k = l.Cumulant(d, theta)
	return t
}

// K is K(θ).
func (t *Tilted) K() Value { return t.k }

// Along returns K(θ + ik·step) − K(θ) for k = 0 … n−1, with the error of the
// difference. Upper ≤ 0 bounds its real part, also where Err is +Inf. Every
// k·step must be exact: a step of few bits. Once stop returns true nothing more is
// known than |φ| ≤ 1.
func (t *Tilted) Along(step float64, n int, stop func() bool) []ComplexValue {
	out := make([]ComplexValue, n)
	if t.sampled != nil {
		t.sampled.along(step, out, stop)
		if t.flip {
			for k := range out {
				out[k].K = cmplx.Conj(out[k].K)
			}
		}
		return out
	}
	_, costly := t.loss.(sampledLoss)
	costly = costly || t.parts != nil
	line := t.loss.Line(t.d, t.theta)
	for k := 1; k < n; k++ {
		if costly {
			if stop != nil && stop() {
				for ; k < n; k++ {
					out[k] = unknown
				}
				break
			}
			t.spent += t.Work(float64(k)*step, 1)
		}
		v := line(float64(k) * step)
		v.K -= complex(t.k.K, 0)
		out[k] = ComplexValue{v.K, v.Err + t.k.Err + num.Ulp*cmplx.Abs(v.K), math.Min(0, num.Up(v.Upper-t.k.Lower()))}
		if cmplx.IsNaN(v.K) || !(out[k].Err >= 0) {
			out[k] = unknown
		}
	}
	return out
}

// Spent is about what was computed for t so far, in units of a few nanoseconds: the
// turns of a quadrature's nodes that take as long. Closed forms count as nothing.
func (t *Tilted) Spent() float64 {
	if t.sampled == nil {
		return t.spent
	}
	return t.spent + t.sampled.spent
}

// Work is about what Along(step, n) costs, in the units of Spent.
func (t *Tilted) Work(step float64, n int) float64 {
	if l, ok := t.loss.(sampledLoss); ok {
		return l.work(math.Hypot(t.theta, float64(n)*step)) * float64(n)
	}
	if t.parts != nil { // each point by itself
		var each float64
		for _, p := range t.parts {
			each += p.Work(float64(n)*step, 1)
		}
		return each * float64(n)
	}
	if t.sampled == nil {
		return 10 * float64(n)
	}
	if t.sampled.gaveUp {
		return float64(n)
	}
	nodes := float64(maxNodes)
	if level, ok := t.sampled.levelFor(float64(n) * step); ok {
		nodes = math.Ldexp(float64(t.sampled.base.last-t.sampled.base.first), level)
	}
	return nodes * (float64(n) + gridCost)
}

// Decay bounds the tilted characteristic function
//
//	φ(t) = M(θ+it)/M(θ),  M(s) = E[e^{sL} | L < ∞],
//
// on an interval: for 0 < t0 ≤ t1 ≤ +Inf it returns an upper bound ≤ 0 on
// ln|φ(t)| over t0 ≤ t ≤ t1, or 0 where nothing better is known. With closely it
// may take a millisecond where that helps (docs/math/inversion.md §2.3).
func (t *Tilted) Decay(t0, t1 float64, closely bool) float64 {
	if t.decay == nil {
		t.decay = t.newDecay()
	}
	return t.decay(t0, t1, closely)
}
