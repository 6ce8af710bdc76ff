// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

// Cache answers questions about one growing composition again and again: it keeps the
// cumulant of every distinct loss at the nodes of the current contour. One more release of
// a known loss costs an addition a node, a new loss one evaluation.
//
// The composition given is the truth, the cache only a shortcut: every answer has
// its own certificate, as from Epsilon and LogDelta, for any composition in any
// order. The zero value is ready. It is not for concurrent use.
//
// A distinct loss takes about 32 bytes a node in each direction that is kept: 2 kB
// with the usual 20 to 60 nodes. Of thousands of distinct losses that are alike only the
// nodes of their clusters are kept so, and a few hundred bytes each: about 20 MB for 20,000 (Bytes). No
// more than maxFrameCells values are kept; larger compositions are answered without.
type Cache struct {
	frames [2]*frame // by direction
	add    addBound
}

// maxFrameCells bounds a frame: distinct losses times nodes.
const maxFrameCells = 1 << 20

// keepTighter is how much smaller aliases and truncation are made in a frame, so
// that it serves while the composition grows.
const keepTighter = 1. / 50

// Epsilon encloses ε of the finite losses at ln δ in [down, up], as the function Epsilon
// does. It returns false where the cache cannot answer as closely as wanted.
func (k *Cache) Epsilon(c loss.Composition, down, up float64, w interval.Wanted) (loss.Bounds, bool) {
	return k.ask(c, question{
		place: func(st *steerer) (saddle, float64, float64) {
			x := st.forDelta(down)
			if x.epsilon < 0 {
				x = st.forEpsilon(0)
			}
			return x, math.Max(0, x.epsilon), x.logTail
		},
		replace: func(st *steerer, at float64) (saddle, float64) {
			x := st.forEpsilon(at)
			if x.theta < 0 {
				return x, num.Log1mExp(-down)
			}
			return x, down
		},
		read:      func(c *inversion, at float64) loss.Bounds { return c.epsilon(down, up, at) },
		tolerance: func(theta, at float64) float64 { return math.Abs(theta) * w.EpsilonGap(at) },
		enough:    func(b loss.Bounds) bool { return w.Reached(true, b) },
		skip:      func(b loss.Bounds) (epsilon, logDelta float64) { return b.Lower, down },
		moves:     true,
	}, w)
}

// LogDelta encloses ln δ(ε) of the finite losses, as the function LogDelta does. It returns
// false where the cache cannot answer as closely as wanted.
func (k *Cache) LogDelta(c loss.Composition, epsilon float64, w interval.Wanted) (loss.Bounds, bool) {
	return k.ask(c, question{
		place: func(st *steerer) (saddle, float64, float64) {
			x := st.forEpsilon(epsilon)
			return x, epsilon, x.logTail
		},
		replace: func(st *steerer, _ float64) (saddle, float64) {
			x := st.forEpsilon(epsilon)
			return x, x.logTail
		},
		read: func(c *inversion, _ float64) loss.Bounds {
			b, _ := c.logDelta(epsilon)
			return b
		},
		tolerance: func(float64, float64) float64 { return w.LogGap() },
		enough:    func(b loss.Bounds) bool { return w.Reached(false, b) },
		skip:      func(b loss.Bounds) (float64, float64) { return epsilon, b.Lower },
	}, w)
}

// question is what differs between asking by δ and by ε.
type question struct {
	place     func(*steerer) (x saddle, epsilon, logTail float64)
	replace   func(st *steerer, epsilon float64) (x saddle, logTail float64)
	read      func(c *inversion, near float64) loss.Bounds
	tolerance func(theta, epsilon float64) float64 // relative, of δ
	enough    func(loss.Bounds) bool
	skip      func(loss.Bounds) (epsilon, logDelta float64) // where add must be smaller to be left out
	moves     bool                                          // ε is the answer
}

func (k *Cache) ask(c loss.Composition, q question, w interval.Wanted) (loss.Bounds, bool) {
	p, reason := split(c)
	if reason != "" || !p.countable() {
		return loss.Bounds{}, false
	}
	b, ok := k.direction(&p, loss.Remove, q, w)
	if !ok || c.Symmetric() {
		return b, ok
	}
	epsilon, logDelta := q.skip(b)
	// A frame of the add direction was needed before: asking it costs least.
	if k.frames[loss.Add] == nil && k.add.smaller(&p, epsilon, logDelta) {
		return b, true
	}
	a, ok := k.direction(&p, loss.Add, q, w)
	return interval.Larger(a, b), ok
}

// countable reports whether every loss is one term with a count that float64 has:
// only counts whose sum overflows are kept as two.
func (p *parts) countable() bool {
	for _, t := range p.rest {
		if t.Count > 1<<53 {
			return false
		}
	}
	return true
}

// direction answers from the frame, or from a new one; ok is false where the answer
// would be wider than wanted.
func (k *Cache) direction(p *parts, d loss.Direction, q question, w interval.Wanted) (loss.Bounds, bool) {
	p.meter = newMeter(len(p.rest), w)
	if f := k.frames[d]; f != nil {
		var c *inversion
		if f.hasRoom(p) {
			c = f.contour(p)
		}
		if c == nil {
			k.frames[d] = nil
		} else if b := q.read(c, f.last); q.enough(b) {
			f.last = b.Upper
			return b, true
		} // else it stays until another one is made: a later question may want less
	}
	if q, ok := p.clustered(w); ok {
		q.meter = p.meter
		p = &q
	}
	st := p.steer(d)
	x, at, logTail := q.place(st)
	for i := range rounds {
		pl := st.plan(x, at, logTail, keepTighter*toleranceFor(q.tolerance(x.theta, at)), p.maxLoss(d)-at)
		if i == 0 && pl.skewed && q.moves { // first find out where ε is
			pl = st.plan(x, at, logTail, roughTolerance, p.maxLoss(d)-at)
		}
		s, reason := newSite(p, d, pl)
		if reason != "" {
			return loss.Bounds{}, false
		}
		f := newFrame(p, d, pl, s)
		if f == nil || !f.small() {
			return loss.Bounds{}, false
		}
		c := f.contour(p)
		if c == nil {
			return loss.Bounds{}, false
		}
		b := q.read(c, at)
		if q.enough(b) {
			f.last = b.Upper
			k.frames[d] = f
			return b, true
		}
		if p.meter.out() {
			return loss.Bounds{}, false
		}
		if q.moves {
			if at = b.Lower + (b.Upper-b.Lower)/2; math.IsInf(at, 1) {
				at = b.Lower
			}
		}
		x, logTail = q.replace(st, at)
	}
	return loss.Bounds{}, false
}

// Bytes is about what the cache holds in memory.
func (k *Cache) Bytes() int {
	n := 160 * len(k.add.values)
	for _, f := range k.frames {
		if f != nil {
			n += f.full*(32*(f.levels.at[0]+1)+8*len(f.levels.at)+400) + f.members*32*memberCells
		}
	}
	return n
}

// addBound proves by Chernoff's bound at one θ that the add direction's δ is small.
type addBound struct {
	theta  float64
	values map[loss.Loss]loss.Value // K_add(θ) of each distinct loss
}

func (a *addBound) smaller(p *parts, epsilon, logDelta float64) bool {
	if p.maxLoss(loss.Add) <= epsilon {
		return true
	}
	if a.theta > 0 && chernoffProves(a.k(p), a.theta, epsilon, logDelta) {
		return true
	}
	x := p.steer(loss.Add).forEpsilon(epsilon)
	if !(x.theta > 0 && x.logTail < logDelta) {
		return false
	}
	a.theta, a.values = x.theta, make(map[loss.Loss]loss.Value, len(p.rest))
	return chernoffProves(a.k(p), a.theta, epsilon, logDelta)
}

func (a *addBound) k(p *parts) loss.Value {
	var sum loss.ValueSum
	for _, t := range p.rest {
		v, ok := a.values[t.Loss]
		if !ok {
			v = t.Loss.Cumulant(loss.Add, a.theta, p.meter.in)
			a.values[t.Loss] = v
		}
		sum.Add(float64(t.Count), v)
	}
	return addGaussian(sum.Value(), p.variance, a.theta)
}
