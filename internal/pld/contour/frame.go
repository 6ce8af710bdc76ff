// SPDX-License-Identifier: Apache-2.0

package contour

import (
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
	clusters                  []*frameCluster
	at                        map[loss.Cluster]*frameCluster
	milder                    map[loss.Milder][]float64
	full                      int // rows and nodes of clusters that are known along the line
	members                   int // other rows: of losses that the nodes of clusters stand for

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

	in     *frameCluster // whose nodes stand for the loss; then only what is not smooth there is kept
	milder []float64     // the decay of such a loss
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
		at:     make(map[loss.Cluster]*frameCluster),
		milder: make(map[loss.Milder][]float64),
	}
	f.levels.logs = make([]float64, len(f.levels.at)-1)
	tilted := make(map[loss.Loss]*loss.Tilted, len(s.line.rest))
	for i, t := range s.line.terms {
		tilted[t.loss] = s.line.rest[i]
		s.line.rest[i] = nil
	}
	for _, c := range p.clusters {
		if fc := f.newFrameCluster(c, tilted, p.meter); fc != nil {
			f.at[c.cluster] = fc
			f.clusters = append(f.clusters, fc)
		}
	}
	for _, t := range p.rest {
		if fc := f.clusterOf(t.Loss); fc != nil {
			f.rows[t.Loss] = f.newMember(t.Loss, fc, p.meter)
			continue
		}
		f.rows[t.Loss] = f.newRow(t.Loss, tilted[t.Loss], p.meter)
		delete(tilted, t.Loss) // thousands of them may be large
	}
	return f
}

// clusterOf is nil for a loss that has a row of its own along the line.
func (f *frame) clusterOf(l loss.Loss) *frameCluster {
	if len(f.at) == 0 {
		return nil
	}
	c, ok := clusterOf(l)
	if !ok {
		return nil
	}
	return f.at[c]
}

// newRow is the row of a loss for which no nodes stand.
func (f *frame) newRow(l loss.Loss, on *loss.Tilted, m *meter) *frameRow {
	r := f.newNode(l, on, m)
	for i := range f.levels.at {
		from, to := f.levels.interval(i)
		r.decay = append(r.decay, on.Decay(from, to, false))
	}
	return r
}

// newNode is a row without its decay.
func (f *frame) newNode(l loss.Loss, on *loss.Tilted, m *meter) *frameRow {
	n := f.levels.at[0] + 1
	r := &frameRow{base: on.K(), above: l.Cumulant(f.d, f.above, m.in), less: l.Cumulant(f.d, f.below, m.in),
		along: on.Along(f.step, n, m.stopped)}
	m.spend(on.Spent())
	f.full++
	return r
}

// hasRoom reports whether the frame may go on with p: rows of losses that p no
// longer has count too.
func (f *frame) hasRoom(p *parts) bool {
	return f.small() && (len(p.rest)-f.members)*(f.levels.at[0]+1) <= maxFrameCells
}

// small reports whether what the frame keeps is within its bound. A member of a cluster counts as a few values.
func (f *frame) small() bool { return f.full*(f.levels.at[0]+1)+memberCells*f.members <= maxFrameCells }

// contour is the certificate of p in this place, nil where there is none.
func (f *frame) contour(p *parts) *inversion {
	if !f.update(p) || p.meter.stopped() { // rows may be incomplete
		return nil
	}
	s := f.sums()
	c := &inversion{theta: f.theta, step: f.step, maxLoss: p.maxLoss(f.d)}
	if c.k = farther(addGaussian(s.base.Value(), p.variance, f.theta), s.err); !(c.k.Err < 0.1) {
		return nil
	}
	c.above = newAlias(c, f.above, farther(addGaussian(s.over.Value(), p.variance, f.above), s.above))
	c.below = newAlias(c, f.below, farther(addGaussian(s.less.Value(), p.variance, f.below), s.down))
	f.truncate(p)
	c.cut = f.levels.cut(0)
	c.re, c.im = make([]float64, len(s.nodes)), make([]float64, len(s.nodes))
	for k := range s.nodes {
		c.node(k, &s.nodes[k], p.variance)
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
// something was taken away. It reports false where that is too much work. Releases of a loss in a cluster
// change the factors of the cluster's nodes (docs/math/clusters.md §2.7.4).
func (f *frame) update(p *parts) bool {
	if f.nodes == nil || f.additions > rebuildAfter || !f.grewTo(p) {
		f.nodes = make([]nodeSum, f.levels.at[0]+1)
		f.base, f.over, f.less = loss.ValueSum{}, loss.ValueSum{}, loss.ValueSum{}
		f.decays = make([]float64, len(f.levels.at))
		f.distinct, f.additions = 0, 0
		for _, r := range f.rows {
			r.count = 0
		}
		for _, c := range f.clusters {
			clear(c.factors)
			c.releases = 0
		}
	}
	for _, t := range p.rest {
		r := f.rows[t.Loss]
		if r == nil {
			if fc := f.clusterOf(t.Loss); fc != nil {
				r = f.newMember(t.Loss, fc, p.meter)
				f.rows[t.Loss] = r
			}
		}
		if r == nil {
			on := loss.Tilt(t.Loss, f.d, f.theta, p.meter.in)
			if on.Work(f.step, f.levels.at[0]) > p.meter.left || p.meter.out() || !f.small() {
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
		f.additions++
		decay := r.decay
		if r.in != nil {
			f.addMember(t.Loss, r, n)
			decay = r.milder
		} else {
			f.base.Add(n, r.base)
			f.over.Add(n, r.above)
			f.less.Add(n, r.less)
			for k := range f.nodes {
				f.nodes[k].add(weighted{count: n}, r.along[k])
			}
		}
		for i, d := range decay {
			f.decays[i] += n * d
		}
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
