// SPDX-License-Identifier: Apache-2.0

// Package noise has the kinds that add noise to numbers: Gaussian, Laplace, histograms and
// counting queries (noise.go), noise on the whole numbers (discretelaplace.go, discretegaussian.go)
// with its masses and samples, truncated Laplace noise, and Gaussian noise through a matrix
// (matrix.go).
package noise

import (
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Kinds add noise to numbers. See docs/math/noise.md §1.4.1.
func Kinds() []loss.Kind {
	return []loss.Kind{
		loss.PlainKindOf(ofGaussian),
		loss.PlainKindOf(ofLaplace),
		loss.Or(loss.KindOf(ofDiscreteGaussian), vectorTerms),
		loss.PlainKindOf(ofDiscreteLaplace),
		loss.PlainKindOf(ofTruncatedLaplace),
		loss.Or(loss.PlainKindOf(ofHistogram), histogramTerms),
		loss.PlainKindOf(ofCountingQueries),
		loss.PlainKindOf(ofTree),
		loss.PlainKindOf(ofBanded),
		loss.KindOf(ofGeneral),
	}
}

// ofHistogram: neighbours differ by 1 in one or two bins. Two Laplace noises of scale b
// are dominated by one at distance 2, and dominate one at distance 1.
func ofHistogram(m mechanism.Histogram, adj mechanism.Adjacency) loss.Loss {
	bins := float64(m.Bins(adj))
	if m.LaplaceScale != 0 {
		return pairs.NewLaplace(num.DivUp(bins, m.LaplaceScale), bins > 1)
	}
	if bins > 1 {
		return pairs.NewGaussian(num.DivUp(num.SqrtUp(bins), m.StandardDeviation))
	}
	return pairs.NewGaussian(num.DivUp(1, m.StandardDeviation))
}

// histogramTerms: a replaced record moves two counts of a histogram, each of which has
// Laplace noise of its own. A group moves no more than two further: noise on what it
// adds, k in all, is dominated by noise on one number, and so is noise on what it takes.
// See docs/math/laplace-vectors.md §1.4.4.3 and docs/math/noise.md §1.4.8.
func histogramTerms(m mechanism.Histogram, x loss.Maker, records uint64) ([]loss.Term, error) {
	bins := uint64(m.Bins(x.Adjacency))
	if m.LaplaceScale == 0 || bins == 1 {
		return nil, nil
	}
	return []loss.Term{{Loss: pairs.NewLaplace(num.MulUp(num.Count(records), num.DivUp(1, m.LaplaceScale)), false),
		Count: bins}}, nil
}

// ofCountingQueries is ρ-zCDP by Gaussian noise: μ² = 2ρ.
func ofCountingQueries(m mechanism.CountingQueries, _ mechanism.Adjacency) loss.Loss {
	return pairs.NewGaussian(num.SqrtUp(num.MulUp(2, m.Rho)))
}

// ofGaussian takes μ = d/σ, rounded up.
func ofGaussian(m mechanism.Gaussian, adj mechanism.Adjacency) loss.Loss {
	sigma, distance := m.Ratio(adj)
	return pairs.NewGaussian(num.DivUp(distance, sigma))
}

// ofLaplace takes e0 = d/b, rounded up.
func ofLaplace(m mechanism.Laplace, adj mechanism.Adjacency) loss.Loss {
	scale, distance := m.Ratio(adj)
	return pairs.NewLaplace(num.DivUp(distance, scale), false)
}

// What may run on a sample.
var _ = []poisson.Sampleable{discreteGaussian{}, discreteLaplace{}, discreteStep{}, truncatedLaplace{}, overlapping{}}
