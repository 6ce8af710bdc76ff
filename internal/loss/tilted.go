// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/num"
)

// Tilted is one loss in one direction on the line Re s = θ > −1: all that an
// integral along it needs. It is not for concurrent use.
type Tilted struct {
	steps Steps
	make  func() Decay
	decay Decay // made when needed
	spent float64
}

// Steps evaluates K on the line Re s = θ at equal steps. It is not for concurrent use.
type Steps interface {
	// K is K(θ).
	K() Value

	// Along returns K(θ + ik·step) − K(θ) for k = 0 … n−1, with the error of the
	// difference. Upper ≤ 0 bounds its real part, also where Err is +Inf. Every
	// k·step must be exact: a step of few bits. Once stop returns true nothing more is
	// known than |φ| ≤ 1.
	Along(step float64, n int, stop func() bool) []ComplexValue

	// Spent is about what was computed so far, in units of a few nanoseconds: the
	// turns of a quadrature's nodes that take as long. Closed forms count as nothing.
	Spent() float64

	// Work is about what Along(step, n) costs, in the units of Spent.
	Work(step float64, n int) float64
}

// Stepped is a loss that takes equal steps along a line faster than one by one, or for
// which each of them costs something.
type Stepped interface {
	Steps(d Direction, theta float64, in *num.Interrupt) Steps
}

// Tilt returns l on the line Re s = theta.
func Tilt(l Loss, d Direction, theta float64, in *num.Interrupt) *Tilted {
	t := &Tilted{}
	if s, ok := l.(Stepped); ok {
		t.steps = s.Steps(d, theta, in)
	} else {
		t.steps = OneByOne(l, d, theta, nil, in)
	}
	t.make = func() Decay { return l.Decay(d, theta, t.steps.K(), in) }
	return t
}

// K is K(θ).
func (t *Tilted) K() Value { return t.steps.K() }

// Along is that of Steps.
func (t *Tilted) Along(step float64, n int, stop func() bool) []ComplexValue {
	return t.steps.Along(step, n, stop)
}

// Spent is that of Steps, and what was spent on Decay.
func (t *Tilted) Spent() float64 { return t.steps.Spent() + t.spent }

// Work is that of Steps.
func (t *Tilted) Work(step float64, n int) float64 { return t.steps.Work(step, n) }

// Decay bounds ln|φ(t)| over t0 ≤ t ≤ t1, as the type Decay says (docs/math/inversion.md §2.3).
func (t *Tilted) Decay(t0, t1 float64, closely bool) float64 {
	if t.decay == nil {
		t.decay = t.make()
	}
	log, spent := t.decay(t0, t1, closely)
	t.spent += spent
	return log
}

// OneByOne takes a loss's steps one by one along its Line. work is about what K(θ+it)
// costs, in the units of Spent; nil for closed forms.
func OneByOne(l Loss, d Direction, theta float64, work func(t float64) float64, in *num.Interrupt) Steps {
	return &singleSteps{loss: l, d: d, theta: theta, k: l.Cumulant(d, theta, in), work: work, in: in}
}

type singleSteps struct {
	loss  Loss
	d     Direction
	theta float64
	k     Value
	work  func(t float64) float64
	spent float64
	in    *num.Interrupt
}

func (p *singleSteps) K() Value       { return p.k }
func (p *singleSteps) Spent() float64 { return p.spent }

func (p *singleSteps) Work(step float64, n int) float64 {
	const closedForm = 10
	if p.work == nil {
		return closedForm * float64(n)
	}
	return p.work(float64(n)*step) * float64(n)
}

func (p *singleSteps) Along(step float64, n int, stop func() bool) []ComplexValue {
	out := make([]ComplexValue, n)
	line := p.loss.Line(p.d, p.theta, p.in)
	for k := 1; k < n; k++ {
		if p.work != nil {
			if stop != nil && stop() {
				for ; k < n; k++ {
					out[k] = Unknown()
				}
				break
			}
			p.spent += p.work(float64(k) * step)
		}
		v := line(float64(k) * step)
		v.K -= complex(p.k.K, 0)
		out[k] = ComplexValue{v.K, v.Err + p.k.Err + num.Ulp*cmplx.Abs(v.K), math.Min(0, num.Up(v.Upper-p.k.Lower()))}
		if cmplx.IsNaN(v.K) || !(out[k].Err >= 0) {
			out[k] = Unknown()
		}
	}
	return out
}

// Unknown is all that is known where nothing is: |φ| ≤ 1.
func Unknown() ComplexValue { return ComplexValue{Err: math.Inf(1)} }
