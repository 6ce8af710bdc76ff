// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

const exactBits = 320

func exact(x float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(x) }

func exactSum(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(exactBits).Add(x, y) }
func exactMul(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(exactBits).Mul(x, y) }
func exactDiv(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(exactBits).Quo(x, y) }
func exactSub(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(exactBits).Sub(x, y) }

// exactExp is e^x: by Taylor's series of x/2^k, |x|/2^k < 2⁻¹⁶, squared k times.
func exactExp(x *big.Float) *big.Float {
	k := max(0, x.MantExp(nil)+16)
	r := new(big.Float).SetPrec(exactBits).SetMantExp(x, -k)
	sum, term := exact(1), exact(1)
	for i := 1.0; i < 24; i++ { // 2^(−16·24)
		term = exactDiv(exactMul(term, r), exact(i))
		sum = exactSum(sum, term)
	}
	for range k {
		sum = exactMul(sum, sum)
	}
	return sum
}

// exactPower is x^n for any whole n.
func exactPower(x *big.Float, n int) *big.Float {
	if n < 0 {
		return exactDiv(exact(1), exactPower(x, -n))
	}
	p := exact(1)
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			p = exactMul(p, x)
		}
		x = exactMul(x, x)
	}
	return p
}

// exactFolded is what a profile's sum is to be, before its error: the masses
// are convolved one by one and every folded term is summed,
//
//	Σ_m e^{mθW}·δ(ε + mW),  or with 1 − δ for θ < 0.
func exactFolded(parts []part, period, epsilon float64) *big.Float {
	theta, h := parts[0].measure.theta, exact(parts[0].measure.step)
	masses, first := []*big.Float{exact(1)}, 0
	offset, scale := exact(0), exact(0)
	for _, p := range parts {
		for range int(p.count) {
			next := make([]*big.Float, len(masses)+len(p.measure.weights)-1)
			for i := range next {
				next[i] = exact(0)
			}
			for i, x := range masses {
				for j, w := range p.measure.weights {
					next[i+j] = exactSum(next[i+j], exactMul(x, exact(w)))
				}
			}
			masses, first = next, first+p.measure.first
			offset, scale = exactSum(offset, exact(p.measure.offset)), exactSum(scale, exact(p.measure.scale))
		}
	}
	w := exact(period)
	one := exact(1)
	turn := exactExp(exactMul(exact(theta), w))  // e^{θW}
	both := exactMul(turn, exactExp(w))          // e^{(1+θ)W}
	rest := exactSub(one, exactDiv(one, both))   // 1 − e^{−(1+θ)W}
	tilt := exactExp(exactMul(exact(-theta), h)) // e^{−θh}
	step := exactExp(exactMul(exact(-1), h))     // e^{−h}
	at := exactSum(offset, exactMul(exact(float64(first)), h))
	mass := exactExp(exactSub(scale, exactMul(exact(theta), at))) // e^{scale − θ·loss}
	gone := exactExp(exactSub(exact(epsilon), at))                // e^{ε − loss}
	sum := exact(0)
	for _, y := range masses {
		// m up to last have ε + mW < loss.
		q, _ := exactDiv(exactSub(at, exact(epsilon)), w).Float64()
		last := int(math.Ceil(q)) - 1
		below := exactDiv(exactMul(gone, exactPower(both, last)), rest)
		v := exactSub(exactDiv(exactPower(turn, last), exactSub(one, exactDiv(one, turn))), below)
		if theta < 0 {
			v = exactSum(exactDiv(exactPower(turn, last+1), exactSub(one, turn)), below)
		}
		sum = exactSum(sum, exactMul(exactMul(y, mass), v))
		at, mass, gone = exactSum(at, h), exactMul(mass, tilt), exactMul(gone, step)
	}
	return sum
}

// The transform against the convolution in 320 bits, without any slack: folded,
// tilted until weights and factors underflow, in both readings, on points and
// between them.
func TestLatticeCurveAgainstConvolution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := math.Exp(rapid.Float64Range(-6, 3).Draw(t, "ln h"))
		theta := rapid.SampledFrom([]float64{0.05, 0.4, 1, 3, 12, 90, 800, -0.02, -0.5, -0.9}).Draw(t, "θ")
		var parts []part
		for range rapid.IntRange(1, 3).Draw(t, "kinds") {
			m := measure{grid: grid{float64(rapid.IntRange(-1000, 1000).Draw(t, "1000·offset/h")) / 1000 * h, h},
				theta: theta}
			m.first = rapid.IntRange(-10, 3).Draw(t, "first")
			m.weights = rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 24).Draw(t, "weights")
			if rapid.Bool().Draw(t, "steep") {
				for i := range m.weights {
					m.weights[i] *= math.Exp(-5 * float64(i))
				}
			}
			var sum float64
			for _, w := range m.weights {
				sum += w
			}
			if sum == 0 {
				m.weights[0], sum = 1, 1
			}
			for i := range m.weights {
				m.weights[i] /= sum
			}
			m.scale = rapid.Float64Range(-1, 3).Draw(t, "scale") * theta * h
			parts = append(parts, part{m, float64(rapid.IntRange(1, 3).Draw(t, "count"))})
		}
		nodes := rapid.SampledFrom([]int{16, 64, 512}).Draw(t, "nodes")
		c := newProfile(parts, nodes, nil)
		for range 3 {
			epsilon := float64(rapid.IntRange(-3000, 6000).Draw(t, "100·ε/h")) / 100 * h
			if rapid.Bool().Draw(t, "on a point") {
				epsilon = c.grid.point(int(epsilon / h))
			}
			before, after := c.around(epsilon)
			if theta < 0 {
				before, after = after, before
			}
			low, high := c.logSum(after, false), c.logSum(before, true)
			want := exactFolded(parts, c.period, epsilon)
			if !math.IsInf(low, -1) && exactExp(exact(low)).Cmp(want) > 0 || math.IsInf(high, -1) && want.Sign() > 0 ||
				!math.IsInf(high, -1) && exactExp(exact(high)).Cmp(want) < 0 {
				t.Errorf("θ=%v N=%d: at %v [%v, %v], the convolution says %v", theta, nodes, epsilon, low,
					high, want.Text('g', 20))
			}
			if e := float64(want.MantExp(nil)) * math.Ln2; high-low > 1e-6 && want.Sign() > 0 &&
				e > c.scale-theta*epsilon-11 {
				t.Errorf("θ=%v N=%d: at %v [%v, %v] is wide", theta, nodes, epsilon, low, high)
			}
		}
	})
}

// On a point, with the next loss so far up that its tilted mass underflows, δ is
// not 0.
func TestLatticeCurveUnderflow(t *testing.T) {
	m := measure{grid: grid{0, 3}, theta: 800, weights: []float64{1, 0x1p-60}}
	parts := []part{{m, 1}}
	c := newProfile(parts, 16, nil)
	want := exactFolded(parts, c.period, 0)
	if got := c.logSum(0, true); want.Sign() <= 0 || math.IsInf(got, -1) || exactExp(exact(got)).Cmp(want) < 0 {
		t.Errorf("at most %v, the convolution says %v", got, want.Text('g', 10))
	}
}
