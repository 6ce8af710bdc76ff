// SPDX-License-Identifier: Apache-2.0

package loss

import "github.com/dpaccountant/accountant/internal/num"

// Toward is c with the losses of one direction in the place of both.
func (c Composition) Toward(d Direction) Composition {
	one := make(Composition, len(c))
	for i, t := range c {
		if !t.Loss.Facts().Symmetric {
			t.Loss = oneWay{t.Loss, d}
		}
		one[i] = t
	}
	return one.Merged()
}

// oneWay is a loss in one direction only. What the loss can do besides is left out, but for what takes less time.
type oneWay struct {
	Loss
	way Direction
}

func (o oneWay) Facts() Facts {
	f := o.Loss.Facts()
	f.InfinityMass = f.InfinityMassIn(o.way)
	f.Symmetric, f.OneSided, f.Uneven = true, false, false
	return f
}

func (o oneWay) LostAtLeast(Direction) float64 {
	if l, ok := o.Loss.(partlyLost); ok {
		return l.LostAtLeast(o.way)
	}
	return 0
}

func (o oneWay) Cumulant(_ Direction, s float64, in *num.Interrupt) Value {
	return o.Loss.Cumulant(o.way, s, in)
}

func (o oneWay) Renyi(_ Direction, s float64, in *num.Interrupt) Value {
	return Renyi(o.Loss, o.way, s, in)
}

func (o oneWay) Line(_ Direction, theta float64, in *num.Interrupt) Line {
	return o.Loss.Line(o.way, theta, in)
}

func (o oneWay) MaxLoss(Direction) float64 { return o.Loss.MaxLoss(o.way) }

func (o oneWay) Pair(_ Direction, side Side, in *num.Interrupt) Pair {
	return o.Loss.Pair(o.way, side, in)
}

func (o oneWay) Decay(_ Direction, theta float64, k Value, in *num.Interrupt) Decay {
	return o.Loss.Decay(o.way, theta, k, in)
}

// Covers: only itself is known to be covered.
func (o oneWay) Covers(Loss) bool { return false }

// Grouped: nothing is asked of groups in one direction.
func (o oneWay) Grouped(uint64) (Loss, error) { return nil, nil }

func (o oneWay) Steps(_ Direction, theta float64, in *num.Interrupt) Steps {
	if s, ok := o.Loss.(Stepped); ok {
		return s.Steps(o.way, theta, in)
	}
	return OneByOne(o.Loss, o.way, theta, nil, in)
}

func (o oneWay) Estimate(_ Direction, in *num.Interrupt) Estimate {
	return EstimateOf(o.Loss, o.way, in)
}
