package loss

import (
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// noiseKinds add noise to numbers. See docs/math/noise.md §1.4.1.
func noiseKinds() []Kind {
	return []Kind{
		PlainKindOf(ofGaussian),
		PlainKindOf(ofLaplace),
		PlainKindOf(ofDiscreteGaussian),
		PlainKindOf(ofDiscreteLaplace),
		PlainKindOf(ofTruncatedLaplace),
		Or(PlainKindOf(ofHistogram), histogramTerms),
		PlainKindOf(ofCountingQueries),
		PlainKindOf(ofTree),
		PlainKindOf(ofBanded),
	}
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

// histogramTerms: a replaced record moves two counts of a histogram, each of which has
// Laplace noise of its own. A group moves no more than two further: noise on what it
// adds, k in all, is dominated by noise on one number, and likewise on what it takes.
// See docs/math/laplace-vectors.md §1.4.4.3 and docs/math/noise.md §1.4.8.
func histogramTerms(m mechanism.Histogram, x Maker, records uint64) ([]Term, error) {
	bins := uint64(m.Bins(x.Adjacency))
	if m.LaplaceScale == 0 || bins == 1 {
		return nil, nil
	}
	return []Term{{laplace{e0: num.MulUp(num.Count(records), num.DivUp(1, m.LaplaceScale))}, bins}}, nil
}

// ofCountingQueries is ρ-zCDP by Gaussian noise: μ² = 2ρ.
func ofCountingQueries(m mechanism.CountingQueries, _ mechanism.Adjacency) Loss {
	return gaussian{mu: num.SqrtUp(num.MulUp(2, m.Rho))}
}
