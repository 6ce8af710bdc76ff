package loss

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/num"
)

// sampledLoss is a Laplace release, one of discrete or cut-off noise, randomized
// response, a pure or approximate DP guarantee or a table of losses on a Poisson sample of
// rate q in (0, 1). Sampling acts on its pair, atoms included (docs/math/sampling.md §1.3).
type sampledLoss struct {
	inner sampleable // of one record's contribution
	sample

	in *num.Interrupt // of its sums
}

func (l sampledLoss) epsilon() float64 { return l.inner.Facts().Epsilon }

// Facts: an (ε0, δ0)-DP mechanism becomes (ln(1 + q(e^{ε0}−1)), qδ0)-DP; taking out
// an event of probability qδ0 leaves at most that ε in both directions. Of a table, whose
// δ0 differ, the infinite losses alone are taken out. The unsampled ρ bounds the sampled one
// (quasi-convexity).
func (l sampledLoss) Facts() Facts {
	inner := l.inner.Facts()
	e := l.largest()
	f := Facts{
		Name: "Poisson-sampled " + inner.Name, Rho: rhoOfPure(e), Epsilon: e,
		Symmetric: l.batch != without,
	}
	if math.IsInf(inner.Epsilon, 1) {
		f.Rho = inner.Rho
	}
	if m := inner.AtomIn(Remove); m > 0 {
		f.Atom, f.OneSided = l.infinite(m), true
	}
	return f
}

// largest is the ε of the sampled mechanism, rounded up.
func (l sampledLoss) largest() float64 {
	e := l.epsilon()
	switch l.batch {
	case revealed:
		return e
	case replaced: // ln r(e0) − ln r(−e0)
		return num.AddUp(l.above(e), l.below(e))
	}
	if !l.inner.Facts().Symmetric {
		return math.Max(l.MaxLoss(Remove), l.MaxLoss(Add))
	}
	return l.above(e)
}

// MaxLoss: where the record is missing from P, an infinite inner loss becomes
// −ln(1−q).
func (l sampledLoss) MaxLoss(d Direction) float64 {
	inner := l.inner.Facts()
	switch {
	case l.batch == without && !inner.Symmetric && d == Remove:
		return l.above(math.Max(0, l.inner.MaxLoss(Remove)))
	case l.batch != without || d == Remove:
		return l.largest()
	case inner.AtomIn(Add) > 0:
		return num.Up(num.Up(-math.Log1p(-l.rate)))
	}
	return l.below(inner.Epsilon)
}

func (l sampledLoss) Cumulant(d Direction, s float64) Value {
	m, flip := mirrored(s)
	v := l.valueOf(l.line(d, m, flip), d, s)
	if flip {
		v.Slope = -v.Slope
	}
	return v
}

// valueOf is what a line has at θ, or where that is nothing what convexity tells
// at s.
func (l sampledLoss) valueOf(line *outcomesLine, d Direction, s float64) Value {
	if line != nil {
		if v := line.value(); v.K-v.K == 0 && v.Err-v.Err == 0 {
			return v
		}
	}
	return l.convexity(d, s)
}

func (l sampledLoss) Line(d Direction, theta float64) Line {
	m, flip := mirrored(theta)
	line := l.line(d, m, flip)
	onAxis := l.valueOf(line, d, theta)
	switch {
	case line == nil:
		return func(float64) ComplexValue { return ComplexValue{cmplx.NaN(), math.Inf(1), onAxis.Upper()} }
	case flip:
		return guarded(func(t float64) ComplexValue { return line.at(-t) }, onAxis)
	}
	return guarded(line.at, onAxis)
}

// line is K of the direction at m ≥ −½, or with flip at −1−m; nil out of range.
func (l sampledLoss) line(d Direction, m float64, flip bool) *outcomesLine {
	if !(l.epsilon() >= 1e-300 && math.Abs(m) < 0x1p40) {
		return nil
	}
	return newOutcomesLine(func(size float64) *outcomes {
		o := l.inner.sampledOutcomes(l.sample, size)
		if o == nil {
			return nil
		}
		o.in = l.in
		o.in.Spend(tiltWork * len(o.nodes))
		if d == Add && l.batch == without {
			o = o.mirror()
		}
		if flip {
			o = o.mirror()
			o.flipped = true
		}
		return o
	}, m)
}

// convexity is what the largest loss and joint convexity of (P, Q) ↦ P^{1+s}Q^{−s}
// tell: K ≤ ln(1 − q + q·M of the inner pair) for s > 0, s·(largest loss) ≤ K for
// −½ ≤ s < 0, and s·K(1) ≤ K where no loss is the largest; the finite mass 1 − m counts
// with −ln(1−m) on either side.
func (l sampledLoss) convexity(d Direction, s float64) Value {
	s, flip := mirrored(s)
	if flip {
		d = Remove + Add - d
	}
	most, inner := l.MaxLoss(d), l.inner.Facts()
	lost := -2 * math.Log1p(-l.Facts().Atom)
	var low, high float64
	switch {
	case s < 0 && math.IsInf(most, 1):
		most = l.convexity(d, 1).Upper()
		low = s * most * (1 + 4*num.Ulp)
	case s < 0:
		low = s * most * (1 + 4*num.Ulp)
	case s > 0:
		high = num.MulUp(s, most)
		if l.batch != replaced && inner.Atom == 0 {
			high = math.Min(high, num.Log1pExp(num.Log(l.rate)+l.inner.Cumulant(d, s).Upper())*(1+16*num.Ulp))
		}
		low = -s * lost
	}
	if math.IsInf(high, 1) {
		return Value{K: high, Err: high}
	}
	if math.IsInf(low, -1) || math.IsNaN(low) {
		return Value{Err: math.Inf(1)}
	}
	if math.IsInf(most, 1) {
		most = high / s
	}
	return Value{K: (high + low) / 2, Err: num.Up((high-low)/2+lost) + math.SmallestNonzeroFloat64, Slope: most}
}

func (l sampledLoss) Pair(d Direction, side Side) Pair {
	s := sample{sided(l.rate, side), l.batch}
	if !(s.rate >= 1e-15 && s.rate < 1) {
		return nil
	}
	return l.inner.sampledPair(s, d, side)
}

// Steps: each costs what the outcomes cost.
func (l sampledLoss) Steps(d Direction, theta float64) Steps {
	return oneByOne(l, d, theta, func(t float64) float64 { return l.inner.sampledWork(l.sample, math.Hypot(theta, t)) })
}

// Decay is as known of the inner loss when it is sampled.
func (l sampledLoss) Decay(d Direction, theta float64, k Value) Decay {
	return l.inner.sampledDecay(l.sample, d, theta, k)
}

// Covers: only itself is known to be covered.
func (l sampledLoss) Covers(Loss) bool { return false }

// Grouped: nothing better than by ε is proven.
func (l sampledLoss) Grouped(uint64) (Loss, error) { return nil, nil }

func (l sampledLoss) Order() [4]float64 {
	o := l.inner.Order()
	return [4]float64{o[0], o[1], o[2] + o[3], l.rate}
}
