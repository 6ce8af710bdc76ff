package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// inBatch: a replaced record's pair is not known.
func (lossTable) inBatch(replace bool) (batch, bool) { return without, !replace }

// sampledOutcomes are the losses of the table, and what is missing of Q, which becomes
// ln(1−q). What P's masses are from adding up to what is left moves each of them, and
// its loss, by no more than off Ulp; what is missing is known within an absolute bound,
// which cut multiplies with what such a mass adds: H, or large, relative to Q.
func (l lossTable) sampledOutcomes(x sample, _ float64) *outcomes {
	if !(l.Facts().Epsilon <= mostInner) {
		return nil
	}
	m := newMix(x.rate)
	off := 16 + 16/(1-l.infinite)
	lost := x.infinite(l.infinite)
	o := &outcomes{weightErr: off, lostP: lost, lostErr: 16 * num.Ulp * lost, reach: math.Inf(1)}
	for i, p := range l.masses.Values() {
		u, log := l.losses.At(i), num.Log(p)
		lp, _, err := m.logRatio(u, off)
		o.nodes = append(o.nodes, node{half: u - log, lp: lp, errP: err})
		o.weightErr = math.Max(o.weightErr, off+8+2*math.Abs(log)+2*math.Abs(u))
	}
	missing := l.missing
	if !(missing.Upper > 0) {
		return o
	}
	miss := x.missed((missing.Lower + missing.Upper) / 2)
	o.nodes = append(o.nodes, miss)
	half, lp := (missing.Upper-missing.Lower)/2*(1+1e-9), miss.lp
	o.cut = func(s complex128, large bool, shift float64) float64 {
		theta, size := real(s), math.Hypot(real(s), imag(s))
		direct := (1 + theta) * lp
		if large {
			return half * math.Exp(direct-shift)
		}
		// |E(z)| ≤ |z|²/2·e^{max(0, Re z)}, and D(x) ≤ x²/2 for x ≤ 0.
		bound := math.Exp(lp+math.Max(0, theta*lp))*size*size*lp*lp/2 + size*lp*lp/2
		return half * math.Min(bound, math.Exp(direct)+1+size)
	}
	return o
}

// sampledDecay: atoms alone have none.
func (lossTable) sampledDecay(sample, Direction, float64, Value) Decay { return Undecayed }

func (l lossTable) sampledPair(s sample, d Direction, side Side) Pair { return s.pair(l, d, side) }

func (l lossTable) sampledWork(sample, float64) float64 { return nodeWork * float64(l.losses.Len()) }
