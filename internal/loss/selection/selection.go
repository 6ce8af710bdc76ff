// SPDX-License-Identifier: Apache-2.0

// Package selection has the kinds that tell one of several answers: the exponential mechanism and
// its relatives and randomized response (selection.go), the noisy maximum (noisymax.go), and the
// best of several runs (repeat.go).
package selection

import (
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Kinds tell one of several answers.
func Kinds() []loss.Kind {
	return []loss.Kind{
		loss.PlainKindOf(ofExponential),
		loss.PlainKindOf(ofInverseSensitivity),
		loss.PlainKindOf(ofNoisyMax),
		loss.PlainKindOf(ofAboveThreshold),
		loss.PlainKindOf(ofRandomizedResponse),
		loss.KindOf(ofRepeatAndSelect),
	}
}

func ofExponential(m mechanism.Exponential, adj mechanism.Adjacency) loss.Loss {
	spread, scale := m.Range(adj)
	return pairs.NewBoundedRange(num.DivUp(spread, scale))
}

func ofInverseSensitivity(m mechanism.InverseSensitivity, _ mechanism.Adjacency) loss.Loss {
	return pairs.NewBoundedRange(m.Epsilon)
}

// ofAboveThreshold adds up the ε of the threshold and of the queries.
func ofAboveThreshold(m mechanism.AboveThreshold, adj mechanism.Adjacency) loss.Loss {
	first, second := m.Parts(adj)
	e := num.AddUp(quotientUp(first), quotientUp(second))
	return pairs.Response{Epsilon: e, K: 2, Rounded: true, Name: "sparse vector run", Class: true}
}

func quotientUp(q mechanism.Quotient) float64 { return num.MulUp(q.Times, num.DivUp(q.Over, q.Under)) }

// ofRandomizedResponse takes ε0 as given, or ln(1 + k(1−ν)/ν) rounded up.
func ofRandomizedResponse(m mechanism.RandomizedResponse, _ mechanism.Adjacency) loss.Loss {
	k := float64(m.K())
	if m.Noise == 0 {
		return randomizedResponse{pairs.Response{Epsilon: m.Epsilon, K: k, Name: "randomized response"}}
	}
	ratio := num.MulUp(k, num.DivUp(num.Up(1-m.Noise), m.Noise))
	return randomizedResponse{pairs.Response{Epsilon: num.Log1pUp(ratio), K: k, Rounded: true,
		Name: "randomized response"}}
}

// randomizedResponse is the mechanism itself, which may run on a sample.
type randomizedResponse struct{ pairs.Response }

// InBatch: an answer tells that the record is in the batch.
func (randomizedResponse) InBatch(bool) (poisson.Batch, bool) { return poisson.Revealed, true }

// What the kinds have beside a loss's methods.
var (
	_ poisson.Sampleable = randomizedResponse{}
	_ loss.Tabled        = selection{}
	_ loss.Chosen        = selection{}
)
