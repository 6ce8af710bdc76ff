// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"strconv"

	"github.com/dpaccountant/accountant/internal/gdp"
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld"
	"github.com/dpaccountant/accountant/internal/rdp"
	"github.com/dpaccountant/accountant/internal/zcdp"
)

// Ask answers q for c, which must come from mechanism.Compose. It fails with a
// *mechanism.ParameterError where q is not allowed. The empty composition has
// ε = 0 and δ = 0. See docs/math/adaptivity.md §5.2.
func Ask(c mechanism.Composition, q Question) (Answer, error) {
	losses, err := q.losses(c)
	if err != nil {
		return Answer{}, err
	}
	return q.deeper(losses, nil, q.rdp, q.pld), nil
}

// losses checks q and composes c's losses.
func (q *Question) losses(c mechanism.Composition) (loss.Composition, error) {
	if err := q.begin(); err != nil {
		return nil, err
	}
	return q.compose(c)
}

// reach has pairs that reach as far as q needs, and reports whether they leave anything out. Many rough questions
// share pairs that do not.
func (q Question) reach(c loss.Composition) (near loss.Composition, less bool) {
	if q.Delta == nil || q.rough {
		return c, false
	}
	return c.Reach(*q.Delta)
}

// nextTo is how much larger than the lower bound on ε an upper bound next to it is at most, as a part of it.
const nextTo = 0.01

// deeper is the answer of every analysis, at first with pairs that reach as far as q needs, and with the quick bound
// instead of rdp unless that is nil. If pld's bounds are then not as near to each other as wanted, rdp may be what
// answers, or as good as that, and is asked about the whole c. Of pairs that leave something out that is known not to
// be once pld's bounds are next to each other, as rdp of such pairs is looser by more.
func (q Question) deeper(c loss.Composition, quick *bound, rdp, pld func(loss.Composition) bound) Answer {
	near, less := q.reach(c)
	first := func() bound { return rdp(near) }
	if quick != nil {
		first = func() bound { return *quick }
	}
	tight := q.nothing(PLD)
	a := q.all(near, first, func() bound { tight = pld(near); return tight })
	known := tight.Unsupported == "" && tight.Epsilon <= tight.lower*(1+nextTo)
	if !less && quick == nil || a.Stopped || q.narrow(tight) || less && known {
		return a
	}
	return q.all(c, func() bound { return rdp(c) }, func() bound { return tight })
}

// begin checks q and makes the interrupt that ends all work on it once its Stop says so.
func (q *Question) begin() error {
	if q.in == nil {
		q.in = num.NewInterrupt(q.Stop)
	}
	if q.Stop != nil {
		q.Stop = q.in.Stopped // which remembers what it said
	}
	if err := q.Check(); err != nil {
		return err
	}
	if q.Epsilon != nil && *q.Epsilon == 0 { // maybe −0
		q.Epsilon = new(float64)
	}
	return nil
}

// compose makes the losses of all that c has.
func (q *Question) compose(c mechanism.Composition) (losses loss.Composition, err error) {
	if !q.in.Try(func() { losses, err = kinds.ComposeWithin(c, q.in) }) {
		return nil, ErrStopped
	}
	return losses, err
}

// all is the answer of every analysis: those that may take long last, pld, which takes
// the longest, after all others.
func (q Question) all(c loss.Composition, rdp, pld func() bound) Answer {
	bounds := []bound{
		q.inTime(GDP, func() bound { return q.gdp(c) }), q.nothing(PLD), q.nothing(RDP),
		q.inTime(ZCDP, func() bound { return q.zcdp(c) }), q.inTime(Basic, func() bound { return q.basic(c) }),
	}
	for _, long := range []struct {
		at  int
		ask func() bound
	}{{2, rdp}, {1, pld}} {
		if q.Interim != nil {
			interim := q.least(bounds)
			interim.Stopped = true
			q.Interim(interim)
		}
		bounds[long.at] = q.inTime(bounds[long.at].Analysis, long.ask)
	}
	return q.least(bounds)
}

// inTime is what an analysis proves, or nothing where it is interrupted.
func (q Question) inTime(a Analysis, ask func() bound) bound {
	b := q.nothing(a)
	q.in.Try(func() { b = ask() })
	return b
}

// nothing is what is true of every composition.
func (q Question) nothing(a Analysis) bound {
	if q.Delta != nil {
		return bound{Result: Result{Analysis: a, Epsilon: math.Inf(1)}}
	}
	return deltaAbove(a, 0, 0)
}

// bound is an analysis's result with its lower bound: on ε, or on ln δ. −Inf
// where it knows none.
type bound struct {
	Result
	lower float64
}

// least makes the answer from every analysis's bound, in listing order.
func (q Question) least(bounds []bound) Answer {
	winner, lower := Result{Epsilon: math.Inf(1), Delta: 1}, math.Inf(-1) // what holds where nothing applies
	a := Answer{Analyses: make([]Result, len(bounds)), Stopped: q.in.Over()}
	for i, b := range bounds {
		a.Analyses[i] = b.Result
		if b.Unsupported != "" {
			continue
		}
		lower = math.Max(lower, b.lower)
		if winner.Analysis == "" || q.less(b.Result, winner) {
			winner = b.Result
		}
	}
	a.Analysis = winner.Analysis
	if q.Delta != nil {
		a.Delta, a.Epsilon = *q.Delta, winner.Epsilon
		if lower >= 0 {
			a.EpsilonLower = &lower
		}
		return a
	}
	a.Epsilon, a.Delta, a.LogDelta = *q.Epsilon, winner.Delta, winner.LogDelta
	if !math.IsInf(lower, -1) || a.Delta == 0 {
		delta := num.ExpDown(lower)
		a.DeltaLower, a.LogDeltaLower = &delta, &lower
	}
	return a
}

// less reports whether r's bound is below other's.
func (q Question) less(r, other Result) bool {
	if q.Delta != nil {
		return r.Epsilon < other.Epsilon
	}
	return r.LogDelta < other.LogDelta || r.LogDelta == other.LogDelta && r.Delta < other.Delta
}

func (q Question) gdp(c loss.Composition) bound {
	var b bound
	if q.pure() {
		if _, reason := gdp.Mu(c); reason != "" {
			return unsupported(GDP, reason)
		}
		return epsilonAbove(GDP, worstLoss(c), 0)
	}
	if q.Delta != nil {
		e, reason := gdp.Epsilon(c, *q.Delta)
		b = epsilonBetween(GDP, e, reason)
	} else {
		d, reason := gdp.LogDelta(c, *q.Epsilon)
		b = deltaBetween(GDP, d, reason)
	}
	if c.Dominating() {
		b.lower = math.Inf(-1)
	}
	return b
}

func (q Question) wanted() pld.Wanted {
	w := pld.Wanted{Closely: !q.rough, Stop: q.Stop, In: q.in}
	if q.MaxGap != nil {
		w.Gap = *q.MaxGap
	}
	return w
}

func (q Question) pld(c loss.Composition) bound {
	if q.pure() {
		return q.pldPure(c)
	}
	if q.Delta != nil {
		e, reason := pld.Epsilon(c, *q.Delta, q.wanted())
		return epsilonBetween(PLD, e, reason)
	}
	d, reason := pld.LogDelta(c, *q.Epsilon, q.wanted())
	return deltaBetween(PLD, d, reason)
}

func (q Question) rdp(c loss.Composition) bound {
	if q.pure() {
		return q.rdpPure(c)
	}
	if q.Delta != nil {
		epsilon, order := rdp.Epsilon(c, *q.Delta, q.in)
		return epsilonAbove(RDP, epsilon, order)
	}
	logDelta, order := rdp.LogDelta(c, *q.Epsilon, q.in)
	return deltaAbove(RDP, logDelta, order)
}

func (q Question) zcdp(c loss.Composition) bound {
	for _, f := range c.Facts() {
		if f.BoundOnly && math.IsInf(f.Rho, 1) {
			return unsupported(ZCDP, "a "+f.Name+" has no ρ to add up")
		}
	}
	if q.Delta != nil {
		epsilon, order := zcdp.Epsilon(c, *q.Delta)
		return epsilonAbove(ZCDP, epsilon, order)
	}
	logDelta, order := zcdp.LogDelta(c, *q.Epsilon)
	return deltaAbove(ZCDP, logDelta, order)
}

func epsilonBetween(a Analysis, e loss.Bounds, reason string) bound {
	if reason != "" {
		return unsupported(a, reason)
	}
	return bound{Result{Analysis: a, Epsilon: e.Upper}, e.Lower}
}

func deltaBetween(a Analysis, d loss.Bounds, reason string) bound {
	if reason != "" {
		return unsupported(a, reason)
	}
	b := deltaAbove(a, d.Upper, 0)
	b.lower = d.Lower
	return b
}

func epsilonAbove(a Analysis, epsilon, order float64) bound {
	return bound{Result{Analysis: a, Epsilon: epsilon, Order: order}, math.Inf(-1)}
}

func deltaAbove(a Analysis, logDelta, order float64) bound {
	return bound{Result{Analysis: a, Delta: math.Min(1, num.ExpUp(logDelta)), LogDelta: logDelta, Order: order},
		math.Inf(-1)}
}

func unsupported(a Analysis, reason string) bound {
	return bound{Result: Result{Analysis: a, Unsupported: reason}}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
