package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// inBatch: a replaced record's pair is not known.
func (truncated) inBatch(replace bool) (batch, bool) { return without, !replace }

// sampledOutcomes: nothing is known of the atoms where the bound is very near the distance.
func (l truncated) sampledOutcomes(s sample, size float64) *outcomes {
	if !(l.bound-l.e0 > 1e-9) {
		return nil
	}
	return s.sloped(l.Pair(Remove, Dominating), l.e0, l.atom, size)
}

// sampledDecay: none is proven.
func (truncated) sampledDecay(sample, Direction, float64, Value) Decay { return Undecayed }

func (l truncated) sampledPair(s sample, d Direction, side Side) Pair { return s.pair(l, d, side) }

func (l truncated) sampledWork(s sample, size float64) float64 { return s.panelWork(l.e0, size) }

// inBatch: a replaced record's pair is not known.
func (overlapping) inBatch(replace bool) (batch, bool) { return without, !replace }

func (l overlapping) sampledOutcomes(s sample, size float64) *outcomes {
	return s.sloped(l.Pair(Remove, Dominating), l.r, l.atom, size)
}

// sampledDecay: none is proven.
func (overlapping) sampledDecay(sample, Direction, float64, Value) Decay { return Undecayed }

func (l overlapping) sampledPair(s sample, d Direction, side Side) Pair { return s.pair(l, d, side) }

func (l overlapping) sampledWork(s sample, size float64) float64 { return s.panelWork(l.r, size) }

// sloped has the atoms of cut-off Laplace noise, its density by panels as
// sampledOutcomes of Laplace have the whole one, and what only Q has, which becomes ln(1−q); nil
// out of range.
func (x sample) sloped(pair Pair, e0, atom, size float64) *outcomes {
	p, ok := pair.(slopedPair)
	if !ok || !(e0 <= mostInner) {
		return nil
	}
	count, h, reach := x.panels(e0, size)
	if !(count <= maxNodes/32) {
		return nil
	}
	m := newMix(x.rate)
	whole := x.laplaceCut(p.reach, count, h)
	more := 2 * math.Exp(p.log) * (1 + 1e-9) // the density over the Laplace one
	// The atom is within 200 Ulp, the rest as much as that leaves.
	rest := 256 / (1 - p.infinite)
	lost := x.infinite(atom)
	o := &outcomes{
		weightErr: 64 + 10*p.reach + p.logErr/num.Ulp + 2*math.Abs(p.log) + rest, reach: reach,
		lostP: lost, lostErr: 256 * num.Ulp * lost,
		cut: func(s complex128, large bool, shift float64) float64 { return more * whole(s, large, shift) },
	}
	add := func(half, u, du float64) {
		lp, _, err := m.logRatio(u, du)
		o.nodes = append(o.nodes, node{half: half, lp: lp, errP: err})
	}
	for _, end := range p.ends {
		add(end.Loss-end.LogP, end.Loss, 8*p.reach)
		o.weightErr = math.Max(o.weightErr, 16+end.LogErr/num.Ulp+10*p.reach+2*math.Abs(end.LogP)+rest)
	}
	for i := range count {
		middle := float64(2*i+1) * h // of u + reach
		for j, x := range legendrePoints {
			log := num.Log(h*legendreWeights[j]/2) + p.log
			for _, d := range [2]float64{middle - h*x, middle + h*x} {
				add(d/2-log, d-p.reach, 10*p.reach)
			}
		}
	}
	o.nodes = append(o.nodes, x.missed(p.infinite))
	return o
}
