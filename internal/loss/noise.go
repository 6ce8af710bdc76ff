package loss

import (
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// ofNoise is Of for noise, selection and counting mechanisms; nil for every other.
// See docs/math/noise.md §1.4.1.
func ofNoise(m mechanism.Mechanism, adj mechanism.Adjacency) Loss {
	switch m := m.(type) {
	case mechanism.DiscreteGaussian:
		return ofDiscreteGaussian(m, adj)
	case mechanism.DiscreteLaplace:
		return ofDiscreteLaplace(m, adj)
	case mechanism.TruncatedLaplace:
		return ofTruncatedLaplace(m, adj)
	case mechanism.Exponential:
		spread, scale := m.Range(adj)
		return ranged(num.DivUp(spread, scale))
	case mechanism.InverseSensitivity:
		return ranged(m.Epsilon)
	case mechanism.ReportNoisyMax:
		spread, scale := m.Range(adj)
		if m.Distribution == mechanism.GumbelMax {
			return ranged(num.DivUp(spread, scale))
		}
		return response{epsilon: num.DivUp(spread, scale), buckets: 2, rounded: true, kind: noisyMax, class: true}
	case mechanism.AboveThreshold:
		first, second := m.Parts(adj)
		e := num.AddUp(quotientUp(first), quotientUp(second))
		return response{epsilon: e, buckets: 2, rounded: true, kind: aboveThreshold, class: true}
	case mechanism.Histogram:
		return ofHistogram(m, adj)
	case mechanism.CountingQueries:
		return gaussian{mu: num.SqrtUp(num.MulUp(2, m.Rho))}
	}
	return nil
}

func quotientUp(q mechanism.Quotient) float64 { return num.MulUp(q.Times, num.DivUp(q.Over, q.Under)) }

// repeated is what a mechanism consists of where that is n equal losses, not one; n = 0
// for every other: a replaced record moves two counts of a histogram, each of which has
// Laplace noise of its own. A group moves no more than two further: noise on what it
// adds, k in all, is dominated by noise on one number, and likewise on what it takes.
// See docs/math/laplace-vectors.md §1.4.4.3 and docs/math/noise.md §1.4.8.
func repeated(m mechanism.Mechanism, adj mechanism.Adjacency) (l Loss, n uint64) {
	size := 1.0
	if g, ok := m.(mechanism.Group); ok {
		size, m = float64(g.Size), g.Mechanism
	}
	h, ok := m.(mechanism.Histogram)
	if !ok || h.LaplaceScale == 0 || h.Bins(adj) == 1 {
		return nil, 0
	}
	return laplace{e0: num.MulUp(size, num.DivUp(1, h.LaplaceScale))}, uint64(h.Bins(adj))
}

// ofHistogram: neighbours differ by 1 in one or two bins. Two Laplace noises of scale b
// are dominated by one at distance 2, and dominate one at distance 1.
func ofHistogram(m mechanism.Histogram, adj mechanism.Adjacency) Loss {
	bins := float64(m.Bins(adj))
	if m.LaplaceScale != 0 {
		return laplace{e0: num.DivUp(bins, m.LaplaceScale), class: bins > 1}
	}
	if bins > 1 {
		return gaussian{mu: num.DivUp(num.SqrtUp(bins), m.StandardDeviation)}
	}
	return gaussian{mu: num.DivUp(1, m.StandardDeviation)}
}
