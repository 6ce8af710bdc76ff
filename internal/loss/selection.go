package loss

import (
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// selectionKinds tell one of several answers.
func selectionKinds() []Kind {
	return []Kind{
		PlainKindOf(ofExponential),
		PlainKindOf(ofInverseSensitivity),
		PlainKindOf(ofNoisyMax),
		PlainKindOf(ofAboveThreshold),
		PlainKindOf(ofRandomizedResponse),
		KindOf(ofRepeatAndSelect),
	}
}

func ofExponential(m mechanism.Exponential, adj mechanism.Adjacency) Loss {
	spread, scale := m.Range(adj)
	return ranged(num.DivUp(spread, scale))
}

func ofInverseSensitivity(m mechanism.InverseSensitivity, _ mechanism.Adjacency) Loss {
	return ranged(m.Epsilon)
}

// ofNoisyMax: with Gumbel noise it is the exponential mechanism; with other noise ε-DP is
// known.
func ofNoisyMax(m mechanism.ReportNoisyMax, adj mechanism.Adjacency) Loss {
	spread, scale := m.Range(adj)
	if m.Distribution == mechanism.GumbelMax {
		return ranged(num.DivUp(spread, scale))
	}
	return response{epsilon: num.DivUp(spread, scale), buckets: 2, rounded: true, kind: noisyMax, class: true}
}

// ofAboveThreshold adds up the ε of the threshold and of the queries.
func ofAboveThreshold(m mechanism.AboveThreshold, adj mechanism.Adjacency) Loss {
	first, second := m.Parts(adj)
	e := num.AddUp(quotientUp(first), quotientUp(second))
	return response{epsilon: e, buckets: 2, rounded: true, kind: aboveThreshold, class: true}
}

func quotientUp(q mechanism.Quotient) float64 { return num.MulUp(q.Times, num.DivUp(q.Over, q.Under)) }

// ofRandomizedResponse takes ε0 as given, or ln(1 + k(1−ν)/ν) rounded up.
func ofRandomizedResponse(m mechanism.RandomizedResponse, _ mechanism.Adjacency) Loss {
	k := float64(m.K())
	if m.Noise == 0 {
		return response{epsilon: m.Epsilon, buckets: k, kind: randomizedResponse}
	}
	ratio := num.MulUp(k, num.DivUp(num.Up(1-m.Noise), m.Noise))
	return response{epsilon: num.Log1pUp(ratio), buckets: k, rounded: true, kind: randomizedResponse}
}
