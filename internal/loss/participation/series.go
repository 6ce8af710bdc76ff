// SPDX-License-Identifier: Apache-2.0

package participation

import (
	"math"
	"math/big"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	lru "github.com/hashicorp/golang-lru/v2"
)

// EveryPeriod is the pattern of a record that takes part once in every period, at the same place.
func EveryPeriod(steps, period uint64) Pattern {
	return Pattern{Steps: steps, Most: (steps-1)/period + 1, Separation: period, Periodic: true}
}

// bounds remembers what Matrix returned, which takes up to half a second and is asked for many
// times in one question. It is a function of the matrix and the pattern alone, so nobody can
// tell whether it was remembered, but for the time.
var bounds = remembered[question]()

type question struct {
	matrix  mechanism.GeneralMatrix // without noise
	pattern Pattern
}

func remembered[K comparable]() *lru.Cache[K, Bound] {
	recent, err := lru.New[K, Bound](64)
	if err != nil {
		panic(err) // a size below 1
	}
	return recent
}

// Matrix bounds the sensitivity of the matrix that a report means.
func Matrix(m mechanism.GeneralMatrix, p Pattern, in *num.Interrupt) Bound {
	m.StepNoise, m.Participation = mechanism.StepNoise{}, mechanism.Participation{Steps: m.Steps}
	q := question{m, p}
	if b, ok := bounds.Get(q); ok {
		return b
	}
	b := matrix(m, p, in)
	bounds.Add(q, b)
	return b
}

func matrix(m mechanism.GeneralMatrix, p Pattern, in *num.Interrupt) Bound {
	if m.Entries.Len() > 0 {
		entries := m.Entries.Values()
		return Search(p, !isNonnegative(entries), ProductsOf(entries))
	}
	c, off := series(m, in)
	if c == nil {
		return Bound{Squares: math.Inf(1)}
	}
	b := Toeplitz(c, p)
	if off == 0 {
		return b
	}
	// Each participation is off by that much at most.
	norm := num.SqrtUp(b.Squares)
	off = num.MulUp(num.Count(p.Most), off)
	b.Exact = b.Exact && off <= 1e-12*norm
	norm = num.AddUp(norm, off)
	b.Squares = num.MulUp(norm, norm)
	return b
}

// precision is that of the recursions for coefficients, in bits.
const precision = 256

// series returns the first m.Steps coefficients of the generating function, and a bound on the ℓ2
// norm of their errors. It is nil where they leave the range of float64, or cannot be known well
// enough (docs/math/matrices.md §1.8.7).
func series(m mechanism.GeneralMatrix, in *num.Interrupt) (c []float64, off float64) {
	p, q := m.Coefficients.Values(), m.Denominator.Values()
	switch {
	case len(q) < 2 && (len(q) == 0 || q[0] == 1):
		return p, 0
	case m.Exponent != 0 && m.Exponent != 1:
		return powers(p, -q[1], m.Exponent, int(m.Steps), in)
	}
	n := int(m.Steps)
	c = recursion(p, q, n, in)
	inverse := 0.0 // Σ|g_u| of g = 1/q
	if g := recursion([]float64{1}, q, n, in); g != nil {
		inverse = sizes(g)
	} else {
		return nil, 0
	}
	// The recursions solve q·c = p + r with ‖r‖ ≤ d·2^(1−precision)·‖q‖₁·‖c‖, so c is off by
	// ‖1/q‖₁·‖r‖, and ‖1/q‖₁ is at most twice what was computed as long as that is no large part.
	loss := 2 * float64(len(q)+2) * sizes(q) * inverse * 0x1p-255
	if c == nil || !(loss < 0x1p-80) || !(math.Abs(c[0]) >= 1e-100) {
		return nil, 0
	}
	return c, num.UpUlps(norm(c), 1e6) * (num.Ulp + 0x1p-78)
}

// recursion returns the first n coefficients of p/q, rounded; nil if one is too large.
func recursion(p, q []float64, n int, in *num.Interrupt) []float64 {
	d := len(q) - 1
	wide := func(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }
	divisor := make([]*big.Float, d+1)
	for j, v := range q {
		divisor[j] = wide(v)
	}
	ring := make([]*big.Float, d+1) // the last d + 1 coefficients
	for j := range ring {
		ring[j] = wide(0)
	}
	c := make([]float64, n)
	var product big.Float
	for u := range n {
		in.Spend(400 * (d + 1))
		sum := wide(0)
		if u < len(p) {
			sum.SetFloat64(p[u])
		}
		for j := 1; j <= min(d, u); j++ {
			if q[j] != 0 {
				sum.Sub(sum, product.SetPrec(precision).Mul(divisor[j], ring[(u-j)%(d+1)]))
			}
		}
		if q[0] != 1 {
			sum.Quo(sum, divisor[0])
		}
		ring[u%(d+1)] = sum
		c[u], _ = sum.Float64()
		if math.Abs(c[u]) > 1e100 {
			return nil
		}
	}
	return c
}

// powers returns the first n coefficients of p(x)·(1 − βx)^(−γ), those of the power being
// Π β(γ + j − 1)/j.
func powers(p []float64, beta, gamma float64, n int, in *num.Interrupt) (c []float64, off float64) {
	wide := func(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }
	power, h := wide(1), make([]float64, n)
	b, g := wide(beta), wide(gamma)
	for u := range n {
		in.Spend(2000 + 2*len(p))
		h[u], _ = power.Float64()
		if math.Abs(h[u]) > 1e40 { // times p, the squares must not leave the range of float64
			return nil, 0
		}
		power.Mul(power, b).Mul(power, new(big.Float).SetPrec(precision).Add(g, wide(float64(u))))
		power.Quo(power, wide(float64(u+1)))
	}
	c = make([]float64, n)
	for j, v := range p[:min(len(p), n)] {
		for u, w := range h[:n-j] {
			c[u+j] += v * w
		}
	}
	return c, num.UpUlps(sizes(p)*norm(h), 1e6) * num.Ulp * float64(len(p)+4)
}

// sizes is Σ|v|, and norm the ℓ2 norm.
func sizes(c []float64) (sum float64) {
	for _, v := range c {
		sum += math.Abs(v)
	}
	return sum
}

func norm(c []float64) (sum float64) {
	for _, v := range c {
		sum += v * v
	}
	return math.Sqrt(sum)
}
