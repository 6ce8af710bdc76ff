// SPDX-License-Identifier: Apache-2.0

package rdp

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Cache bounds one growing composition again and again. It keeps one order, the best at an
// earlier time, and the cumulant of every distinct loss there, so that one more release of a known
// loss costs an addition. Every order proves a bound; the kept one is used as long as its
// neighbours promise to lower ε or ln δ by no more than a relative drift. The zero value is ready.
// It is not for concurrent use.
type Cache struct {
	s      float64 // the order is 1 + s; 0 where none is kept
	values map[at]loss.Value
}

type at struct {
	loss loss.Loss
	d    loss.Direction
}

const (
	// drift is how much of a bound a kept order may lose against the best one.
	drift = 1e-6
	// nearby is how far the orders are, relative to s, at which that is estimated.
	nearby = 1. / 256
	// mostKept bounds the values that are kept, of 150 bytes each.
	mostKept = 1 << 16
)

// Bytes is about what the cache holds in memory.
func (k *Cache) Bytes() int { return 150 * len(k.values) }

// Keep has the order of an answer about c, for the next ones. An order that is not finite is not kept.
func (k *Cache) Keep(order float64) {
	if s := order - 1; s != k.s {
		*k = Cache{}
		if s > 0 && !math.IsInf(s, 1) {
			k.s = s
		}
	}
}

// Epsilon bounds ε at δ in (0, 1) from above as the function Epsilon does, by the order that is kept.
// It returns false where there is none, or where another one is likely better.
func (k *Cache) Epsilon(c loss.Composition, delta float64, in *num.Interrupt) (epsilon, order float64, ok bool) {
	return k.ask(c, in, func(d loss.Direction, s float64, v loss.Value) float64 {
		_, atom := c.InfinityMassOf(d)
		finite := loss.Finite(delta, atom)
		if !(finite > 0) {
			return math.Inf(1)
		}
		return loss.EpsilonAt(s, v.Upper(), num.LogDown(finite))
	})
}

// LogDelta bounds ln δ at ε ≥ 0 from above as the function LogDelta does; otherwise it behaves like
// Epsilon.
func (k *Cache) LogDelta(c loss.Composition, epsilon float64, in *num.Interrupt) (logDelta, order float64, ok bool) {
	return k.ask(c, in, func(d loss.Direction, s float64, v loss.Value) float64 {
		_, atom := c.InfinityMassOf(d)
		return loss.LogTotal(loss.LogDeltaAt(s, v.Upper(), epsilon), atom)
	})
}

// ask is the larger of both directions' bounds at the kept order.
func (k *Cache) ask(c loss.Composition, in *num.Interrupt,
	bound func(d loss.Direction, s float64, v loss.Value) float64) (worst, order float64, ok bool) {
	if !(k.s > 0 && k.s <= c.Last()) || len(c) == 0 {
		return 0, 0, false
	}
	if len(k.values) > 4*len(c)+64 { // most are of losses that are gone
		k.values = nil
	}
	worst = math.Inf(-1)
	var value loss.Value
	var direction loss.Direction
	for _, d := range c.Directions() {
		v := k.cumulant(c, d, in)
		if b := bound(d, k.s, v); b > worst {
			worst, value, direction = b, v, d
		}
	}
	near := func(h float64) float64 {
		v := loss.Value{K: value.K + h*value.Slope + h*h/2*value.Curvature, Err: value.Err}
		return bound(direction, k.s+h, v)
	}
	// The parabola through the bounds at three orders is lower by slope²/(2·bend).
	before, after := near(-nearby*k.s), near(nearby*k.s)
	slope, bend := (after-before)/2, after+before-2*worst
	if !(slope*slope <= 2*bend*drift*math.Abs(worst)) {
		return 0, 0, false
	}
	return worst, 1 + k.s, worst < math.Inf(1)
}

func (k *Cache) cumulant(c loss.Composition, d loss.Direction, in *num.Interrupt) loss.Value {
	if k.values == nil {
		k.values = make(map[at]loss.Value, len(c))
	}
	var sum loss.ValueSum
	for _, t := range c {
		v, ok := k.values[at{t.Loss, d}]
		if !ok {
			in.Spend(termWork)
			if v = loss.Renyi(t.Loss, d, k.s, in); len(k.values) < mostKept {
				k.values[at{t.Loss, d}] = v
			}
		}
		sum.Add(float64(t.Count), v)
	}
	return sum.Value()
}
