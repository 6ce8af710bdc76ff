// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

// meter bounds the work of one direction of a question. What is proven when it runs
// out is the answer: wide, but sound. Work is in units of a few nanoseconds
// (loss.Tilted.Spent). See docs/math/inversion.md §2.
type meter struct {
	left float64
	stop func() bool // the question's own
	in   *num.Interrupt
}

const (
	mostWork     = 3 << 22 // some 40 ms
	workDistinct = 1 << 17 // and for every distinct loss
	mostScan     = 1 << 21 // of it, for a closer look at how the characteristic function decays
	estimateWork = 1 << 7  // of estimating one loss's cumulant
	boundWork    = 1 << 8  // of bounding one loss's decay
)

// termWork is about what a loss takes at one point that spends nothing itself.
const termWork = 10_000

func newMeter(distinct int, w interval.Wanted) *meter {
	return &meter{left: mostWork + workDistinct*float64(distinct), stop: w.Stop, in: w.In}
}

func (m *meter) spend(work float64) { m.left -= work }

// stopped reports whether the question's own Stop has come.
func (m *meter) stopped() bool { return m.stop != nil && m.stop() }

// out reports whether nothing more should be begun.
func (m *meter) out() bool { return m.left <= 0 || m.stopped() }

// cumulant is a loss's K(s), exactly enough to prove something; +Inf once the
// meter is out.
func (m *meter) cumulant(l loss.Loss, d loss.Direction, s float64) loss.Value {
	if m.out() {
		return loss.Value{K: math.Inf(1), Err: math.Inf(1)}
	}
	on := loss.Tilt(l, d, s, m.in)
	m.spend(on.Spent())
	return on.K()
}
