// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/compound"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/num"
)

// chosen remembers the pairs of the best of several runs.
var chosen = loss.NewRemembered()

// bestPair is what is known of the best of several runs.
type bestPair struct {
	above loss.Loss // a pair that dominates it; nil where none is known
	run   outcomes  // a pair that one run dominates
}

// bestOf has a pair that dominates the best of several runs, found from the privacy curve of one run: the least of the
// curve's bound and what bounds on K imply (docs/math/best-of.md §1.6.8). It is good down to δ = e^deepest, and nil
// where no curve is known.
func bestOf(l loss.Chosen, deepest float64, in *num.Interrupt) bestPair {
	type key struct {
		best    loss.Chosen
		deepest float64
	}
	return loss.Recall(chosen, key{l, deepest}, in, func(in *num.Interrupt) (found bestPair) {
		runs, mean := compound.Adaptive(l.Runs()), l.Mean()
		if !(mean < math.MaxFloat64) {
			return found
		}
		deepestRun := deepest - math.Log(math.Max(1, mean))
		run, below := profilesOf(runs, deepestRun, in)
		if run[0] == nil || run[1] == nil {
			return found
		}
		var best [2]profile
		curves := [...]chords{run[0].chords(), run[1].chords()}
		for d := range best {
			if d > 0 && runs.Symmetric() {
				best[d] = best[0]
				continue
			}
			same, opposite := curves[d], curves[1-d]
			knots := l.ByCurve(loss.Direction(d), func(e float64) float64 { return num.LogUp(opposite.at(e)) }, in)
			_, atom := loss.Composition{{Loss: l.(loss.Loss), Count: 1}}.InfinityMass()
			shifted := shiftsOf(l, same, opposite, in)
			in.Spend(profileWork * len(shifted))
			best[d] = tabulated(func(e float64) float64 {
				log := math.Inf(1)
				for _, k := range knots {
					log = math.Min(log, loss.LogDeltaAt(k.S, k.K, e))
				}
				return math.Min(loss.LogTotal(log, atom), shifted.logDelta(mean, e, same, opposite))
			}, deepest)
		}
		found.above = pairOf(best, in)
		found.run = attainedRun(l.Runs(), run, below, deepestRun, in)
		return found
	})
}

// profileWork is about what it takes to tabulate a curve that is a sum of one more shift, in nanoseconds.
const profileWork = 500_000

// profile has points of a curve δ(ε) of one direction, ε rising from 0, rounded up. Between them its chord in e^ε
// bounds it, and beyond the last one what it is there.
type profile []point

type point struct{ epsilon, log float64 }

// Curves are known at steps of this much of ln δ, and from e^−10 on of as much of a tenth of it. Where a point takes
// long there are fewer.
const (
	runFall, bestFall = 0.2, 0.03
	mostFall          = 3
	curveWork         = 2.5e8 // nanoseconds
)

// profilesOf are a run's curves of both directions, rounded up and down; nil where there is none.
func profilesOf(runs loss.Composition, deepest float64, in *num.Interrupt) (above, below [2]profile) {
	for d := range above {
		if d > 0 && runs.Symmetric() {
			above[d], below[d] = above[0], below[0]
		} else if above[d], below[d] = profileOf(runs.Toward(loss.Direction(d)), deepest, in); above[d] == nil {
			break
		}
	}
	return above, below
}

// profileOf is a run's curve down to δ = e^deepest, and points that are below it; nil where there is none.
func profileOf(c loss.Composition, deepest float64, in *num.Interrupt) (above, below profile) {
	var kept Cache
	zero, reason := kept.LogDelta(c, 0, Wanted{In: in})
	if reason != "" {
		return nil, nil
	}
	below = profile{point{0, zero.Lower}}
	at := func(log float64) point {
		e, reason := kept.Epsilon(c, math.Exp(log), Wanted{In: in})
		if reason != "" {
			return point{math.Inf(1), 0}
		}
		last := below[len(below)-1]
		if apart := belowApart * (1 + e.Lower); e.Lower-apart > last.epsilon && log < last.log && e.Lower <= mostLoss {
			below = append(below, point{e.Lower, log})
		}
		return point{e.Upper, log}
	}
	before := in.Spent()
	at(zero.Upper - 1)
	each := math.Max(1, float64(in.Spent()-before))
	below = below[:1]
	falls := 10 * (1 + math.Max(0, math.Log(-deepest/10))) // steps of 1 that there would be
	fall := math.Max(runFall, math.Min(falls*each/curveWork, mostFall))
	return pointsOf(point{0, zero.Upper}, fall, deepest, at), below
}

// belowApart is by how much at least points below a curve are apart: next to it what is rounded in e^ε moves no δ by
// much.
const belowApart = 1e-8

// tabulated is a curve, given as ln δ(ε) rounded up, by its points down to e^deepest. Any points of it serve, so each
// is only about where pointsOf asks for it.
func tabulated(curve func(epsilon float64) float64, deepest float64) profile {
	zero, least := point{0, curve(0)}, curve(mostLoss)
	low, last, step := zero, zero, 1.0
	return pointsOf(zero, bestFall, deepest, func(log float64) point {
		if !(least <= log) {
			return point{math.Inf(1), 0}
		}
		high := last
		for ; high.log > log; step *= 2 {
			low, high = high, point{high.epsilon + step, curve(high.epsilon + step)}
		}
		high = lowest(curve, &low, high, log, bestFall/nearPoint*math.Max(1, -log/10))
		step = math.Max(high.epsilon-last.epsilon, 1e-6) // the next one is about as far
		last = high
		return high
	})
}

// nearPoint is what part of the distance of two points a point may be off, and mostTries how often one is looked for.
const nearPoint, mostTries = 8, 40

// lowest is a point of a falling curve at or below log, by no more than near where the curve does not jump. The curve
// is above log at low, which it raises, and not at high.
func lowest(curve func(epsilon float64) float64, low *point, high point, log, near float64) point {
	a, b := low.log-log, high.log-log // > 0 and ≤ 0
	for i := range mostTries {
		if high.log >= log-near || !(high.epsilon-low.epsilon > 1e-9*high.epsilon) {
			break
		}
		share := 0.5
		if i%4 < 3 && !math.IsInf(b, -1) { // where a secant would hit the middle of what is near
			share = (a + near/2) / (a - b)
		}
		e := low.epsilon + (high.epsilon-low.epsilon)*math.Min(share, 0.99)
		if at := (point{e, curve(e)}); at.log > log {
			*low, a = at, at.log-log
			b /= 2 // the end that stays counts less, so that it does not stay for long
		} else {
			high, b = at, at.log-log
			a /= 2
		}
	}
	return high
}

// mostLoss bounds the losses that are tabulated: e^ε is to be a number of binary64.
const mostLoss = 600

func pointsOf(zero point, fall, deepest float64, at func(log float64) point) profile {
	p := profile{zero}
	for log := zero.log; log > deepest; {
		log -= fall * math.Max(1, -log/10)
		next := at(log)
		if !(next.epsilon <= mostLoss) {
			break
		}
		if last := &p[len(p)-1]; next.epsilon <= last.epsilon {
			last.log = math.Min(last.log, next.log)
			continue
		}
		p = append(p, next)
	}
	return p
}

// chords is a profile with what its values need: of each point e^log, and e^d − 1 for the distance d to the next one.
type chords []struct {
	point
	delta, apart float64
}

func (p profile) chords() chords {
	c := make(chords, len(p))
	for i, at := range p {
		c[i].point, c[i].delta = at, math.Exp(at.log)
		if i+1 < len(p) {
			c[i].apart = math.Expm1(p[i+1].epsilon - at.epsilon)
		}
	}
	return c
}

// at is δ(ε) at ε ≥ 0, rounded up.
func (c chords) at(epsilon float64) float64 {
	i := 1
	for end := len(c); i < end; {
		if middle := (i + end) / 2; c[middle].epsilon <= epsilon {
			i = middle + 1
		} else {
			end = middle
		}
	}
	from := &c[i-1]
	if i == len(c) {
		return num.ExpUp(from.log)
	}
	share := math.Expm1(epsilon-from.epsilon) / from.apart
	return ((1-share)*from.delta + share*c[i].delta) * (1 + 1e-12)
}

// deltaOf is δ(ε) at any ε of a direction and the opposite one.
func deltaOf(epsilon float64, same, opposite chords) float64 {
	if epsilon >= 0 {
		return same.at(epsilon)
	}
	minus := math.Expm1(epsilon)
	return math.Min(1, (-minus+(1+minus)*opposite.at(-epsilon))*(1+1e-12))
}

// shifts are the λ_j and w_j of docs/math/best-of.md §1.6.8.
type shifts []struct{ lambda, weight float64 }

// The cells of u, the first of which ends at e^−logCells, in blocks, and the λ.
const (
	cells, logCells      = 1 << 16, 24
	blockCells           = 1 << 8
	leastLambda          = -3
	lambdaStep, mostStep = 0.02, 512
	cellWork             = 200 // nanoseconds, beside one for each λ
)

func shiftsOf(l loss.Chosen, same, opposite chords, in *num.Interrupt) (out shifts) {
	// v ≤ slope·u + cut, from the steepest line to the flattest.
	var lines []struct{ slope, cut float64 }
	put := func(e, cut float64) {
		lines = append(lines, struct{ slope, cut float64 }{math.Exp(e) * (1 + 1e-15), cut})
	}
	for _, p := range slices.Backward(opposite) {
		put(p.epsilon, num.ExpUp(p.log))
	}
	for _, p := range same[1:] {
		put(-p.epsilon, deltaOf(-p.epsilon, opposite, same))
	}
	// a ≥ the share at every u of a cell, and b ≤ that at every v.
	a, b, steepest := make([]float64, cells), make([]float64, cells), 0.0
	u, line := 0.0, 0
	for i := range a {
		a[i] = math.Exp(l.LogShare(u).Upper)
		u = math.Exp(logCells * (float64(i+1)/cells - 1))
		for line+1 < len(lines) && lines[line+1].slope*u+lines[line+1].cut <= lines[line].slope*u+lines[line].cut {
			line++
		}
		v := math.Min(1, (lines[line].slope*u+lines[line].cut)*(1+1e-15))
		b[i] = math.Exp(l.LogShare(v).Lower)
		steepest = math.Max(steepest, a[i]/b[i])
	}
	last := math.Log(steepest) + 1e-9
	if !(last < mostLoss) {
		return nil
	}
	n := int(math.Min(mostStep, math.Ceil((last-leastLambda)/lambdaStep)))
	in.Spend(cells * (cellWork + n))
	largest, least := make([]float64, cells/blockCells), make([]float64, cells/blockCells) // of a and b in each block
	for k := range largest {
		largest[k] = slices.Max(a[k*blockCells : (k+1)*blockCells])
		least[k] = slices.Min(b[k*blockCells : (k+1)*blockCells])
	}
	best, at := 0, 0
	above := func(y float64) (most float64) {
		for n := range largest {
			k := n ^ best                      // the best block of the last y comes first
			if largest[k]-least[k]*y <= most { // so is a − b·y in all of its cells
				continue
			}
			for i := k * blockCells; i < (k+1)*blockCells; i++ {
				if v := a[i] - b[i]*y; v > most {
					most, at = v, k
				}
			}
		}
		best = at
		return most
	}
	y, value, slope := math.Exp(last), 0.0, 0.0
	for j := n - 1; j >= -1; j-- {
		next := 0.0
		if j >= 0 {
			next = math.Exp(leastLambda + (last-leastLambda)*float64(j)/float64(n))
		}
		at := above(next)
		steeper := (at - value) / (y - next)
		if c := steeper - slope; c > 0 {
			out = append(out, struct{ lambda, weight float64 }{math.Log(y), c * y * (1 + 1e-9)})
		}
		y, value, slope = next, at, steeper
	}
	return out
}

// logDelta is ln of mean·Σ w_j·δ(ε − λ_j), rounded up.
func (s shifts) logDelta(mean, epsilon float64, same, opposite chords) float64 {
	if s == nil {
		return 0
	}
	var sum float64
	for _, one := range s {
		sum += one.weight * deltaOf(epsilon-one.lambda-1e-12, same, opposite)
	}
	return math.Min(0, num.LogUp(mean*sum*(1+1e-9)))
}

// outcomes are finitely many losses, rising, with their masses, and what P and Q have where the other one has nothing.
type outcomes struct {
	at, of []float64
	atoms  [2]float64
}

// pairOf is a pair whose curves are at most those of both directions, and at least those that they bound.
func pairOf(best [2]profile, in *num.Interrupt) loss.Loss {
	o, ok := outcomesOf(best, in)
	if !ok || len(o.at) == 0 {
		return nil
	}
	return declared.Computed("best of several runs", o.at, o.of, o.atoms[0], o.atoms[1], pairErr, 1e-13*mostLoss)
}

// outcomesOf are the outcomes of the pair whose curve is the lower hull of the points of both directions.
func outcomesOf(best [2]profile, in *num.Interrupt) (o outcomes, ok bool) {
	in.Spend(1000 * (len(best[0]) + len(best[1])))
	zero := math.Exp(math.Min(best[0][0].log, best[1][0].log))
	var sides [2][]corner
	for range len(best[0]) + len(best[1]) {
		for d, p := range best {
			sides[d] = hullOf(p, zero)
		}
		chord := acrossOne(sides)
		if !(chord < zero*(1-pairErr/8)) {
			break
		}
		zero = chord
	}
	rest := 1.0
	for i := len(sides[1]) - 1; i > 0; i-- {
		c := sides[1][i]
		o.at, o.of = append(o.at, -c.epsilon), append(o.of, fallsAt(sides[1], i)) // P here is Q of the other direction
	}
	for d, side := range sides {
		o.atoms[d] = side[len(side)-1].delta
	}
	var right []float64
	for i := range sides[0][1:] {
		right = append(right, fallsAt(sides[0], i+1)*sides[0][i+1].alpha)
	}
	for _, m := range append(right, o.of...) {
		rest -= m
	}
	switch rest -= o.atoms[0]; {
	case rest < -pairErr:
		return outcomes{}, false
	case rest > 0:
		o.at, o.of = append(o.at, 0), append(o.of, rest)
	}
	for i, c := range sides[0][1:] {
		o.at, o.of = append(o.at, c.epsilon), append(o.of, right[i])
	}
	return o, true
}

// pairErr bounds the relative errors of masses by far.
const pairErr = 1e-9

// corner is a point of a curve δ(ε) as a function of α = e^ε.
type corner struct{ epsilon, alpha, delta float64 }

// falls is how steeply the curve falls from a to b.
func falls(a, b corner) float64 { return (a.delta - b.delta) / (b.alpha - a.alpha) }

// fallsAt is how much less steeply it falls after a corner: Q's mass there.
func fallsAt(side []corner, i int) float64 {
	q := falls(side[i-1], side[i])
	if i+1 < len(side) {
		q -= falls(side[i], side[i+1])
	}
	return q
}

// hullOf is the lower hull of the points, with this δ at ε = 0.
func hullOf(p profile, zero float64) []corner {
	hull := []corner{{0, 1, zero}}
	for _, at := range p[1:] {
		next := corner{at.epsilon, math.Exp(at.epsilon), math.Exp(at.log)}
		if !(next.delta < hull[len(hull)-1].delta) { // the curve does not rise
			continue
		}
		for n := len(hull); n > 1 && falls(hull[n-2], hull[n-1]) <= falls(hull[n-1], next); n-- {
			hull = hull[:n-1]
		}
		hull = append(hull, next)
	}
	return hull
}

// acrossOne is the δ at ε = 0 on the chord from the first corner of one direction to that of the other one.
func acrossOne(sides [2][]corner) float64 {
	if len(sides[0]) == 1 || len(sides[1]) == 1 {
		return 1
	}
	right, left := sides[0][1], sides[1][1]
	to := 1 / left.alpha
	share := (1 - to) / (right.alpha - to)
	return share*right.delta + (1-share)*(1-to+to*left.delta)
}
