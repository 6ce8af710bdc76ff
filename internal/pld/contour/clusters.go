// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

// manyDistinct losses are worth clusters, and in each of them worthCluster times as many as it
// has nodes.
const (
	manyDistinct = 4000
	worthCluster = 1.5
)

// clustered is a cluster of losses in the sum K: its nodes, or its members where K is not smooth.
type clustered struct {
	cluster        loss.Cluster
	nodes, members []weighted
	releases       float64
}

// weightedMilder is what stands for losses of clusters where decay counts.
type weightedMilder struct {
	milder   loss.Milder
	releases float64
}

// clustered has the nodes of clusters in the place of thousands of losses: fewer terms, and a
// certified error of their sum. It is false where that is no gain, and where a narrower
// interval than usual is wanted (docs/math/clusters.md §2.7).
func (p *parts) clustered(w interval.Wanted) (parts, bool) {
	if !p.many(w) {
		return *p, false
	}
	return p.inClusters()
}

// many reports whether clusters may answer.
func (p *parts) many(w interval.Wanted) bool { return len(p.rest) >= manyDistinct && w.Gap == 0 }

// inClusters is clustered for any number of losses; false if no cluster has enough of them.
func (p *parts) inClusters() (parts, bool) {
	q := parts{variance: p.variance, rest: p.rest}
	at := make(map[loss.Cluster]int)
	for _, t := range p.terms {
		c, ok := clusterOf(t.loss)
		if !ok {
			q.terms = append(q.terms, t)
			continue
		}
		i, known := at[c]
		if !known {
			i, at[c] = len(q.clusters), len(q.clusters)
			q.clusters = append(q.clusters, clustered{cluster: c})
		}
		q.clusters[i].members = append(q.clusters[i].members, t)
	}
	milder := make(map[loss.Milder]float64)
	q.clusters = slices.DeleteFunc(q.clusters, func(c clustered) bool {
		few := float64(len(c.members)) < worthCluster*float64(len(c.cluster.Nodes()))
		if few {
			q.terms = append(q.terms, c.members...)
		}
		return few
	})
	for i := range q.clusters {
		c := &q.clusters[i]
		c.interpolate()
		q.terms = append(q.terms, c.nodes...)
		for _, t := range c.members {
			milder[t.loss.(loss.Clustered).Milder()] += t.count
		}
	}
	for m, n := range milder {
		q.milder = append(q.milder, weightedMilder{m, n * (1 - 1e-9)})
	}
	slices.SortFunc(q.milder, func(a, b weightedMilder) int { // maps have no order, and sums are rounded
		x, y := a.milder.Loss().Order(), b.milder.Loss().Order()
		return cmp.Or(-cmp.Compare(a.releases, b.releases), slices.Compare(x[:], y[:]))
	})
	return q, len(q.clusters) > 0
}

func clusterOf(l loss.Loss) (loss.Cluster, bool) {
	if c, ok := l.(loss.Clustered); ok {
		cluster := c.Cluster()
		return cluster, cluster != nil
	}
	return nil, false
}

// interpolate gives the nodes their factors.
func (c *clustered) interpolate() {
	nodes := c.cluster.Nodes()
	sums := make([]num.Sum, len(nodes))
	for i := range c.members {
		t := &c.members[i]
		t.clustered = true
		c.cluster.Weigh(t.loss, t.count, sums)
		c.releases += t.count
	}
	c.releases *= 1 + 1e-9
	for i, l := range nodes {
		c.nodes = append(c.nodes, weighted{loss: l, count: sums[i].Value(), clustered: true})
	}
}

// mostClusterError is how far a cluster's K may be from its nodes' before its members take their place.
const mostClusterError = 1e-7

// at has the terms of which K is the sum on the line Re s = θ, within the error that it returns
// (docs/math/clusters.md §2.7).
func (p *parts) at(d loss.Direction, theta float64) (terms []weighted, err func(t float64) float64) {
	if len(p.clusters) == 0 {
		return p.terms, func(float64) float64 { return 0 }
	}
	for _, t := range p.terms {
		if !t.clustered {
			terms = append(terms, t)
		}
	}
	var errors []func(t float64) float64
	for _, c := range p.clusters {
		one := c.cluster.Error(d, theta, p.meter.in)
		if !(c.releases*one(0) < mostClusterError) {
			terms = append(terms, c.members...)
			continue
		}
		terms = append(terms, c.nodes...)
		errors = append(errors, func(t float64) float64 { return c.releases * one(t) })
	}
	return terms, func(t float64) (sum float64) {
		for _, e := range errors {
			sum += e(t)
		}
		return sum
	}
}

// tiltedMilder bounds the decay of the losses that it stands for.
type tiltedMilder struct {
	on              *loss.Tilted
	share, releases float64
}

func (p *parts) tiltMilder(d loss.Direction, theta float64) (on []tiltedMilder) {
	if !(theta > 0) {
		return nil
	}
	for _, m := range p.milder {
		if p.meter.out() {
			break
		}
		l := loss.Tilt(m.milder.Loss(), d, theta, p.meter.in)
		on = append(on, tiltedMilder{l, m.milder.Share(d, theta, p.meter.in), m.releases})
		p.meter.spend(l.Spent())
	}
	return on
}

// decay bounds ln Π|φ_j|^{n_j}: |φ_j|² ≤ 1 − κ²(1 − |φ₀|²), with share = κ² (docs/math/clusters.md §2.7.3).
func (m tiltedMilder) decay(t0, t1 float64) float64 {
	return m.releases / 2 * math.Log1p(m.share*math.Expm1(2*m.on.Decay(t0, t1, false)))
}
