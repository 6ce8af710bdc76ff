// SPDX-License-Identifier: Apache-2.0

// Package sampling has the kinds that run on a sample of the records. From the bottom:
// gaussian (the sampled Gaussian pair, its curve and its masses), mixture (mixtures of Gaussians,
// their curves and masses), sampled (any other loss that a sample may be drawn for), composed (several
// Gaussians on one sample), fixedsize, shuffled and truncatedpoisson (other ways to make
// batches).
package sampling

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// sampledLoss is a Laplace release, one of discrete or cut-off noise, randomized
// response, a pure or approximate DP guarantee or a table of losses on a Poisson sample of
// rate q in (0, 1). Sampling acts on its pair, atoms included (docs/math/sampling.md §1.3).
type sampledLoss struct {
	inner poisson.Sampleable // of one record's contribution
	poisson.Sample
}

func (l sampledLoss) epsilon() float64 { return l.inner.Facts().Epsilon }

// Facts: an (ε0, δ0)-DP mechanism becomes (ln(1 + q(e^{ε0}−1)), qδ0)-DP; taking out
// an event of probability qδ0 leaves at most that ε in both directions. Of a table, whose
// δ0 differ, the infinite losses alone are taken out. The unsampled ρ bounds the sampled one
// (quasi-convexity).
func (l sampledLoss) Facts() loss.Facts {
	inner := l.inner.Facts()
	e := l.largest()
	f := loss.Facts{
		Name: "Poisson-sampled " + inner.Name, Rho: pairs.RhoOfPure(e), Epsilon: e,
		Symmetric: l.Batch != poisson.Without,
	}
	if math.IsInf(inner.Epsilon, 1) {
		f.Rho = inner.Rho
	}
	if m := inner.InfinityMassIn(loss.Remove); m > 0 {
		f.InfinityMass, f.OneSided = l.InfiniteMass(m), true
	}
	return f
}

// largest is the ε of the sampled mechanism, rounded up.
func (l sampledLoss) largest() float64 {
	e := l.epsilon()
	switch l.Batch {
	case poisson.Revealed:
		return e
	case poisson.Replaced: // ln r(e0) − ln r(−e0)
		return num.AddUp(l.Amplified(e), l.AmplifiedBelow(e))
	}
	if !l.inner.Facts().Symmetric {
		return math.Max(l.MaxLoss(loss.Remove), l.MaxLoss(loss.Add))
	}
	return l.Amplified(e)
}

// MaxLoss: where the record is missing from P, an infinite inner loss becomes
// −ln(1−q).
func (l sampledLoss) MaxLoss(d loss.Direction) float64 {
	inner := l.inner.Facts()
	switch {
	case l.Batch == poisson.Without && !inner.Symmetric && d == loss.Remove:
		return l.Amplified(math.Max(0, l.inner.MaxLoss(loss.Remove)))
	case l.Batch != poisson.Without || d == loss.Remove:
		return l.largest()
	case inner.InfinityMassIn(loss.Add) > 0:
		return num.Up(num.Up(-math.Log1p(-l.Rate)))
	}
	return l.AmplifiedBelow(inner.Epsilon)
}

func (l sampledLoss) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	m, flip := loss.Mirrored(s)
	v := l.valueOf(l.line(d, m, flip, in), d, s, in)
	if flip {
		v.Slope = -v.Slope
	}
	return v
}

// valueOf is what a line has at θ, or where that is nothing what convexity tells
// at s.
func (l sampledLoss) valueOf(line *quadrature.OutcomesLine, d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	if line != nil {
		if v := line.Cumulant(); v.K-v.K == 0 && v.Err-v.Err == 0 {
			return v
		}
	}
	return l.convexity(d, s, in)
}

func (l sampledLoss) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	m, flip := loss.Mirrored(theta)
	line := l.line(d, m, flip, in)
	onAxis := l.valueOf(line, d, theta, in)
	switch {
	case line == nil:
		return func(float64) loss.ComplexValue {
			return loss.ComplexValue{K: cmplx.NaN(), Err: math.Inf(1), Upper: onAxis.Upper()}
		}
	case flip:
		return loss.Guarded(func(t float64) loss.ComplexValue { return line.ComplexCumulant(-t) }, onAxis)
	}
	return loss.Guarded(line.ComplexCumulant, onAxis)
}

// line is K of the direction at m ≥ −½, or with flip at −1−m; nil out of range.
func (l sampledLoss) line(d loss.Direction, m float64, flip bool, in *num.Interrupt) *quadrature.OutcomesLine {
	if !(l.epsilon() >= 1e-300 && math.Abs(m) < 0x1p40) {
		return nil
	}
	return quadrature.NewOutcomesLine(func(size float64) *quadrature.Outcomes {
		o := l.inner.SampledOutcomes(l.Sample, size)
		if o == nil {
			return nil
		}
		o.In = in
		o.In.Spend(quadrature.TiltWork * len(o.Nodes))
		if d == loss.Add && l.Batch == poisson.Without {
			o = o.Mirror()
		}
		if flip {
			o = o.Mirror()
			o.Flipped = true
		}
		return o
	}, m)
}

// convexity is what the largest loss and joint convexity of (P, Q) ↦ P^{1+s}Q^{−s}
// tell: K ≤ ln(1 − q + q·M of the inner pair) for s > 0, s·(largest loss) ≤ K for
// −½ ≤ s < 0, and s·K(1) ≤ K where no loss is the largest; the finite mass 1 − m counts
// with −ln(1−m) on either side.
func (l sampledLoss) convexity(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	s, flip := loss.Mirrored(s)
	if flip {
		d = loss.Remove + loss.Add - d
	}
	most, inner := l.MaxLoss(d), l.inner.Facts()
	lost := -2 * math.Log1p(-l.Facts().InfinityMass)
	var low, high float64
	switch {
	case s < 0 && math.IsInf(most, 1):
		most = l.convexity(d, 1, in).Upper()
		low = s * most * (1 + 4*num.Ulp)
	case s < 0:
		low = s * most * (1 + 4*num.Ulp)
	case s > 0:
		high = num.MulUp(s, most)
		if l.Batch != poisson.Replaced && inner.InfinityMass == 0 {
			high = math.Min(high, num.Log1pExp(num.Log(l.Rate)+l.inner.Cumulant(d, s, in).Upper())*(1+16*num.Ulp))
		}
		low = -s * lost
	}
	if math.IsInf(high, 1) {
		return loss.Value{K: high, Err: high}
	}
	if math.IsInf(low, -1) || math.IsNaN(low) {
		return loss.Value{Err: math.Inf(1)}
	}
	if math.IsInf(most, 1) {
		most = high / s
	}
	return loss.Value{K: (high + low) / 2, Err: num.Up((high-low)/2+lost) + math.SmallestNonzeroFloat64, Slope: most}
}

func (l sampledLoss) Pair(d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	s := poisson.Sample{Rate: loss.Sided(l.Rate, side), Batch: l.Batch}
	if !(s.Rate >= 1e-15 && s.Rate < 1) {
		return nil
	}
	return l.inner.SampledPair(s, d, side, in)
}

// Steps: each costs what the outcomes cost.
func (l sampledLoss) Steps(d loss.Direction, theta float64, in *num.Interrupt) loss.Steps {
	return loss.OneByOne(l, d, theta, func(t float64) float64 {
		return l.inner.SampledWork(l.Sample,
			math.Hypot(theta, t))
	}, in)
}

// Decay is as known of the inner loss when it is sampled.
func (l sampledLoss) Decay(d loss.Direction, theta float64, k loss.Value, _ *num.Interrupt) loss.Decay {
	return l.inner.SampledDecay(l.Sample, d, theta, k)
}

// NormalMu is that of the inner loss, whose tail sampling makes rarer by a factor only.
func (l sampledLoss) NormalMu(count uint64) loss.NormalMu {
	if l.Batch != poisson.Without {
		return loss.NormalMu{Upper: math.Inf(1)}
	}
	return loss.NormalMuOf(l.inner, count).TailOnly()
}

// Covers: only itself is known to be covered.
func (l sampledLoss) Covers(loss.Loss) bool { return false }

// Grouped: nothing better than by ε is proven.
func (l sampledLoss) Grouped(uint64) (loss.Loss, error) { return nil, nil }

func (l sampledLoss) Order() [4]float64 {
	o := l.inner.Order()
	return [4]float64{o[0], o[1], o[2] + o[3], l.Rate}
}
