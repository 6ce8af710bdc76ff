// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// finer asks about more ε for the trade-off: at each α that is told, the
// line of the ε that proves the most. That is the ε with the least δ(ε) + e^ε·α, which a parabola
// through the best point and its neighbours finds to a few per cent of the points' distance; what
// β lacks falls with the square of that. points are by increasing ε, and so is what is returned.
func (q CurveQuestion) finer(ask func(Question) (Answer, error), points []CurvePoint,
	told []TradeOffPoint) ([]CurvePoint, error) {
	if len(points) < 3 || len(told) == 0 {
		return points, nil
	}
	near := (points[len(points)-1].Epsilon - points[0].Epsilon) / float64(len(points)-1) / nearShare
	var wanted []float64
	for _, t := range told {
		if e, ok := bestBetween(points, math.Min(t.Alpha, t.Beta)); ok {
			wanted = append(wanted, e)
		}
	}
	slices.Sort(wanted)
	all, last := slices.Clone(points), math.Inf(-1)
	for _, epsilon := range wanted {
		if epsilon-last < near {
			continue
		}
		if last = epsilon; q.Stop != nil && q.Stop() {
			break
		}
		a, err := ask(Question{Epsilon: &epsilon, MaxGap: q.MaxGap, Stop: q.Stop, rough: true})
		if errors.Is(err, ErrStopped) {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, CurvePoint{a.Epsilon, a.Delta, a.LogDelta, a.DeltaLower, a.LogDeltaLower, a.Analysis})
	}
	slices.SortStableFunc(all, func(a, b CurvePoint) int { return cmp.Compare(a.Epsilon, b.Epsilon) })
	all = slices.CompactFunc(all, func(a, b CurvePoint) bool { return a.Epsilon == b.Epsilon })
	decrease(all)
	return all, nil
}

// nearShare is which share of the points' distance two more ε are apart at least.
const nearShare = 64

// bestBetween is about the ε with the least δ(ε) + e^ε·α; false where a point has it.
func bestBetween(points []CurvePoint, alpha float64) (epsilon float64, ok bool) {
	value := func(i int) float64 { return points[i].Delta + math.Exp(points[i].Epsilon)*alpha }
	best := 0
	for i := range points {
		if value(i) < value(best) {
			best = i
		}
	}
	if !(alpha > 0) {
		return 0, false
	}
	best = max(1, min(best, len(points)-2))
	at := points[best].Epsilon
	left, right := at-points[best-1].Epsilon, points[best+1].Epsilon-at
	fall, rise := (value(best-1)-value(best))/left, (value(best+1)-value(best))/right
	// The parabola's slope is −fall half way to the left and rise half way to the right.
	move := (fall*right - rise*left) / (2 * (fall + rise))
	if !(math.Abs(move) > 1e-3*math.Min(left, right)) {
		return 0, false
	}
	return math.Max(points[best-1].Epsilon, math.Min(points[best+1].Epsilon, at+move)), true
}
