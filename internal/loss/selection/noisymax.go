// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// noisyMax stands for the reports of a noisy maximum with Laplace or exponential noise of scale
// b, where one record moves the scores, relative to each other, by at most spread. The Laplace
// pair at e0 = spread/b dominates all of them, for any number of candidates
// (docs/math/noise.md §1.4.7.1).
type noisyMax struct {
	loss.Loss         // the Laplace pair at e0
	e0        float64 // > 0, maybe +Inf; rounded up
	noise     mechanism.MaxNoise
}

// ofNoisyMax: with Gumbel noise the noisy maximum is the exponential mechanism.
func ofNoisyMax(m mechanism.ReportNoisyMax, adj mechanism.Adjacency) loss.Loss {
	spread, scale := m.Range(adj)
	if m.Distribution == mechanism.GumbelMax {
		return pairs.NewBoundedRange(num.DivUp(spread, scale))
	}
	return newNoisyMax(num.DivUp(spread, scale), m.Distribution)
}

func newNoisyMax(e0 float64, noise mechanism.MaxNoise) loss.Loss {
	return noisyMax{pairs.NewLaplace(e0, true), e0, noise}
}

func (l noisyMax) Facts() loss.Facts {
	f := l.Loss.Facts()
	f.Name = "noisy maximum"
	return f
}

// Curve is that of the pair.
func (l noisyMax) Curve(in *num.Interrupt) loss.PrivacyCurve {
	curve, _ := loss.CurveOf(l.Loss, in)
	return curve
}

// Repeat is that of the pair, too.
func (l noisyMax) Repeat(count float64, in *num.Interrupt) loss.PrivacyCurve {
	curve, _ := loss.RepeatedOf(l.Loss, count, in)
	return curve
}

// AttainedOnce: two candidates with exponential noise have every point of the pair's curve.
func (l noisyMax) AttainedOnce() bool { return l.noise == mechanism.ExponentialMax }

// Attained is the choice between two candidates whose scores are e0/2 noise scales apart, and
// exchange their places: randomized response, of whose answers the unlikely one has the
// probability ½·e^{−e0/2} with exponential noise, and 1 + e0/4 times that with Laplace noise.
func (l noisyMax) Attained() loss.Loss {
	e0 := l.e0 * (1 - 4*num.Ulp)
	unlikely := -math.Ln2 - e0/2
	if l.noise == mechanism.LaplaceMax {
		unlikely += math.Log1p(e0 / 4)
	}
	// ln((1 − p)/p) near p = ½ has an absolute error of some units.
	epsilon := num.Log1mExp(-unlikely) - unlikely
	epsilon = num.DownBy(epsilon, 16*num.Ulp*(4+e0))
	if !(epsilon > 0) || math.IsInf(epsilon, 1) {
		return nil
	}
	return pairs.Response{Epsilon: epsilon, K: 2, Rounded: true, Name: "randomized response"}
}

// Covers is of scores that move less, or of more noise.
func (l noisyMax) Covers(o loss.Loss) bool {
	b, ok := o.(noisyMax)
	return ok && l.e0 >= b.e0
}

// Grouped: k records move the scores k times as much.
func (l noisyMax) Grouped(k uint64) (loss.Loss, error) {
	return newNoisyMax(num.MulUp(num.Count(k), l.e0), l.noise), nil
}

func (l noisyMax) Order() [4]float64 { return [4]float64{l.e0, float64(l.noise)} }
