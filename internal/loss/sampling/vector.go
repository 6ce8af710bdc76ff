// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/num"
)

// nearlySampled is a sampledDivergences of outputs that are nearly made of Gaussian noise: on a sample they are
// nearly made of sampled Gaussian noise, with the same factors (docs/math/vectors.md §1.4.13.5).
type nearlySampled struct {
	sampledDivergences
	inner loss.Nearly
	rate  float64
}

// Nearly implements loss.Nearly. The factors of the inner loss bound both P and Q from both sides.
func (l nearlySampled) Nearly() (sampled loss.Loss, shift, factor float64, ok bool) {
	inner, shift, factor, ok := l.inner.Nearly()
	mu, gaussian := loss.MuOf(inner)
	if !ok || !gaussian {
		return nil, 0, 0, false
	}
	return sampledGaussian{mu: mu, rate: l.rate}, shift, factor, true
}

// wayPair is a class of mechanisms that one pair, a table, dominates, whatever is chosen after the answers before.
type wayPair interface {
	loss.Loss
	// Table is the pair.
	Table() loss.Loss
	// Members are mechanisms of the class.
	Members() []loss.Loss
}

// sampledWays is a wayPair on a Poisson sample: its pair is the sampled pair, and its Rényi divergences are bounded
// as if nothing but theirs were known (docs/math/vectors.md §1.4.13.5).
type sampledWays struct {
	sampledLoss // of the table
	bound       nearlySampled
	class       wayPair
}

// onSample is what is known of a class of which the inner loss bounds the Rényi divergences.
func onSample(class, inner loss.Loss, q float64, in *num.Interrupt) loss.Loss {
	bound := newSampledDivergences(inner, q, in)
	near, ok := inner.(loss.Nearly)
	if !ok {
		return bound
	}
	nearly := nearlySampled{bound, near, q}
	ways, ok := class.(wayPair)
	if !ok {
		return nearly
	}
	table, ok := ways.Table().(poisson.Sampleable)
	if !ok {
		return nearly
	}
	return sampledWays{sampledLoss{table, poisson.Sample{Rate: q, Batch: poisson.Without}}, nearly, ways}
}

// Facts: an infinite loss is that of the table, which is cut.
func (l sampledWays) Facts() loss.Facts {
	f := l.sampledLoss.Facts()
	f.Name, f.Cut, f.Dominating = "Poisson-sampled discrete Gaussian", true, true
	f.Rho, f.Epsilon = l.bound.rho, math.Inf(1)
	return f
}

// MaxLoss is that of the mechanism, for which P/((1−q)P + qQ) ≤ 1/(1−q).
func (l sampledWays) MaxLoss(d loss.Direction) float64 {
	if d == loss.Add {
		return num.Up(num.Up(-math.Log1p(-l.Rate)))
	}
	return math.Inf(1)
}

// Renyi implements loss.Ranked.
func (l sampledWays) Renyi(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	return l.bound.Cumulant(d, s, in)
}

// Last implements loss.Tabled.
func (l sampledWays) Last() float64 { return l.bound.Last() }

// Corners implements loss.Tabled.
func (l sampledWays) Corners(s float64) (below, above float64) { return l.bound.Corners(s) }

// Nearly implements loss.Nearly.
func (l sampledWays) Nearly() (sampled loss.Loss, shift, factor float64, ok bool) {
	return l.bound.Nearly()
}

// Members are those of the class, each on the sample.
func (l sampledWays) Members() []loss.Loss {
	var members []loss.Loss
	for _, m := range l.class.Members() {
		if s, ok := m.(poisson.Sampleable); ok {
			members = append(members, sampledLoss{s, l.Sample})
		}
	}
	return members
}

func (l sampledWays) Grouped(k uint64) (loss.Loss, error) { return l.bound.Grouped(k) }
