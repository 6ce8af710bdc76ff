// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// However early a question is stopped, what is proven by then holds the answer.
func TestContourStops(t *testing.T) {
	for _, l := range []loss.Composition{
		pldtest.Losses(t, pldtest.SampledSteps(0.01, 1, 1000)),
		// skewed, with a closer look
		pldtest.Losses(t, pldtest.SampledSteps(1e-3, 0.8, 300), pldtest.SampledSteps(0.2, 3, 5)),
		pldtest.Losses(t, pldtest.SampledSteps(0.5, 0.3, 20)), // many nodes
	} {
		down, up := num.LogDown(1e-5), num.LogUp(1e-5)
		best, reason := Epsilon(l, down, up, interval.Wanted{})
		if reason != "" {
			t.Fatal(reason)
		}
		for _, asks := range []int{0, 1, 3, 10, 30, 100, 300, 1000} {
			left := asks
			w := interval.Wanted{Stop: func() bool { left--; return left < 0 }}
			b, reason := Epsilon(l, down, up, w)
			if reason == "" && !(b.Lower <= best.Upper && best.Lower <= b.Upper) {
				t.Errorf("%v stopped after %d: [%v, %v], at leisure [%v, %v]", l, asks, b.Lower,
					b.Upper, best.Lower, best.Upper)
			}
			left = asks
			at := best.Lower + (best.Upper-best.Lower)/2
			d, reason := LogDelta(l, at, w)
			if slack := 1e-3 + 30*(best.Upper-best.Lower); reason == "" &&
				!(d.Lower <= up+slack && down-slack <= d.Upper) {
				t.Errorf("%v stopped after %d: ln δ in [%v, %v], at leisure %v", l, asks, d.Lower, d.Upper, down)
			}
		}
	}
}

// A meter that runs out leaves bounds that hold, or none.
func TestContourOutOfWork(t *testing.T) {
	l := pldtest.Losses(t, pldtest.SampledSteps(1e-3, 0.8, 300))
	p, reason := split(l)
	if reason != "" {
		t.Fatal(reason)
	}
	down, up := num.LogDown(1e-5), num.LogUp(1e-5)
	best, _, _ := p.epsilonOf(loss.Remove, down, up, interval.Wanted{})
	p.meter = newMeter(1, interval.Wanted{})
	st := p.steer(loss.Remove)
	pl := st.plan(st.forEpsilon(best.Upper), best.Upper, down, mostTolerance, math.Inf(1))
	answered, refused := 0, 0
	for work := 1.0; work < mostWork; work *= 3 {
		p.meter.left = work
		c, reason := newInversion(&p, loss.Remove, pl)
		if reason != "" {
			refused++
			continue
		}
		answered++
		if b := c.epsilon(down, up, best.Upper); !(b.Lower <= best.Upper && best.Lower <= b.Upper) {
			t.Errorf("with work for %v: [%v, %v], at leisure [%v, %v]", work, b.Lower, b.Upper, best.Lower, best.Upper)
		}
	}
	if answered == 0 || refused == 0 {
		t.Errorf("%d answered, %d refused", answered, refused)
	}
}

// Few steps of a small q: the saddle point's estimate of ε is far off, and the
// characteristic function falls slowly. The lattice, which shares nothing with the
// contour, agrees.
func TestContourReachesFewSteps(t *testing.T) {
	l := pldtest.Losses(t, pldtest.SampledSteps(1e-3, 0.8, 100))
	for _, delta := range []float64{1e-5, 1e-8} {
		b, reason := Epsilon(l, num.LogDown(delta), num.LogUp(delta), interval.Wanted{})
		if reason != "" || !(b.Upper-b.Lower <= 1e-6) {
			t.Errorf("ε(%v) in [%v, %v] %s", delta, b.Lower, b.Upper, reason)
		}
		o, _ := lattice.Epsilon(l, delta, interval.Wanted{Gap: 1e-3})
		if !(b.Lower <= o.Upper && o.Lower <= b.Upper) {
			t.Errorf("ε(%v) in [%v, %v], by the lattice [%v, %v]", delta, b.Lower, b.Upper, o.Lower, o.Upper)
		}
	}
}
