// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// selection is the best of a random number of runs of a composition. With f the
// generating function of that number and K of one run,
//
//	e^{K'(s)} ≤ 1 + C·(e^{K(s)} − 1),  C ≥ sup f'(q)^{1+s}·f'(q')^{−s}
//
// over the probabilities q, q' of one event in a run on either dataset: sharper than
// C·e^{K(s)} (Papernot–Steinke 2022, Lemma 7), and proven in docs/math/best-of.md §1.6.4 for the
// truncated negative binomial distribution, where for any ŝ > 0 (their Thm 2)
//
//	ln C = s(1+η)·[K(ŝ) + ln(1/γ)]/(1+ŝ) + ln E[n],
//
// and for the Poisson distribution of mean μ, where a run is (ln(1+1/s), δ̂)-DP and
// ln C = ln μ + sμδ̂ (their Thm 6). K' is convex with K'(0) = 0, so that K'(s)/s, the
// divergence, rises: where the bound is not convex its chords bound K' (chord).
//
// The first run above a threshold is as with η = 0 and 1/γ in the place of E[n] (§1.6.7).
//
// Where a run fails with probability m in either direction the number of runs is, given
// that none does, of the same kind and smaller: the bounds hold for what is left when an
// event of probability m·E[n] is taken out. Of runs that have a privacy curve the package pld finds a pair
// (docs/math/best-of.md §1.6.8).
type selection struct {
	loss.BoundOnly
	runs mechanism.List[loss.Term]
	mean float64 // E[n], rounded up

	// Of the negative binomial: its parameters, and (1+η) times the least [K(ŝ) + ln(1/γ)]/(1+ŝ) found, rounded up.
	gamma, eta, rest float64

	poisson bool
	first   bool                // the first run above a threshold is published
	table   declared.RenyiTable // K at some ŝ, to find δ̂
	largest float64             // loss of a run, beyond which δ̂ is 0; maybe +Inf

	chords [2][mostChords]chord // by direction

	// Where the runs' K is known up to a last s: the hull of the bound, in both directions,
	// by its corners. A table's corners make the bound concave in more places than chords
	// are kept for.
	ends declared.RenyiTable
}

const mostChords = 3

// chord bounds K'(s) by from.k + slope·(s − from.s) for from.s ≤ s ≤ upTo, maybe +Inf.
type chord struct {
	from        loss.Knot
	upTo, slope float64
}

func ofRepeatAndSelect(m mechanism.RepeatAndSelect, x loss.Maker) (loss.Loss, error) {
	c, err := x.Compose(mechanism.Part{Mechanism: m.Mechanism, Count: 1})
	if err != nil {
		return nil, err
	}
	r := selection{runs: mechanism.ListOf([]loss.Term(c)...), gamma: m.Gamma, eta: m.Eta, first: m.FirstAboveThreshold}
	for _, f := range c.Facts() {
		if f.OneSided || f.Uneven { // nothing is proven of it
			return unproven(r), nil
		}
	}
	if m.Mean > 0 {
		r.mean, r.poisson, r.table = m.Mean, true,
			declared.NewRenyiTable(loss.Tabulate(c, x.In), declared.RenyiGuarantee)
		r.largest = math.Max(c.MaxLoss(loss.Remove), c.MaxLoss(loss.Add))
		if _, atom := c.InfinityMass(); !(atom*r.mean < 0.5) {
			return unproven(r), nil
		}
		return r.convex(c, x.In), nil
	}
	log := -math.Log1p(m.Gamma - 1) // ln(1/γ)
	if m.Gamma < 0.5 {
		log = -num.Log(m.Gamma)
	}
	// E[n] = η(1−γ)/(γ(1−γ^η)), (1−γ)/(γ·ln(1/γ)) for η = 0.
	r.mean = (1 - m.Gamma) / m.Gamma / log
	switch {
	case m.FirstAboveThreshold:
		r.mean = 1 / m.Gamma
	case m.Eta != 0:
		r.mean = (1 - m.Gamma) / m.Gamma * m.Eta / -math.Expm1(-m.Eta*log)
	}
	r.mean = math.Max(1, r.mean*(1+64*num.Ulp*(2+math.Abs(m.Eta)*log)))
	if _, atom := c.InfinityMass(); !(atom*r.mean < 0.5) {
		return unproven(r), nil
	}
	log = num.UpBy(log, 8*num.Ulp*log)
	r.rest = num.MulUp(num.Up(1+m.Eta), leastTilt(c, log, x.In))
	if m.FirstAboveThreshold {
		r.rest = math.Min(r.rest, givenUp(m.Gamma, math.Max(c.MaxLoss(loss.Remove), c.MaxLoss(loss.Add))))
	}
	return r.convex(c, x.In), nil
}

// givenUp bounds how much likelier it is on one dataset than on its neighbour that a run is the last
// one, where a run loses at most largest: ln((e^ε + γ)/(1 + γ·e^ε)), rounded up. See
// docs/math/best-of.md §1.6.7.
func givenUp(gamma, largest float64) float64 {
	x := (1 - gamma) / (1 + gamma) * math.Tanh(largest/2)
	v := 2 * math.Atanh(x)
	// x is within 8 Ulp, and artanh moves by 1/(1 − x²) of that.
	if v = num.UpBy(v, 16*num.Ulp*(v+x/(1-x))); math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// unproven loses everything.
func unproven(r selection) selection {
	r.mean, r.rest = math.Inf(1), math.Inf(1)
	return r
}

// leastTilt is [K(ŝ) + log]/(1 + ŝ) in both directions at the best of the ŝ it tries,
// rounded up. Any serves.
func leastTilt(c loss.Composition, log float64, in *num.Interrupt) float64 {
	at := func(s float64) float64 {
		k := c.Renyi(loss.Remove, s, in).Upper()
		if !c.Symmetric() {
			k = math.Max(k, c.Renyi(loss.Add, s, in).Upper())
		}
		return num.DivUp(num.AddUp(math.Max(0, k), log), num.Down(1+s))
	}
	best, where := math.Max(c.MaxLoss(loss.Remove), c.MaxLoss(loss.Add)), math.NaN() // ŝ → ∞
	const first, last, step = -5, 12, 0.5
	for x := float64(first); x <= last; x += step {
		if v := at(math.Exp(x)); v < best {
			best, where = v, x
		}
	}
	if last := c.Last(); !math.IsInf(last, 1) {
		if v := at(last); v < best {
			best, where = v, math.Log(last)
		}
	}
	for width := step / 2; !math.IsNaN(where) && width > 1e-3; width /= 2 {
		for _, x := range [...]float64{where - width, where + width} {
			if v := at(math.Exp(x)); v < best {
				best, where = v, x
			}
		}
	}
	return best
}

// convex fills chords, or ends.
func (r selection) convex(c loss.Composition, in *num.Interrupt) selection {
	if last := c.Last(); !math.IsInf(last, 1) {
		r.ends = declared.NewRenyiTable(loss.Hull(r.points(c, last, in)), declared.RenyiGuarantee)
		return r
	}
	r.chords[loss.Remove] = r.hull(loss.Remove, in)
	if r.chords[loss.Add] = r.chords[loss.Remove]; !c.Symmetric() {
		r.chords[loss.Add] = r.hull(loss.Add, in)
	}
	return r
}

// points are the bound in both directions at the runs' corners up to the last one, and
// between them.
func (r selection) points(c loss.Composition, last float64, in *num.Interrupt) []loss.Knot {
	var orders []float64
	_, first := c.Corners(0)
	for s := first; s <= last; _, s = c.Corners(s) {
		orders = append(orders, s)
	}
	for s := last; s > first/64; s *= 7. / 8 {
		orders = append(orders, s)
	}
	points := make([]loss.Knot, len(orders))
	for i, s := range orders {
		points[i] = loss.Knot{S: s, K: math.Max(r.bound(loss.Remove, s, in).K, r.bound(loss.Add, s, in).K)}
	}
	return sorted(points)
}

const chordFirst, chordLast, chordStep = -6, 9, 0.5 // of ln s

// hull is the widest chords of the convex hull of the bound: first on a coarse grid,
// then with more points around their ends.
func (r selection) hull(d loss.Direction, in *num.Interrupt) (chords [mostChords]chord) {
	at := func(x float64) loss.Knot {
		s := math.Exp(x)
		return loss.Knot{S: s, K: r.bound(d, s, in).K}
	}
	var points []loss.Knot
	for x := float64(chordFirst); x <= chordLast; x += chordStep {
		points = append(points, at(x))
	}
	if r.poisson {
		if x := -num.LogExpm1(r.largest) - 1e-9; x > chordFirst && x < chordLast { // δ̂ is 0 from here on
			points = append(points, at(x))
		}
	}
	copy(chords[:], widest(sorted(points), r.MaxLoss(d)))
	// A chord that is no tangent leaves the bound concave at its ends, and a search for the
	// best order astray there. Its error falls like the square of the points' distance.
	for distance, n := chordStep/6, 5; distance > 3e-4; distance, n = distance/3, 2 {
		for _, c := range chords {
			for _, end := range [...]float64{c.from.S, c.upTo} {
				if end == 0 || math.IsInf(end, 1) {
					continue
				}
				for i := -n; i <= n; i++ {
					points = append(points, at(num.Log(end)+float64(i)*distance))
				}
			}
		}
		copy(chords[:], widest(sorted(points), r.MaxLoss(d)))
	}
	return chords
}

// sorted has no order twice.
func sorted(points []loss.Knot) []loss.Knot {
	slices.SortFunc(points, func(a, b loss.Knot) int { return cmp.Compare(a.S, b.S) })
	return slices.CompactFunc(points, func(a, b loss.Knot) bool { return a.S == b.S })
}

// widest are the chords of the hull of points, at most a grid's step apart, that leave
// points out, the widest in ln s first; beyond all of them K' rises by top at most.
func widest(points []loss.Knot, top float64) []chord {
	low, high := points[0].S*math.Exp(-chordStep), points[len(points)-1].S*math.Exp(chordStep)
	width := func(c chord) float64 { return math.Min(high, c.upTo) / math.Max(low, c.from.S) }
	corners := append([]loss.Knot{{}}, loss.Hull(points)...)
	steep := func(a, b loss.Knot) float64 { return num.DivUp(num.Up(b.K-a.K), num.Down(b.S-a.S)) }
	for n := len(corners); n > 1 && steep(corners[n-2], corners[n-1]) > top; n-- {
		corners = corners[:n-1]
	}
	var all []chord
	for i, from := range corners {
		c := chord{from, math.Inf(1), top}
		if i+1 < len(corners) {
			c.upTo, c.slope = corners[i+1].S, steep(from, corners[i+1])
		}
		if !math.IsInf(c.slope, 1) && width(c) > math.Exp(1.2*chordStep) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b chord) int { return cmp.Compare(width(b), width(a)) })
	return all[:min(mostChords, len(all))]
}

func (r selection) Facts() loss.Facts {
	c := loss.Composition(r.runs.Values())
	f := loss.Facts{
		Name: "repeat-and-select bound", Rho: math.Inf(1),
		Epsilon:   math.Max(r.MaxLoss(loss.Remove), r.MaxLoss(loss.Add)),
		Symmetric: c.Symmetric(), BoundOnly: true,
	}
	if _, atom := c.InfinityMass(); atom > 0 {
		f.InfinityMass = math.Min(math.Nextafter(1, 0), num.MulUp(atom, r.mean))
	}
	return f
}

// Last implements Tabled: that of the runs, beyond the last corner of whose hull the bound
// overflows.
func (r selection) Last() float64 {
	if r.ends.Known() {
		return r.ends.Last()
	}
	return loss.Composition(r.runs.Values()).Last()
}

// Corners implements Tabled.
func (r selection) Corners(s float64) (below, above float64) { return r.ends.Corners(s) }

// Covers: only itself is known to be covered.
func (r selection) Covers(loss.Loss) bool { return false }

// Grouped: nothing is proven of the best of several runs on groups.
func (r selection) Grouped(uint64) (loss.Loss, error) { return nil, nil }

// MaxLoss: of the negative binomial K'(s)/s tends to it. Of the Poisson distribution f'
// differs by e^{μ|q−q'|}, and runs of ε-DP have |q − q'| ≤ tanh(ε/2).
func (r selection) MaxLoss(d loss.Direction) float64 {
	rest := r.rest
	if r.poisson {
		rest = num.MulUp(r.mean, num.UpBy(math.Tanh(r.largest/2), 4*num.Ulp))
	}
	return num.AddUp(loss.Composition(r.runs.Values()).MaxLoss(d), rest)
}

// Cumulant is the bound or its chord, for s ≥ 0, or the bound's hull.
func (r selection) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	if r.ends.Known() {
		return r.ends.Cumulant(d, s, in)
	}
	v := r.bound(d, s, in)
	for _, c := range r.chords[d] {
		if s > c.from.S && s < c.upTo {
			if k := num.AddUp(c.from.K, num.MulUp(c.slope, num.Up(s-c.from.S))); k < v.K {
				v = loss.Value{K: k, Slope: c.slope}
			}
		}
	}
	return v
}

// bound is ln(1 + C·(e^K − 1)).
func (r selection) bound(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	return r.boundBy(nil, d, s, in)
}

// boundBy is bound with a further upper bound on ln δ(ε) of a run in the opposite direction, if it is not nil.
func (r selection) boundBy(curve func(epsilon float64) float64, d loss.Direction, s float64,
	in *num.Interrupt) loss.Value {
	if s == 0 {
		return loss.Value{}
	}
	if s < 0 || math.IsInf(r.mean, 1) {
		return loss.Value{K: math.Inf(1)}
	}
	v := loss.Composition(r.runs.Values()).Renyi(d, s, in)
	k := math.Max(0, v.Upper())
	each, more, turn := r.rest, r.rest, 0.0 // ln C = s·each + ln E[n], and its derivatives
	if r.poisson {
		failing, at := r.failing(s, in)
		if curve != nil {
			failing = math.Min(failing, num.ExpUp(curve(math.Log1p(1/s)*(1-8*num.Ulp))))
		}
		each = num.MulUp(r.mean, failing)
		// dδ̂/dε̂ = −at·δ̂ and dε̂/ds = −1/(s(s+1)).
		more = each * (1 + at/(1+s))
		turn = each * at / (1 + s) * ((1+at/(1+s))/s - 1/(1+s))
	}
	log := num.AddUp(num.MulUp(s, each), num.LogUp(r.mean))
	switch {
	case k == 0:
		return loss.Value{}
	case math.IsInf(log+k, 1):
		return loss.Value{K: math.Inf(1)}
	}
	b, excess := bestOf(log, k), num.LogExpm1(k)
	lost, grown := math.Exp(log+excess-b), math.Exp(log+k-b) // C(e^K − 1) and C·e^K, of e^b
	slope := lost*more + grown*v.Slope
	bend := lost*(more*more+turn) + grown*(v.Slope*(2*more+v.Slope)+v.Curvature) - slope*slope
	return loss.Value{K: b, Slope: slope, Curvature: math.Max(0, bend)}
}

// bestOf is ln(1 + C·(e^k − 1)) for log = ln C, rounded up.
func bestOf(log, k float64) float64 {
	excess := num.LogExpm1(k)
	b := num.Log1pExp(log + excess)
	// An error of the exponent is at most that of b, absolute and relative.
	return num.UpBy(b, 16*num.Ulp*(b+math.Min(1, b)*(math.Abs(log)+math.Abs(excess))))
}

// conversionWork is about what it takes to convert a bound at one order, in nanoseconds.
const conversionWork = 150

// failing is δ̂ of a run at ε̂ = ln(1 + 1/s), by the conversion at the table's orders, by the run's
// curve or by the largest loss, and −d ln δ̂/dε̂.
func (r selection) failing(s float64, in *num.Interrupt) (delta, at float64) {
	epsilon := math.Log1p(1/s) * (1 - 8*num.Ulp)
	if r.largest <= epsilon {
		return 0, 0
	}
	best := 0.0 // ln δ̂
	r.table.Spend(conversionWork, in)
	for _, k := range r.table.Knots(in) {
		if v := loss.LogDeltaAt(k.S, k.K, epsilon); v < best {
			best, at = v, k.S
		}
	}
	if v, falls, ok := runCurve(r.runs.Values(), epsilon, in); ok && v < best {
		best, at = v, falls
	}
	// Randomized response's, (e^ε0 − e^ε̂)/(e^ε0 + 1), if the loss is bounded.
	more := num.AddUp(r.largest, -epsilon)
	if v := num.Log1mExp(more) - num.Log1pExp(-r.largest); v < best {
		best, at = num.UpBy(v, 16*num.Ulp*(1+math.Abs(v))), 1/math.Expm1(more)
	}
	return math.Min(1, num.ExpUp(best)), at
}

// runCurve is an upper bound on ln δ(ε) of one run, ε ≥ 0, and −d ln δ/dε, where the run has a
// closed form: where everything in it is Gaussian, or where it is one release that has one.
func runCurve(c loss.Composition, epsilon float64, in *num.Interrupt) (log, falls float64, ok bool) {
	square := 0.0
	for _, t := range c {
		mu, gaussian := loss.MuOf(t.Loss)
		if !gaussian {
			square = math.NaN()
			break
		}
		square = num.AddUp(square, num.MulUp(num.Count(t.Count), num.MulUp(mu, mu)))
	}
	switch {
	case square > 0:
		b, slope := loss.GaussianLogDelta(num.SqrtUp(square), epsilon)
		return b.Upper, slope, true
	case len(c) == 1 && c[0].Count == 1:
		if curve, closed := loss.CurveOf(c[0].Loss, in); closed {
			b, slope := curve.LogDelta(epsilon)
			return b.Upper, slope, true
		}
	}
	return 0, 0, false
}

// Line knows no more than |E[e^{sL}]| ≤ E[e^{θL}].
func (r selection) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.BoundLine(r.Cumulant(d, theta, in))
}

func (r selection) Order() [4]float64 {
	o := loss.OrderOf(loss.Composition(r.runs.Values()).Key())
	o[2], o[3] = r.mean, r.rest
	return o
}
