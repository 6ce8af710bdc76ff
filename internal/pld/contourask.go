package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Wanted says how close the bounds should be and when to stop looking.
type Wanted struct {
	// Gap is the wanted upper − lower: of ε in nats, or of ln δ. 0 stands for
	// 1e−6·max(1, ε) and 1e−5.
	Gap float64

	// Stop, where it is not nil, is asked between steps; once it returns true the
	// best bounds so far are the answer.
	Stop func() bool

	// In interrupts what is computed of the losses; nil: nothing does. Interrupted, less is
	// proven, and where nothing was the reason says so.
	In *num.Interrupt
}

func (w Wanted) epsilonGap(epsilon float64) float64 {
	if w.Gap > 0 {
		return w.Gap
	}
	return 1e-6 * math.Max(1, epsilon)
}

func (w Wanted) logGap() float64 {
	if w.Gap > 0 {
		return w.Gap
	}
	return 1e-5
}

// Reached reports whether bounds of ε, or of ln δ, are as close as wanted.
func (w Wanted) Reached(epsilon bool, b loss.Bounds) bool {
	gap := w.logGap()
	if epsilon {
		gap = w.epsilonGap(b.Lower) // the upper end may be +Inf
	}
	return b.Lower == b.Upper || b.Upper-b.Lower <= gap
}

func (w Wanted) stopped() bool { return w.Stop != nil && w.Stop() }

// inTime is what ask returns, or b, of which nothing is known, where it is interrupted.
func (w Wanted) inTime(b loss.Bounds, ask func() (loss.Bounds, string)) (loss.Bounds, string) {
	reason := outOfTime
	w.In.Try(func() { b, reason = ask() })
	return b, reason
}

const (
	rounds = 3
	// Aliases and truncation take a twentieth of the wanted gap each, and no more
	// than 1e−8: smaller costs little.
	shareOfGap                    = 0.05
	leastTolerance, mostTolerance = 1e-12, 1e-8
	roughTolerance                = 1e-3
)

func toleranceFor(relative float64) float64 {
	return math.Max(leastTolerance, math.Min(mostTolerance, shareOfGap*relative))
}

// everything is what is true of every ε and every ln δ.
var everything = loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(1)}

func meet(a, b loss.Bounds) loss.Bounds {
	return loss.Bounds{Lower: math.Max(a.Lower, b.Lower), Upper: math.Min(a.Upper, b.Upper)}
}

// contourEpsilon encloses ε of the finite losses at ln δ in [down, up], down < 0.
// δ is the larger of both directions', so is ε.
func contourEpsilon(c loss.Composition, down, up float64, w Wanted) (loss.Bounds, string) {
	return w.inTime(everything, func() (loss.Bounds, string) { return contourEpsilonOf(c, down, up, w) })
}

func contourEpsilonOf(c loss.Composition, down, up float64, w Wanted) (loss.Bounds, string) {
	p, reason := split(c)
	if reason != "" {
		return everything, reason
	}
	b, theta, reason := p.epsilonOf(loss.Remove, down, up, w)
	if reason != "" || c.Symmetric() || p.smallerAdd(theta, b.Lower, down) {
		return b, reason
	}
	a, _, reason := p.epsilonOf(loss.Add, down, up, w)
	return loss.Bounds{Lower: math.Max(a.Lower, b.Lower), Upper: math.Max(a.Upper, b.Upper)}, reason
}

// contourLogDelta encloses ln δ(ε) of the finite losses.
func contourLogDelta(c loss.Composition, epsilon float64, w Wanted) (loss.Bounds, string) {
	return w.inTime(everything, func() (loss.Bounds, string) { return contourLogDeltaOf(c, epsilon, w) })
}

func contourLogDeltaOf(c loss.Composition, epsilon float64, w Wanted) (loss.Bounds, string) {
	p, reason := split(c)
	if reason != "" {
		return everything, reason
	}
	b, theta, reason := p.logDeltaOf(loss.Remove, epsilon, w)
	if reason != "" || c.Symmetric() || p.smallerAdd(theta, epsilon, b.Lower) {
		return b, reason
	}
	a, _, reason := p.logDeltaOf(loss.Add, epsilon, w)
	return loss.Bounds{Lower: math.Max(a.Lower, b.Lower), Upper: math.Max(a.Upper, b.Upper)}, reason
}

// smallerAdd reports whether the add direction's δ(ε) is proven to be at most
// e^{logDelta}: by the largest loss, or by Chernoff's bound at some θ > 0.
func (p *parts) smallerAdd(theta, epsilon, logDelta float64) bool {
	if p.maxLoss(loss.Add) <= epsilon {
		return true
	}
	if !(theta > 0) {
		return false
	}
	proven := func(s float64) bool { return chernoffProves(p.cumulant(loss.Add, s), s, epsilon, logDelta) }
	if proven(theta) {
		return true
	}
	x := p.steer(loss.Add).forEpsilon(epsilon)
	return x.theta > 0 && x.logTail < logDelta && proven(x.theta)
}

// chernoffProves reports whether K(s) = k, s > 0, proves ln δ(ε) ≤ logDelta.
func chernoffProves(k loss.Value, s, epsilon, logDelta float64) bool {
	v := k.Upper() - s*epsilon + chernoff(s)
	return num.UpBy(v, 8*num.Ulp*(math.Abs(k.K)+math.Abs(s*epsilon)+math.Abs(v)+8)) <= logDelta
}

// epsilonOf is contourEpsilon in one direction; it also returns θ.
func (p *parts) epsilonOf(d loss.Direction, down, up float64, w Wanted) (b loss.Bounds, theta float64, reason string) {
	p.meter = newMeter(len(p.rest), w)
	st := p.steer(d)
	x := st.forDelta(down)
	if x.epsilon < 0 {
		x = st.forEpsilon(0)
	}
	at, logTail := math.Max(0, x.epsilon), x.logTail
	top := p.maxLoss(d)
	b = loss.Bounds{Lower: 0, Upper: top}
	tighter := 1.0
	for i := range rounds {
		pl := st.plan(x, at, logTail, toleranceFor(tighter*math.Abs(x.theta)*w.epsilonGap(at)), top-at)
		if i == 0 && pl.skewed { // first find out where ε is
			pl = st.plan(x, at, logTail, roughTolerance, top-at)
			tighter *= 30
		}
		c, reason := newContour(p, d, pl)
		if reason != "" {
			if i == 0 {
				return b, 0, reason
			}
			break
		}
		b, theta = meet(b, c.epsilon(down, up, at)), c.theta
		if w.Reached(true, b) || p.meter.out() || c.limited && i > 0 {
			break
		}
		if at = b.Lower + (b.Upper-b.Lower)/2; math.IsInf(at, 1) {
			at = b.Lower
		}
		if x = st.forEpsilon(at); x.theta > 0 {
			logTail = down
		} else {
			logTail = num.Log1mExp(-down)
		}
		tighter /= 30
	}
	return b, theta, ""
}

// logDeltaOf is contourLogDelta in one direction.
func (p *parts) logDeltaOf(d loss.Direction, epsilon float64, w Wanted) (b loss.Bounds, theta float64, reason string) {
	b = loss.Bounds{Lower: math.Inf(-1), Upper: 0}
	top := p.maxLoss(d)
	if top <= epsilon {
		return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}, 0, ""
	}
	p.meter = newMeter(len(p.rest), w)
	st := p.steer(d)
	x := st.forEpsilon(epsilon)
	tighter, logTail := 1.0, x.logTail
	for i := range rounds {
		c, reason := newContour(p, d, st.plan(x, epsilon, logTail, toleranceFor(tighter*w.logGap()), top-epsilon))
		if reason != "" {
			if i == 0 {
				return b, 0, reason
			}
			break
		}
		at, _ := c.logDelta(epsilon)
		b, theta = meet(b, at), c.theta
		if w.Reached(false, b) || p.meter.out() || c.limited {
			break
		}
		if low, high, _ := c.tail(epsilon); high-low < 1 {
			logTail = high
		}
		tighter /= 30
	}
	return b, theta, ""
}
