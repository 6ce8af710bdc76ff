// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld"
	"github.com/dpaccountant/accountant/internal/rdp"
)

// Session answers questions about one ledger as it grows. It keeps what the pld and rdp
// analyses need of every distinct mechanism, so that one more step of a known one
// costs microseconds there; the composition given is the truth, and every answer is
// proven as Ask's is, whatever was asked before. The zero value is ready. It is
// not for concurrent use.
type Session struct {
	cache  pld.Cache
	orders [2]rdp.Cache // of questions by δ, and by ε
}

// Bytes is about what the session holds in memory: 2 kB a distinct mechanism, and
// tens of megabytes at most (pld.Cache).
func (s *Session) Bytes() int { return s.cache.Bytes() + s.orders[0].Bytes() + s.orders[1].Bytes() }

// Ask answers as the function Ask does, by every analysis. The pld and rdp analyses use what
// the session keeps; the others are computed each time. If pld's bounds are as near to
// each other as wanted, rdp may answer by an order that was the best one earlier: then its result
// is a bound that a new search for the order would lower by little.
func (s *Session) Ask(c mechanism.Composition, q Question) (Answer, error) {
	losses, err := q.losses(c)
	if err != nil {
		return Answer{}, err
	}
	orders := &s.orders[0]
	if q.Epsilon != nil {
		orders = &s.orders[1]
	}
	var quick *bound
	near, _ := q.reach(losses)
	if kept, ok := q.rdpBy(orders, near); ok {
		quick = &kept
	}
	return q.deeper(losses, quick, func(c loss.Composition) bound { return q.rdpKept(orders, c) },
		func(c loss.Composition) bound { return s.pld(c, q) }), nil
}

// rdpBy is the rdp analysis at a kept order.
func (q Question) rdpBy(orders *rdp.Cache, c loss.Composition) (b bound, ok bool) {
	q.in.Try(func() {
		if q.Delta != nil {
			var epsilon, order float64
			epsilon, order, ok = orders.Epsilon(c, *q.Delta, q.in)
			b = epsilonAbove(RDP, epsilon, order)
			return
		}
		var logDelta, order float64
		logDelta, order, ok = orders.LogDelta(c, *q.Epsilon, q.in)
		b = deltaAbove(RDP, logDelta, order)
	})
	return b, ok
}

// rdpKept is the rdp analysis; it has its order kept for the next question.
func (q Question) rdpKept(orders *rdp.Cache, c loss.Composition) bound {
	b := q.rdp(c)
	orders.Keep(b.Order)
	return b
}

// Tightest is Ask with the pld analysis alone wherever its upper bound is as near
// to its lower bound as wanted: no other analysis could be lower by more than that
// gap. The answer then lists only pld. Elsewhere it is Ask.
func (s *Session) Tightest(c mechanism.Composition, q Question) (Answer, error) {
	losses, err := q.losses(c)
	if err != nil {
		return Answer{}, err
	}
	near, _ := q.reach(losses)
	b := s.pld(near, q)
	if q.narrow(b) {
		return q.least([]bound{b}), nil
	}
	return q.all(losses, func() bound { return q.rdp(losses) }, func() bound { return b }), nil
}

// pld forgets what it keeps where it is interrupted, as that may be half done.
func (s *Session) pld(c loss.Composition, q Question) bound {
	if q.pure() {
		return q.inTime(PLD, func() bound { return q.pldPure(c) })
	}
	b, cache := q.nothing(PLD), s.cache
	s.cache = pld.Cache{}
	q.in.Try(func() {
		b = q.pldIn(&cache, c)
		s.cache = cache
	})
	return b
}

func (q Question) pldIn(cache *pld.Cache, c loss.Composition) bound {
	if q.Delta != nil {
		e, reason := cache.Epsilon(c, *q.Delta, q.wanted())
		return epsilonBetween(PLD, e, reason)
	}
	d, reason := cache.LogDelta(c, *q.Epsilon, q.wanted())
	return deltaBetween(PLD, d, reason)
}

// narrow reports whether b's interval is as narrow as wanted.
func (q Question) narrow(b bound) bool {
	if b.Unsupported != "" {
		return false
	}
	upper := b.LogDelta
	if q.Delta != nil {
		upper = b.Epsilon
	}
	return q.wanted().Reached(q.Delta != nil, loss.Bounds{Lower: b.lower, Upper: upper})
}
