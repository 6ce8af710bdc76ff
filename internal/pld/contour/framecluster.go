// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// frameCluster is a cluster of which a frame keeps the nodes only. A release of a member changes the
// nodes' factors, which takes a few hundred additions, and none of what was computed of the nodes
// (docs/math/clusters.md §2.7.4).
type frameCluster struct {
	cluster  loss.Cluster
	rows     []*frameRow // of the nodes
	factors  []num.Sum   // the nodes': Σ n_j·ℓ_i(j)
	releases float64     // Σ n_j

	// How far K may be from the nodes' sum, for one release: on the line, and at the points above and
	// below. Where one of the last two is nil, the members' own K is kept there.
	err, above, less func(t float64) float64
}

// newFrameCluster is nil where K is not smooth enough on the line.
func (f *frame) newFrameCluster(c clustered, tilted map[loss.Loss]*loss.Tilted, m *meter) *frameCluster {
	smooth := func(s float64) func(t float64) float64 {
		if one := c.cluster.Error(f.d, s, m.in); c.releases*one(0) < mostClusterError {
			return one
		}
		return nil
	}
	fc := &frameCluster{cluster: c.cluster, factors: make([]num.Sum, len(c.nodes)), err: smooth(f.theta)}
	if fc.err == nil {
		return nil
	}
	fc.above, fc.less = smooth(f.above), smooth(f.below)
	for _, node := range c.nodes {
		fc.rows = append(fc.rows, f.newNode(node.loss, tilted[node.loss], m))
	}
	return fc
}

// newMember is the row of a loss that the nodes stand for.
func (f *frame) newMember(l loss.Loss, fc *frameCluster, m *meter) *frameRow {
	f.members++
	r := &frameRow{in: fc, milder: f.milderOf(l.(loss.Clustered).Milder(), m)}
	if fc.above == nil {
		r.above = l.Cumulant(f.d, f.above, m.in)
	}
	if fc.less == nil {
		r.less = l.Cumulant(f.d, f.below, m.in)
	}
	return r
}

// milderOf bounds ln|φ| over each interval of the levels and beyond, for every loss that m stands for.
func (f *frame) milderOf(m loss.Milder, meter *meter) []float64 {
	if decay, ok := f.milder[m]; ok {
		return decay
	}
	decay := make([]float64, len(f.levels.at))
	on := tiltedMilder{loss.Tilt(m.Loss(), f.d, f.theta, meter.in), m.Share(f.d, f.theta, meter.in), 1}
	for i := range decay {
		from, to := f.levels.interval(i)
		decay[i] = math.Min(0, on.decay(from, to)*(1-1e-9))
	}
	f.milder[m] = decay
	return decay
}

// addMember adds n releases of a member.
func (f *frame) addMember(l loss.Loss, r *frameRow, n float64) {
	fc := r.in
	fc.cluster.Weigh(l, n, fc.factors)
	fc.releases += n
	if fc.above == nil {
		f.over.Add(n, r.above)
	}
	if fc.less == nil {
		f.less.Add(n, r.less)
	}
}

// memberCells is about what a member's row takes, in values along the line.
const memberCells = 8

// frameSums are a frame's sums with its clusters'.
type frameSums struct {
	nodes            []nodeSum
	base, over, less loss.ValueSum
	err, above, down float64 // of K at θ, above and below, by the clusters
}

func (f *frame) sums() frameSums {
	s := frameSums{nodes: f.nodes, base: f.base, over: f.over, less: f.less}
	if len(f.clusters) > 0 {
		s.nodes = slices.Clone(f.nodes)
	}
	for _, fc := range f.clusters {
		releases := fc.releases * (1 + 1e-9)
		for i, r := range fc.rows {
			n := fc.factors[i].Value()
			s.base.Add(n, r.base)
			if fc.above != nil {
				s.over.Add(n, r.above)
			}
			if fc.less != nil {
				s.less.Add(n, r.less)
			}
			for k := range s.nodes {
				s.nodes[k].add(weighted{count: n, clustered: true}, r.along[k])
			}
		}
		s.err += releases * fc.err(0)
		if fc.above != nil {
			s.above += releases * fc.above(0)
		}
		if fc.less != nil {
			s.down += releases * fc.less(0)
		}
		for k := 1; k < len(s.nodes); k++ { // at node 0 the difference is 0
			s.nodes[k].err += releases * (fc.err(float64(k)*f.step) + fc.err(0))
		}
	}
	return s
}

// farther is v with so much more error.
func farther(v loss.Value, err float64) loss.Value {
	v.Err += err
	return v
}
