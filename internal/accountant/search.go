// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// search looks for the last value that fits, in the coordinate u: ln of the
// value, or −ln where ε falls as the value grows. So ε grows with u.
type search struct {
	q     Calibration
	goal  objective
	knob  knob
	start float64
	try   func(e mechanism.Event) (cost float64, a Answer, err error)
	none  func(cheapest *probe) error // what to say if nothing fits

	fits, exceeds *probe     // the bracket, each nil until there is one
	before        *probe     // the one before the latest, for secant steps
	reach, beyond float64    // while one side is open: the longest step, and how far past the estimate
	widths        [3]float64 // of the bracket, the latest three
	late          bool       // Stop has come
	probes        int
}

// probe is a value that was tried.
type probe struct {
	value, u float64
	err      float64 // ln cost − ln target; ±Inf where either is 0 or ∞
	cost     float64
	answer   Answer
}

const (
	mostProbes = 200
	lateProbes = 8               // after Stop, in search of any value that fits
	aim        = 0.1 * Tolerance // distance of the final probes from the estimate
	near       = 1e-3            // from here one secant step is better than aim
)

// newSearch checks the question and what stays fixed, and guesses a start.
func newSearch(q Calibration) (*search, error) {
	k, err := q.check()
	if err != nil {
		return nil, err
	}
	s := &search{q: q, goal: q.objective(), knob: k}
	s.try = func(e mechanism.Event) (float64, Answer, error) { return s.ask(with(q.Fixed, e)) }
	s.none = func(cheapest *probe) error {
		return q.tooLittle(cheapest.cost,
			"with "+k.field+" "+number(cheapest.value)+", the end of its range, all of it costs that")
	}
	spent := 0.0
	if len(q.Fixed.Parts) > 0 {
		if spent, _, err = s.ask(q.Fixed); err != nil {
			return nil, err
		}
		switch {
		case spent > s.goal.most && s.late:
			return nil, ErrStopped
		case spent > s.goal.most:
			return nil, q.tooLittle(spent, "what stays fixed costs that")
		}
	}
	s.start = q.guess(k, spent)
	return s, nil
}

// run probes until the bracket is narrow enough.
func (s *search) run() (Calibrated, error) {
	v := s.start
	s.reach, s.beyond = math.Ln2, aim
	for left := lateProbes; s.probes < mostProbes && left > 0; {
		p, err := s.probe(v)
		if errors.Is(err, ErrStopped) {
			break
		}
		if err != nil {
			return Calibrated{}, err
		}
		if p.cost <= s.goal.most {
			s.fits = p
		} else {
			s.exceeds = p
		}
		if s.done() {
			break
		}
		if s.late {
			left--
		}
		v = s.next(p)
		s.before = p
	}
	switch {
	case s.fits != nil:
		return s.result(), nil
	case s.late || s.exceeds == nil || s.exceeds.value != s.cheap():
		return Calibrated{}, ErrStopped
	}
	return Calibrated{}, s.none(s.exceeds)
}

func (s *search) result() Calibrated {
	out := Calibrated{Event: s.knob.set(s.fits.value), Field: s.knob.field, Value: s.fits.value, Cost: s.fits.cost,
		Answer: s.fits.answer}
	out.Answer.Stopped = out.Answer.Stopped || s.late
	if s.exceeds != nil && !s.late {
		out.Exceeding = &s.exceeds.value
	}
	return out
}

func (s *search) ask(c mechanism.Composition) (float64, Answer, error) {
	cost, a, err := s.goal.cost(c, s.q.Stop)
	s.late = s.late || s.q.Stop != nil && s.q.Stop() // then a is only what could be proven in time
	return cost, a, err
}

func (s *search) probe(v float64) (*probe, error) {
	s.probes++
	cost, a, err := s.try(s.knob.set(v))
	if err != nil {
		return nil, err
	}
	p := &probe{value: v, u: s.u(v), err: math.Log(cost) - math.Log(s.goal.most), cost: cost, answer: a}
	if math.IsNaN(p.err) { // 0 of 0
		p.err = math.Inf(-1)
	}
	return p, nil
}

// with is c and one more event.
func with(c mechanism.Composition, e mechanism.Event) mechanism.Composition {
	parts := append(make([]mechanism.Part, 0, len(c.Parts)+1), c.Parts...)
	for i := range parts {
		if parts[i].Mechanism == e.Mechanism {
			parts[i].Count += uint64(e.Count)
			return mechanism.Composition{Adjacency: c.Adjacency, Parts: parts}
		}
	}
	return mechanism.Composition{Adjacency: c.Adjacency,
		Parts: append(parts, mechanism.Part{Mechanism: e.Mechanism, Count: uint64(e.Count)})}
}

func (s *search) u(v float64) float64 {
	if s.knob.falls {
		return -math.Log(v)
	}
	return math.Log(v)
}

// done reports whether the bracket is as narrow as wanted or at the end of the
// range, or there is no time left and something fits.
func (s *search) done() bool {
	costly := s.knob.most
	if s.knob.falls {
		costly = s.knob.least
	}
	switch {
	case s.fits == nil:
		return s.exceeds.value == s.cheap()
	case s.late, s.fits.value == costly:
		return true
	case s.exceeds == nil:
		return false
	case s.knob.whole:
		return s.exceeds.value-s.fits.value <= 1
	}
	return s.exceeds.u-s.fits.u <= Tolerance
}

// cheap is the end of the range that costs least.
func (s *search) cheap() float64 {
	if s.knob.falls {
		return s.knob.most
	}
	return s.knob.least
}

// next chooses the value after p.
func (s *search) next(p *probe) float64 {
	root, step := s.estimate(p)
	if s.fits == nil || s.exceeds == nil {
		// One side is still open: go towards it, further each time.
		side := 1.0
		if s.fits == nil {
			side = -1
		}
		ahead := math.Min(step+s.beyond, s.reach)
		if s.late {
			ahead = s.reach
		}
		s.reach, s.beyond = 2*s.reach, 8*s.beyond
		return s.value(p.u+side*ahead, side)
	}
	low, high := s.fits.u, s.exceeds.u
	width := high - low
	slow := s.widths[0] > 0 && width > s.widths[0]/2 // three probes must halve it
	s.widths = [3]float64{s.widths[1], s.widths[2], width}
	switch {
	case slow || !(root > low && root < high):
		return s.value(low+width/2, 0)
	case step > near:
		return s.value(root, 0)
	}
	past := aim
	if s.knob.whole { // rounded to either side instead
		past = 0
	}
	if root-low > high-root {
		return s.value(root-past, -1)
	}
	return s.value(root+past, 1)
}

// estimate is where the error is likely 0, and how far from p that is: both are
// infinite where p's error is.
func (s *search) estimate(p *probe) (root, step float64) {
	slope := 1.0
	if s.before != nil {
		if v := (p.err - s.before.err) / (p.u - s.before.u); v > 1e-3 && v < 1e3 {
			slope = v
		}
	}
	root = p.u - p.err/slope
	return root, math.Abs(root - p.u)
}

// value is that of u, inside the range and the bracket. side says which way a
// whole number is to be rounded: −1 down, +1 up beyond it.
func (s *search) value(u, side float64) float64 {
	k := s.knob
	if k.falls {
		u = -u
	}
	v := math.Exp(u)
	if k.whole {
		v = math.Floor(v)
		if side > 0 {
			v++
		}
		if s.fits != nil {
			v = math.Max(v, s.fits.value+1)
		}
		if s.exceeds != nil {
			v = math.Min(v, s.exceeds.value-1)
		}
	}
	return math.Max(k.least, math.Min(k.most, v))
}
