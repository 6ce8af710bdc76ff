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
	inner Loss // of one record's contribution
	rate  float64
	batch batch
}

// batch is what is known of the two neighbours' batches.
type batch uint8

const (
	// without: the neighbour's batch is the same without the record: (P, Q) becomes
	// ((1−q)Q + qP, Q), and its mirror.
	without batch = iota
	// replaced: the record in it is another one: with the ratio X = P/Q under Q,
	// 1 − q + qX and 1 − q + qX', X' running against X.
	replaced
	// revealed: the output tells whether the record is in the batch: loss 0 with
	// probability 1 − q.
	revealed
)

// mostInner bounds the inner ε0 for which K is computed; above it convexity
// bounds it.
const mostInner = 1000

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
	if _, ok := l.inner.(discreteNormal); ok {
		f.Rho = inner.Rho
	}
	if m := inner.AtomIn(Remove); m > 0 {
		f.Atom, f.OneSided = math.Max(num.MulUp(l.rate, m), math.SmallestNonzeroFloat64), true
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
	if _, ok := l.inner.(lossTable); ok {
		return math.Max(l.MaxLoss(Remove), l.MaxLoss(Add))
	}
	return l.above(e)
}

// above is ln(1 + q(e^{ε0} − 1)), rounded up.
func (l sampledLoss) above(e float64) float64 {
	if math.IsInf(e, 1) {
		return e
	}
	if e < 700 {
		return num.Log1pUp(num.MulUp(l.rate, num.Expm1Up(e)))
	}
	m := newMix(l.rate)
	return math.Min(e, num.UpBy(e+m.logRate+math.Log1p(m.odds*math.Exp(-e)), 8*num.Ulp*(e-m.logRate)))
}

// below is −ln(1 − q(1 − e^{−ε0})), rounded up.
func (l sampledLoss) below(e float64) float64 {
	fall := math.Min(1, num.Up(-num.Up(math.Expm1(-e))*(1+4*num.Ulp)))
	return -num.Down(math.Log1p(-math.Min(math.Nextafter(1, 0), num.MulUp(l.rate, fall))) * (1 + 4*num.Ulp))
}

// MaxLoss: where the record is missing from P, an infinite inner loss becomes
// −ln(1−q).
func (l sampledLoss) MaxLoss(d Direction) float64 {
	_, table := l.inner.(lossTable)
	switch {
	case table && d == Remove:
		return l.above(math.Max(0, l.inner.MaxLoss(Remove)))
	case l.batch != without || d == Remove:
		return l.largest()
	case l.inner.Facts().AtomIn(Add) > 0:
		return num.Up(num.Up(-math.Log1p(-l.rate)))
	}
	return l.below(l.epsilon())
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
	_, normal := l.inner.(discreteNormal)
	if !((l.epsilon() <= mostInner || normal) && l.epsilon() >= 1e-300 && math.Abs(m) < 0x1p40) {
		return nil
	}
	return newOutcomesLine(func(size float64) *outcomes {
		o := l.outcomes(size)
		if o == nil {
			return nil
		}
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

func (l sampledLoss) Order() [4]float64 {
	o := l.inner.Order()
	return [4]float64{o[0], o[1], o[2] + o[3], l.rate}
}
