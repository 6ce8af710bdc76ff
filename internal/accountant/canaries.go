// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// CanaryRun is how well somebody guessed, from the outputs of one run, which of the records that were inserted for the
// purpose (canaries) the run had seen: each was in the data or not by the toss of a fair coin of its own. How many are
// guessed at is decided before. See docs/math/canaries.md §4.16.
type CanaryRun struct {
	Inserted int // coins that were tossed: 1 … MaxCanaries
	Guesses  int // of how many the guess was said: 1 … Inserted
	Correct  int // how many of these were right: 0 … Guesses

	Delta      float64  // the δ at which ε is told; in [0, 1)
	Confidence *float64 // of what is observed; in (0, 1). Nil: 0.95
}

const (
	// MaxCanaries bounds the records of a CanaryRun.
	MaxCanaries = 100_000
	// defaultConfidence is that of a CanaryRun where none is given.
	defaultConfidence = 0.95
	// canaryAlarm is the p-value below which a run contradicts what was reported of it.
	canaryAlarm = 1e-3
)

// CanaryFinding compares what was observed in a run with what is proven of it.
type CanaryFinding struct {
	// Observed is an ε that no (ε, Delta)-DP holds below; ObservedMu is a μ that no Gaussian differential privacy holds
	// below. Either is too large with a probability of at most 1 − Confidence, over coins and outputs.
	Observed, ObservedMu float64
	Confidence           float64

	// PValue is the chance, at most, of so many correct guesses or more, if all that is proven of the run held.
	PValue float64

	// Epsilon is the proven upper bound at Delta; EpsilonLower the proven lower bound, if there is one.
	Epsilon      float64
	EpsilonLower *float64
}

// Contradicts says that the run was not what was reported: its guesses were right too often.
func (f CanaryFinding) Contradicts() bool { return f.PValue < canaryAlarm }

// Check returns nil, or a *mechanism.ParameterError on what is not allowed.
func (r CanaryRun) Check() error {
	bad := func(field, value, allowed string) error {
		return &mechanism.ParameterError{Field: "canaries." + field, Value: value, Allowed: allowed}
	}
	switch {
	case r.Inserted < 1 || r.Inserted > MaxCanaries:
		return bad("inserted", fmt.Sprint(r.Inserted), fmt.Sprintf("a whole number from 1 to %d", MaxCanaries))
	case r.Guesses < 1 || r.Guesses > r.Inserted:
		return bad("guesses", fmt.Sprint(r.Guesses), fmt.Sprintf("a whole number from 1 to inserted = %d", r.Inserted))
	case r.Correct < 0 || r.Correct > r.Guesses:
		return bad("correct", fmt.Sprint(r.Correct), fmt.Sprintf("a whole number from 0 to guesses = %d", r.Guesses))
	case !(r.Delta >= 0 && r.Delta < 1):
		return bad("delta", number(r.Delta), "a number in [0, 1)")
	case r.Confidence != nil && !(*r.Confidence > 0 && *r.Confidence < 1):
		return bad("confidence", number(*r.Confidence), "a number > 0 and < 1, such as 0.95")
	}
	return nil
}

// canaries is what the run says of what the points prove; nil where no run is given.
func (q CurveQuestion) canaries(ask func(Question) (Answer, error), points []CurvePoint) (*CanaryFinding, error) {
	if q.Canaries == nil {
		return nil, nil
	}
	proven, err := ask(Question{Delta: &q.Canaries.Delta, MaxGap: q.MaxGap, Stop: q.Stop})
	if err != nil {
		return nil, err
	}
	f := q.Canaries.found(points, proven, num.NewInterrupt(q.Stop))
	return &f, nil
}

// found compares the run with the points of a proven curve.
func (r CanaryRun) found(points []CurvePoint, proven Answer, in *num.Interrupt) CanaryFinding {
	f := CanaryFinding{Confidence: defaultConfidence, Epsilon: proven.Epsilon, EpsilonLower: proven.EpsilonLower}
	if r.Confidence != nil {
		f.Confidence = *r.Confidence
	}
	f.PValue = r.chance(points)
	doubt := num.Down(1 - f.Confidence)
	rejects := func(points []CurvePoint) bool { return !in.Over() && !in.Stopped() && r.chance(points) <= doubt }
	f.Observed = rejected(50, func(epsilon float64) bool { return rejects(singlePoint(epsilon, r.Delta)) })
	f.ObservedMu = rejected(30, func(mu float64) bool { return rejects(gaussianPoints(mu)) })
	return f
}

// rejected is about the largest x in [0, most] at which ok holds, and one at which it does unless it is 0.
func rejected(most float64, ok func(x float64) bool) float64 {
	low, high := 0.0, most
	if !ok(0) {
		return 0
	}
	for range 24 {
		if x := (low + high) / 2; ok(x) {
			low = x
		} else {
			high = x
		}
	}
	return low
}

// singlePoint is the curve of (ε, δ)-differential privacy, as far as it is known.
func singlePoint(epsilon, delta float64) []CurvePoint {
	return []CurvePoint{{Epsilon: epsilon, Delta: delta, LogDelta: num.LogUp(delta)}}
}

// gaussianPoints are some points of the curve of μ-Gaussian differential privacy; any number of them holds.
func gaussianPoints(mu float64) (all []CurvePoint) {
	if mu == 0 {
		return singlePoint(0, 0)
	}
	const n = 40
	for i := range n {
		epsilon := (mu*mu/2 + 6*mu) * float64(i) / n
		b, _ := loss.GaussianLogDelta(mu, epsilon)
		all = append(all, CurvePoint{Epsilon: epsilon, Delta: num.ExpUp(b.Upper), LogDelta: b.Upper})
	}
	return all
}

// bothWays has the lines x ≤ 1 − rest + ratio·y for the probabilities of an event under neighbouring datasets, by
// increasing ratio: those that upper bounds on δ prove, and what these say of the event that it does not happen.
func bothWays(points []CurvePoint) (all []side) {
	proven := provenSides(points)
	for i, s := range slices.Backward(proven) {
		if !math.IsInf(s.ratio, 1) && points[i].Epsilon > 0 { // at 0 both are the same
			all = append(all, side{num.Up(1 / s.ratio), math.Max(0, num.Down(s.rest/s.ratio))})
		}
	}
	return append(all, proven...)
}

// head is what a line allows an event that never happens otherwise, within Ulp of its value.
func (s side) head() float64 { return 1 - s.rest }

// chance bounds, from above, the probability of Correct right guesses or more, of a run whose curve is at most that of
// the points, which are by increasing ε.
// Whichever multipliers λ it takes, the bound holds (docs/math/canaries.md §4.16.3); lines that are nearly tight for
// the likeliest run make it sharp.
func (r CanaryRun) chance(points []CurvePoint) float64 {
	sides := bothWays(points)
	least := 1.0
	for _, s := range sides {
		if s.rest == 1 {
			least = math.Min(least, r.binomial(s.ratio))
		}
	}
	low := highest(sides)
	if r.Correct == 0 || len(low) == 0 {
		return least
	}
	return math.Min(least, r.dual(low, r.tight(low)))
}

// binomial is the least bound for pure differential privacy: each guess is right with ratio/(1 + ratio) at most.
func (r CanaryRun) binomial(ratio float64) float64 {
	if math.IsInf(ratio, 1) {
		return 1
	}
	n, total := float64(r.Guesses), 0.0
	right, wrong := ratio/(1+ratio), 1/(1+ratio)
	for k := r.Correct; k <= r.Guesses; k++ {
		log, err := num.LogBinomialMass(float64(k), n, right, wrong)
		total = num.AddUp(total, num.ExpUp(num.UpBy(log, err)))
	}
	return math.Min(1, total)
}

// tight says which line is the tight one for each number of right guesses below Correct, in the run that has Correct
// of them as often as the lines allow.
func (r CanaryRun) tight(low []side) []int {
	lines := make([]int, r.Correct)
	m, n := float64(r.Inserted), float64(r.Guesses)
	// mass is what all numbers need together if Correct has the mass e^log.
	mass := func(log float64) float64 {
		p := math.Exp(log)
		total, above, below, line := p, float64(r.Correct)*p/m, (n-float64(r.Correct))*p/m, 0
		least := func(i int) float64 { return (above - low[i].head()) / low[i].ratio }
		for w := r.Correct - 1; w >= 0; w-- {
			for line+1 < len(low) && least(line+1) >= least(line) {
				line++
			}
			lines[w] = line
			if need := least(line); need > below && total <= 1 {
				p := (need - below) * m / (n - float64(w))
				total, above, below = total+p, above+float64(w)*p/m, need
			}
		}
		return total
	}
	log, high := math.Log(1e-30), 0.0
	for range 25 {
		if middle := (log + high) / 2; mass(middle) <= 1 {
			log = middle
		} else {
			high = middle
		}
	}
	mass(log)
	return lines
}

// weights are multipliers of the theorem's inequalities, and what they come to. All are in one unit, which shrinks
// where they overflow.
type weights struct {
	rest         float64 // c, as it was begun with
	sum, sloped  float64 // of the inequalities about at least so many, and with each one's slope
	cost         float64 // what their heads add
	most         float64 // the c that holds for all numbers of right guesses so far
	inserted, of float64 // the run's Inserted and Guesses
}

// step makes w right guesses count as many as rest, by a share of what the inequality about at least w needs for it.
func (a *weights) step(w float64, l side, share float64) {
	step := share * a.missing(w, l)
	before := w * a.sum
	a.sloped += l.ratio * step
	a.most = math.Max(a.most, (a.of-w)*a.sloped-before+a.slack(w, before+(a.of-w)*a.sloped))
	a.sum += step
	a.cost += a.inserted * step * l.head()
}

// shrink changes the unit before anything overflows.
func (a *weights) shrink() {
	const by = 0x1p-800
	if a.sum > 1e200 || a.sloped > 1e200 {
		a.rest, a.sum, a.sloped, a.cost, a.most = a.rest*by, a.sum*by, a.sloped*by, a.cost*by, a.most*by
	}
}

// missing is the multiplier with which w right guesses count as many as rest.
func (a *weights) missing(w float64, l side) float64 {
	return math.Max(0, ((a.rest+w*a.sum)/(a.of-w)-a.sloped)/l.ratio)
}

// slack covers the rounding of terms that are together the size: they are sums of some w numbers, none negative.
func (a *weights) slack(w, size float64) float64 { return (8*w + 64) * num.Ulp * size }

// dual is the bound of multipliers that make every number of right guesses below Correct count as many. The last step
// is shared between the inequality about at least Correct − 1, which costs one head for all numbers, and those about
// exactly Correct − 1, Correct and so on, which are sharper and cost one head each.
func (r CanaryRun) dual(low []side, lines []int) float64 {
	a := weights{rest: 1, inserted: float64(r.Inserted), of: float64(r.Guesses)}
	last := len(lines) - 1
	for w, line := range lines[:last] {
		a.step(float64(w), low[line], 1)
		a.shrink()
	}
	least := 1.0
	const shares = 6
	for i := range shares + 1 {
		least = math.Min(least, r.end(a, low[lines[last]], float64(i)/shares))
	}
	return math.Max(least, 1e-100) // what was shrunk away
}

// end takes the last step, and is the bound.
func (r CanaryRun) end(a weights, l side, share float64) float64 {
	w := float64(r.Correct - 1)
	started := a // before the step
	a.step(w, l, share)
	room := (1 - share) * started.missing(w, l) // for the multiplier of exactly Correct − 1
	low, high := 0.0, started.rest+a.of*(a.sum+room)
	for range 30 {
		if unit := (low + high) / 2; r.exactly(a, started.rest, l, unit, nil) <= room {
			low = unit
		} else {
			high = unit
		}
	}
	up, down := w*started.sum, (a.of-w)*(a.sloped+l.ratio*room)
	a.most = math.Max(a.most, down-up+a.slack(w, up+down))
	unit, exact := math.Inf(1), 0.0
	r.exactly(a, started.rest, l, low, func(w, here, next float64) {
		up, down := w*(a.sum+here), (a.of-w)*(a.sloped+l.ratio*next)
		unit = math.Min(unit, a.most+up-down-a.slack(w, up+down))
		exact += here
	})
	bound := num.UpUlps((a.most+a.cost+a.inserted*exact*l.head())/unit, 8*a.of+64)
	if !(unit > 0 && bound < 1) {
		return 1
	}
	return bound
}

// exactly is the multiplier of exactly Correct − 1 right guesses with which every number from Correct on counts at
// least unit, if rest counts for each. Downwards from the first number that counts so much without, it tells visit the
// multiplier before each number and the one at it.
func (r CanaryRun) exactly(a weights, rest float64, l side, unit float64,
	visit func(w, here, next float64)) float64 {
	next := 0.0
	without := math.Ceil((unit - rest + a.of*a.sloped) / (a.sum + a.sloped))
	for w := math.Max(float64(r.Correct), math.Min(a.of, without)); w >= float64(r.Correct); w-- {
		here := math.Max(0, unit-rest-w*a.sum+(a.of-w)*(a.sloped+l.ratio*next)) / w
		if visit != nil {
			visit(w, here, next)
		}
		next = here
	}
	return next
}
