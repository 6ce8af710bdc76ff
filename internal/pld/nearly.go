// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// nearly has pairs in the place of what is nearly known, with the sums of all λ and ln c, rounded up: then
// δ(ε) ≤ c·δ′(ε − λ). So it has for the best of several runs, down to δ = e^deepest. It is false where nothing is. See
// docs/math/noise.md §1.4.12 and docs/math/best-of.md §1.6.8.
func nearly(c loss.Composition, deepest float64, in *num.Interrupt) (pairs loss.Composition, shift, factor float64,
	ok bool) {
	for _, t := range c {
		if best, is := t.Loss.(loss.Chosen); is {
			if l := bestOf(best, deepest, in).above; l != nil {
				t.Loss, ok = l, true
			}
		}
		n, is := t.Loss.(loss.Nearly)
		if !is {
			pairs = append(pairs, t)
			continue
		}
		l, one, log, known := n.Nearly()
		if !known {
			pairs = append(pairs, t)
			continue
		}
		count := num.Count(t.Count)
		shift, factor, ok = num.AddUp(shift, num.MulUp(count, one)), num.AddUp(factor, num.MulUp(count, log)), true
		pairs = append(pairs, loss.Term{Loss: l, Count: t.Count})
	}
	if !ok {
		return nil, 0, 0, false
	}
	return pairs.Merged(), shift, factor, true
}

// usualDeepest is the ln δ down to which pairs are good, if no smaller δ is asked for: so questions share them.
const usualDeepest = -50

// nearlyEpsilon lowers the upper end of b, or has one where b has none for the reason given, and raises the lower one
// by what is attained.
func nearlyEpsilon(c loss.Composition, delta float64, w Wanted, b loss.Bounds, reason string) (loss.Bounds, string) {
	deepest := float64(usualDeepest)
	for deepest > num.LogDown(delta)-5 { // what the pair leaves out is little beside δ
		deepest *= 2
	}
	b, reason = nearlyEpsilonAbove(c, delta, deepest, w, b, reason)
	if reason != "" {
		return b, reason
	}
	if least, ok := attainedAmong(c, deepest, worthEpsilon(delta), w.In); ok {
		w.OneEnd = true
		if e, none := epsilonOfPairs(least, delta, w); none == "" {
			b.Lower = math.Max(b.Lower, e.Lower)
		}
	}
	return b, ""
}

func nearlyEpsilonAbove(c loss.Composition, delta, deepest float64, w Wanted, b loss.Bounds,
	reason string) (loss.Bounds, string) {
	pairs, shift, factor, ok := nearly(c, deepest, w.In)
	if !ok {
		return b, reason
	}
	less := num.Down(delta * num.ExpDown(-factor))
	if !(less > 0) {
		return b, reason
	}
	e, none := epsilonOfPairs(pairs, less, w)
	if none != "" {
		return b, reason
	}
	if reason != "" {
		b = loss.Bounds{Upper: math.Inf(1)}
	}
	b.Upper = math.Min(b.Upper, num.AddUp(e.Upper, shift))
	return b, ""
}

// nearlyLogDelta is for LogDelta what nearlyEpsilon is for Epsilon.
func nearlyLogDelta(c loss.Composition, epsilon float64, w Wanted, b loss.Bounds, reason string) (loss.Bounds, string) {
	b, reason = nearlyLogDeltaAbove(c, epsilon, w, b, reason)
	if reason != "" {
		return b, reason
	}
	if least, ok := attainedAmong(c, usualDeepest, worthDelta(epsilon), w.In); ok {
		w.OneEnd = true
		if d, none := logDeltaOfPairs(least, epsilon, w); none == "" {
			b.Lower = math.Max(b.Lower, d.Lower)
		}
	}
	return b, ""
}

func nearlyLogDeltaAbove(c loss.Composition, epsilon float64, w Wanted, b loss.Bounds,
	reason string) (loss.Bounds, string) {
	pairs, shift, factor, ok := nearly(c, usualDeepest, w.In)
	less := num.Down(epsilon - shift)
	if !ok || !(less >= 0) {
		return b, reason
	}
	d, none := logDeltaOfPairs(pairs, less, w)
	if none != "" {
		return b, reason
	}
	if reason != "" {
		b = loss.Bounds{Lower: math.Inf(-1)}
	}
	b.Upper = math.Min(b.Upper, num.AddUp(d.Upper, factor))
	return b, ""
}
