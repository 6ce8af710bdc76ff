// SPDX-License-Identifier: Apache-2.0

// Package interval holds what every analysis below pld shares: how close the bounds of
// an answer should be, and what two intervals that hold together prove.
package interval

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Everything holds every ε and every ln δ: it is the interval of which nothing is known.
var Everything = loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(1)}

// OutOfTime is the reason for having no answer when the question was stopped.
const OutOfTime = "there was no time left"

// Wanted says how close the bounds should be and when to stop looking.
type Wanted struct {
	// Gap is the wanted upper − lower: of ε in nats, or of ln δ. 0 stands for
	// 1e−6·max(1, ε) and 1e−5.
	Gap float64

	// Closely: few releases are enclosed more closely than usual, and the upper end of more is sharpened,
	// also where no gap is given.
	Closely bool

	// OneEnd: only one end of these bounds counts, so that few releases are enclosed as closely as many.
	OneEnd bool

	// Half: these bounds are one side of others, which are up to twice as wide. Only a width that
	// is not wanted but usual is halved.
	Half bool

	// Stop, where it is not nil, is asked between steps; once it returns true the
	// best bounds so far are the answer.
	Stop func() bool

	// In interrupts what is computed of the losses; nil: nothing does. Interrupted, less is
	// proven, and where nothing was the reason says so.
	In *num.Interrupt
}

// EpsilonGap is the wanted width of an interval around epsilon.
func (w Wanted) EpsilonGap(epsilon float64) float64 {
	if w.Gap > 0 {
		return w.Gap
	}
	return 1e-6 * math.Max(1, epsilon)
}

// LogGap is the wanted width of an interval of ln δ.
func (w Wanted) LogGap() float64 {
	if w.Gap > 0 {
		return w.Gap
	}
	return 1e-5
}

// Reached reports whether bounds of ε, or of ln δ, are as close as wanted.
func (w Wanted) Reached(epsilon bool, b loss.Bounds) bool {
	gap := w.LogGap()
	if epsilon {
		gap = w.EpsilonGap(b.Lower) // the upper end may be +Inf
	}
	return b.Lower == b.Upper || b.Upper-b.Lower <= gap
}

// Stopped reports whether the time for the question is over.
func (w Wanted) Stopped() bool { return w.Stop != nil && w.Stop() }

// InTime returns what ask returns, or Everything and the reason OutOfTime if ask is
// interrupted.
func (w Wanted) InTime(ask func() (loss.Bounds, string)) (b loss.Bounds, reason string) {
	b, reason = Everything, OutOfTime
	w.In.Try(func() { b, reason = ask() })
	return b, reason
}

// Meet is the interval of what lies in both; its ends are out of order if nothing does.
func Meet(a, b loss.Bounds) loss.Bounds {
	return loss.Bounds{Lower: math.Max(a.Lower, b.Lower), Upper: math.Min(a.Upper, b.Upper)}
}

// Larger encloses the larger of two numbers, given an interval around each.
func Larger(a, b loss.Bounds) loss.Bounds {
	return loss.Bounds{Lower: math.Max(a.Lower, b.Lower), Upper: math.Max(a.Upper, b.Upper)}
}

// Both is what two analyses prove together about the same number; a reason says that one
// of them proves nothing. If they contradict each other, neither is believed against the
// other, and the answer is the interval around both.
func Both(a loss.Bounds, noA string, b loss.Bounds, noB string) (loss.Bounds, string) {
	switch {
	case noA != "":
		return b, noB
	case noB != "":
		return a, ""
	}
	if m := Meet(a, b); m.Lower <= m.Upper {
		return m, ""
	}
	return loss.Bounds{Lower: math.Min(a.Lower, b.Lower), Upper: math.Max(a.Upper, b.Upper)}, ""
}

// LogChernoff returns ln c(s), the factor of Chernoff's bound: δ(ε) ≤ c(s)·e^{K(s)−sε}
// for s > 0, and 1 − δ(ε) ≤ c(s)·e^{K(s)−sε} for −1 ≤ s ≤ 0 (docs/math/inversion.md §2.2).
func LogChernoff(s float64) float64 {
	if s <= 0 {
		return 0
	}
	return -s*math.Log1p(1/s) - math.Log1p(s)
}
