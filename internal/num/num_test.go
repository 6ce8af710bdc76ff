// SPDX-License-Identifier: Apache-2.0

package num

import (
	"math"
	"math/cmplx"
	"testing"

	"pgregory.net/rapid"
)

// anyFloat draws floats of every magnitude, with the edges over-represented.
func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64(),
		rapid.SampledFrom([]float64{0, 1, -1, math.SmallestNonzeroFloat64, 0x1p-1022, math.MaxFloat64, -math.MaxFloat64,
			math.Inf(1), math.Inf(-1)}),
		rapid.Map(rapid.Float64Range(-700, 700), math.Exp),
	)
}

// Against exact rational arithmetic.
func TestDirectedRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := math.Abs(anyFloat().Draw(t, "x")), math.Abs(anyFloat().Draw(t, "y"))
		if s := AddUp(x, y); !atLeast(s, x, y, '+') {
			t.Fatalf("AddUp(%v, %v) = %v", x, y, s)
		}
		if p := MulUp(x, y); !atLeast(p, x, y, '*') {
			t.Fatalf("MulUp(%v, %v) = %v", x, y, p)
		}
		if y > 0 && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
			if q := DivUp(x, y); !atLeast(q, x, y, '/') {
				t.Fatalf("DivUp(%v, %v) = %v", x, y, q)
			}
		}
	})
}

// Exact results are not moved.
func TestDirectedRoundingKeepsExact(t *testing.T) {
	for _, got := range []float64{AddUp(0.25, 0.5) - 0.75, MulUp(3, 0.5) - 1.5, DivUp(3, 2) - 1.5, AddUp(0, 0),
		MulUp(0, 7), DivUp(0, 3)} {
		if got != 0 {
			t.Errorf("an exact result was moved by %v", got)
		}
	}
	if Count(1<<53) < 1<<53 || Count(1<<53+1) < 1<<53+1 || Count(math.MaxUint64) < math.MaxUint64 || Count(7) != 7 {
		t.Error("Count rounds down")
	}
	if !math.IsInf(Up(math.NaN()), 1) || !math.IsInf(Down(math.NaN()), -1) {
		t.Error("NaN is a bound")
	}
}

// The functions that a series serves near 0 against their definition in
// multiples of the definition's own rounding.
func TestRemainders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-3, 3).Draw(t, "x")
		within := func(got, want, rounding float64, name string) {
			if math.Abs(got-want) > 16*Ulp*rounding {
				t.Fatalf("%s(%v) = %v, want %v", name, x, got, want)
			}
		}
		within(Expm2(x), math.Exp(x)-1-x, 1+math.Exp(x)+math.Abs(x), "Expm2")
		within(ExpDivergence(x), x*math.Exp(x)-math.Exp(x)+1, 1+math.Exp(x)*(1+math.Abs(x)), "ExpDivergence")
		z := complex(x, rapid.Float64Range(-9, 9).Draw(t, "y"))
		near := func(got, want complex128, rounding float64, name string) {
			if cmplx.Abs(got-want) > 32*Ulp*rounding {
				t.Fatalf("%s(%v) = %v, want %v", name, z, got, want)
			}
		}
		e := cmplx.Exp(z)
		near(ComplexExpm1(z), e-1, 1+cmplx.Abs(e), "ComplexExpm1")
		near(ComplexExpm2(z), e-1-z, 1+cmplx.Abs(e)+cmplx.Abs(z), "ComplexExpm2")
		near(ComplexSinh(z), (e-1/e)/2, cmplx.Abs(e)+1/cmplx.Abs(e), "ComplexSinh")
		near(cmplx.Exp(ComplexLog1p(z)), 1+z, 1+cmplx.Abs(z), "ComplexLog1p")
	})
}

// Continuity where a function changes its formula: 1 is the series' radius, 2
// the continued fraction's start.
func TestSeams(t *testing.T) {
	for _, at := range []float64{-1, -0.0625, 0.0625, 1} {
		if d := math.Abs(Expm2(at)/Expm2(Up(at)) - 1); d > 12*Ulp {
			t.Errorf("Expm2 jumps by %v at %v", d, at)
		}
		if d := math.Abs(ExpDivergence(at)/ExpDivergence(Up(at)) - 1); d > 20*Ulp {
			t.Errorf("ExpDivergence jumps by %v at %v", d, at)
		}
	}
	if d := math.Abs(Mills(Down(2))/Mills(2) - 1); d > 32*Ulp {
		t.Errorf("Mills jumps by %v", d)
	}
	if d := math.Abs(millsSlope(Down(2))/millsSlope(2) - 1); d > 80*Ulp {
		t.Errorf("its slope jumps by %v", d)
	}
}

// LogTailGap(c, d) = ln[Φ(−c) − e^{cd+d²/2}·Φ(−c−d)], where that does not cancel.
func TestLogTailGapIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := math.Exp(rapid.Float64Range(-3, 4).Draw(t, "ln d"))
		c := rapid.Float64Range(-d, 20).Draw(t, "c")
		got, err := LogTailGap(c, d)
		a, b := LogNormalCDF(-c), c*d+d*d/2+LogNormalCDF(-c-d)
		if a-b < 1e-3 {
			t.Skip("cancels")
		}
		want := LogSubExp(a, b)
		slack := err + 64*Ulp*(1+math.Abs(a)+math.Abs(c*d)+d*d)/math.Min(1, a-b)
		if math.Abs(got-want) > slack {
			t.Fatalf("LogTailGap(%v, %v) = %v ± %v, want %v", c, d, got, err, want)
		}
	})
}

// No input makes the tail gap NaN or its bound negative.
func TestLogTailGapTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := math.Exp(rapid.Float64Range(-740, 709).Draw(t, "ln d"))
		c := rapid.OneOf(rapid.Float64Range(-d, 40), rapid.Map(rapid.Float64Range(-700, 700), math.Exp)).Draw(t, "c")
		v, err := LogTailGap(c, d)
		if !(v <= 0) || !(err >= 0) {
			t.Fatalf("LogTailGap(%v, %v) = %v ± %v", c, d, v, err)
		}
	})
}

func TestSums(t *testing.T) {
	var s Sum
	for _, x := range []float64{1, 1e100, 1, -1e100} {
		s.Add(x)
	}
	if s.Value() != 2 { // Neumaier 1974's own example: a plain sum gives 0
		t.Errorf("sum is %v", s.Value())
	}
	s.Add(math.Inf(1))
	if !math.IsInf(s.Value(), 1) {
		t.Errorf("sum with an overflow is %v", s.Value())
	}
	var l LogSum
	if !math.IsInf(l.Log(), -1) {
		t.Error("the empty sum is not 0")
	}
	for range 1000 {
		l.Add(-5000)
	}
	if d := math.Abs(l.Log() - (math.Log(1000) - 5000)); d > 1e-12 {
		t.Errorf("LogSum is off by %v", d)
	}
}

// The masses of a binomial distribution add up to 1.
func TestBinomialMassesSumToOne(t *testing.T) {
	for _, n := range []float64{1, 2, 15, 16, 17, 40, 1000, 30000} {
		for _, p := range []float64{1e-9, 0.01, 0.3, 0.5, 0.999} {
			var sum Sum
			worst := 0.0
			for k := 0.0; k <= n; k++ {
				v, err := LogBinomialMass(k, n, p, 1-p)
				sum.Add(math.Exp(v))
				if v > -50 {
					worst = math.Max(worst, err)
				}
			}
			if math.Abs(sum.Value()-1) > worst+4*n*Ulp {
				t.Errorf("n=%v p=%v: sum − 1 = %v, bound %v", n, p, sum.Value()-1, worst)
			}
			if worst > 1e-11 {
				t.Errorf("n=%v p=%v: error bound %v", n, p, worst)
			}
		}
	}
}

// Crossing encloses the crossing of monotone functions, also without slopes,
// with jumps, and where the slope misleads; always within its steps.
func TestCrossing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := math.Exp(rapid.Float64Range(-600, 600).Draw(t, "ln root"))
		shape := rapid.IntRange(0, 3).Draw(t, "shape")
		evaluations := 0
		f := func(x float64) (float64, float64) {
			evaluations++
			switch v := math.Log(x / root); shape {
			case 0:
				return x - root, 1
			case 1:
				return v, 1 / x
			case 2: // a jump, no slope
				if x < root {
					return -1, 0
				}
				return 1, math.NaN()
			default: // a slope that misleads
				return v, 1e-30
			}
		}
		const tolerance = 1e-12
		below, above := Crossing(f, 0, math.MaxFloat64, 1, tolerance, 400)
		if !(below < root && root <= above*(1+4*Ulp)) {
			t.Fatalf("root %v is not in (%v, %v]", root, below, above)
		}
		if above-below > 2*tolerance*above {
			t.Fatalf("root %v: (%v, %v] is wide after %d evaluations", root, below, above, evaluations)
		}
	})
}

func TestMiddle(t *testing.T) {
	if m := middle(0, math.MaxFloat64); !(m > 0 && m < math.MaxFloat64) {
		t.Errorf("Middle = %v", m)
	}
	if m := middle(1, Up(1)); m != 1 {
		t.Errorf("Middle of neighbours = %v", m)
	}
}

// math.Log is wrong below the normal range on amd64; these values are from
// mpmath.
func TestLogOfSubnormals(t *testing.T) {
	for x, want := range map[float64]float64{
		math.SmallestNonzeroFloat64: -744.4400719213812,
		0x1p-1050:                   -727.8045395879425,
		1e-310:                      -713.8013788281542,
		0x1p-1022:                   -708.3964185322641,
	} {
		if got := Log(x); math.Abs(got-want) > 4*Ulp*-want {
			t.Errorf("Log(%v) = %v, want %v", x, got, want)
		}
		if up, down := LogUp(x), LogDown(x); !(down < want && want < up) {
			t.Errorf("Log(%v) is not in [%v, %v]", x, down, up)
		}
	}
	if !math.IsInf(Log(0), -1) || !math.IsNaN(Log(-1)) {
		t.Error("Log's edges")
	}
}
