package contour

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
)

// frame is a contour's place with what every distinct loss has there, so that a
// composition with other counts needs only sums: θ, the nodes, the points of the
// alias bounds and the intervals of the truncation bound stay. Every composition
// gets a certificate of its own from it; one that has drifted away only gets a
// wide one, and the frame is then made anew.
type frame struct {
	d                         loss.Direction
	theta, step, above, below float64
	levels                    levels // from the last node on
	rows                      map[loss.Loss]*frameRow

	// Sums over the rows times their counts.
	nodes            []nodeSum
	base, over, less loss.ValueSum // K at θ, above and below
	decays           []float64     // ln Π|φ_j|^{n_j} over each interval of the levels, then beyond
	distinct         int           // rows with a count
	additions        int           // since the sums were made

	last float64 // the last answer, where to look for the next
}

// frameRow is one distinct loss in a frame: 32 bytes a node and a few hundred.
type frameRow struct {
	count             uint64 // that is in the sums
	base, above, less loss.Value
	along             []loss.ComplexValue
	decay             []float64 // over each interval of the levels, then beyond
}

// rebuildAfter additions the sums are made anew from the counts: compensated sums
// hardly drift, and their error bounds grow by less than their slack until then.
const rebuildAfter = 1 << 16

// newFrame keeps the place of a site. It is nil where the site took a closer look at
// decays, which would be too slow for every new loss.
func newFrame(p *parts, d loss.Direction, pl plan, s *site) *frame {
	if s.closely || s.c.limited {
		return nil
	}
	f := &frame{
		d: d, theta: s.c.theta, step: s.c.step, above: pl.above, below: pl.below,
		levels: levels{step: s.c.step, at: s.levels.at[s.end:], reach: s.levels.reach},
		rows:   make(map[loss.Loss]*frameRow, len(p.rest)),
	}
	f.levels.logs = make([]float64, len(f.levels.at)-1)
	for i, t := range p.rest {
		f.rows[t.Loss] = f.newRow(t.Loss, s.line.rest[i], p.meter)
		s.line.rest[i] = nil // thousands of them may be large
	}
	return f
}

func (f *frame) newRow(l loss.Loss, on *loss.Tilted, m *meter) *frameRow {
	n := f.levels.at[0] + 1
	r := &frameRow{base: on.K(), above: l.Cumulant(f.d, f.above, m.in), less: l.Cumulant(f.d, f.below, m.in),
		along: on.Along(f.step, n, m.stopped)}
	m.spend(on.Spent())
	for i, at := range f.levels.at {
		end := math.Inf(1)
		if i+1 < len(f.levels.at) {
			end = float64(f.levels.at[i+1]) * f.step
		}
		r.decay = append(r.decay, on.Decay(float64(at)*f.step, end, false))
	}
	return r
}

// hasRoom reports whether the frame may go on with p: rows of losses that p no
// longer has count too.
func (f *frame) hasRoom(p *parts) bool {
	return max(len(f.rows), len(p.rest))*(f.levels.at[0]+1) <= maxFrameCells
}

// contour is the certificate of p in this place, nil where there is none.
func (f *frame) contour(p *parts) *inversion {
	if !f.update(p) || p.meter.stopped() { // rows may be incomplete
		return nil
	}
	c := &inversion{theta: f.theta, step: f.step, maxLoss: p.maxLoss(f.d)}
	if c.k = addGaussian(f.base.Value(), p.variance, f.theta); !(c.k.Err < 0.1) {
		return nil
	}
	c.above = newAlias(c, f.above, addGaussian(f.over.Value(), p.variance, f.above))
	c.below = newAlias(c, f.below, addGaussian(f.less.Value(), p.variance, f.below))
	f.truncate(p)
	c.cut = f.levels.cut(0)
	c.re, c.im = make([]float64, len(f.nodes)), make([]float64, len(f.nodes))
	for k := range f.nodes {
		c.node(k, &f.nodes[k], p.variance)
	}
	return c
}

// truncate fills the levels with ln Π|φ_j|^{n_j}. The sums' rounding is a few Ulp an
// addition: 1e−9 covers rebuildAfter of them and as many distinct losses.
func (f *frame) truncate(p *parts) {
	for i, at := range f.levels.at {
		sum := gaussianDecay(p.variance, float64(at)*f.step) + f.decays[i]*(1-1e-9)
		if i < len(f.levels.logs) {
			f.levels.logs[i] = sum
		} else {
			f.levels.last = sum
		}
	}
}

// update brings the sums to p's counts: by what was added, or from the start where
// something was taken away. It reports false where that is too much work.
func (f *frame) update(p *parts) bool {
	if f.nodes == nil || f.additions > rebuildAfter || !f.grewTo(p) {
		f.nodes = make([]nodeSum, f.levels.at[0]+1)
		f.base, f.over, f.less = loss.ValueSum{}, loss.ValueSum{}, loss.ValueSum{}
		f.decays = make([]float64, len(f.levels.at))
		f.distinct, f.additions = 0, 0
		for _, r := range f.rows {
			r.count = 0
		}
	}
	for _, t := range p.rest {
		r := f.rows[t.Loss]
		if r == nil {
			on := loss.Tilt(t.Loss, f.d, f.theta, p.meter.in)
			if on.Work(f.step, f.levels.at[0]) > p.meter.left || p.meter.out() {
				return false
			}
			r = f.newRow(t.Loss, on, p.meter)
			f.rows[t.Loss] = r
		}
		if r.count == t.Count {
			continue
		}
		if r.count == 0 {
			f.distinct++
		}
		n := float64(t.Count - r.count)
		r.count = t.Count
		f.base.Add(n, r.base)
		f.over.Add(n, r.above)
		f.less.Add(n, r.less)
		for k := range f.nodes {
			f.nodes[k].add(weighted{count: n}, r.along[k])
		}
		for i, d := range r.decay {
			f.decays[i] += n * d
		}
		f.additions++
	}
	return true
}

// grewTo reports whether p has at least every count that is in the sums.
func (f *frame) grewTo(p *parts) bool {
	found := 0
	for _, t := range p.rest {
		if r := f.rows[t.Loss]; r != nil && r.count > 0 {
			if r.count > t.Count {
				return false
			}
			found++
		}
	}
	return found == f.distinct
}
