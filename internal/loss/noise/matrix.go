// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/participation"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

func ofTree(m mechanism.TreeAggregation, adj mechanism.Adjacency) loss.Loss {
	sigma, distance := m.Ratio(adj)
	b := participation.Tree(participation.Of(m.Participation))
	return pairs.TimesNorm(num.DivUp(distance, sigma), b.Squares, b.Exact)
}

func ofBanded(m mechanism.BandedMatrix, adj mechanism.Adjacency) loss.Loss {
	sigma, distance := m.Ratio(adj)
	b := participation.Matrix(mechanism.GeneralMatrix{Coefficients: m.Coefficients, Participation: m.Participation},
		participation.Of(m.Participation), nil)
	return pairs.TimesNorm(num.DivUp(distance, sigma), b.Squares, b.Exact)
}

// ofGeneral: the matrix of a report is within a known distance of the one that is bounded, and
// each participation adds that much at most. See docs/math/matrices.md §1.8.7.
func ofGeneral(m mechanism.GeneralMatrix, x loss.Maker) (loss.Loss, error) {
	sigma, distance := m.Ratio(x.Adjacency)
	p := participation.Of(m.Participation)
	if m.Period != 0 {
		p = participation.EveryPeriod(m.Steps, m.Period)
	}
	b := participation.Matrix(m, p, x.In)
	return pairs.TimesNorm(num.DivUp(distance, sigma), b.Squares, b.Exact), nil
}
