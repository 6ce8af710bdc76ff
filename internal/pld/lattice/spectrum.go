// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// spectrum is Π φ_j(t_k)^{n_j}, φ_j the characteristic functions of tilted
// measures at t_k = 2πk/(Nh), with what bounds its error at each node: for |z_j −
// z'_j| ≤ E_j
//
//	|Π z_j^{n_j} − Π z'_j^{n_j}| ≤ Π (|z_j|+E_j)^{n_j} · Σ n_j·E_j/(|z_j|+E_j).
//
// See docs/math/lattice.md §3.6.
type spectrum struct {
	product []complex128
	upper   []float64 // Π (|z_j|+E_j)^{n_j}
	spread  []float64 // Σ n_j·E_j/(|z_j|+E_j) and the powers' own rounding
	in      *num.Interrupt
}

func newSpectrum(n int, in *num.Interrupt) *spectrum {
	s := &spectrum{make([]complex128, n/2+1), make([]float64, n/2+1), make([]float64, n/2+1), in}
	for k := range s.product {
		s.product[k], s.upper[k] = 1, 1
	}
	return s
}

// multiply takes φ, within err at every node, to the power n.
func (s *spectrum) multiply(phi []complex128, n, err float64) {
	const some = 1 << 12
	for k, z := range phi {
		if k%some == 0 {
			s.in.Spend(150 * some)
		}
		if s.upper[k] < 0x1p-1000 { // nothing that counts comes back
			s.product[k], s.upper[k] = 0, 0x1p-1000
			continue
		}
		size := math.Hypot(real(z), imag(z))
		s.spread[k] += n * err / (size + err)
		if n == 1 {
			s.product[k] *= z
			s.upper[k] *= size + err
			s.spread[k] += 8 * num.Ulp
			continue
		}
		if !(size > 0x1p-1000) {
			s.product[k] = 0
			s.upper[k] *= math.Exp(n * math.Log(2*err))
			continue
		}
		log := math.Log(size)
		modulus := math.Exp(n * log)
		sin, cos := math.Sincos(n * math.Atan2(imag(z), real(z)))
		s.product[k] *= complex(modulus*cos, modulus*sin)
		if r := n * err / size; r < 0.01 {
			s.upper[k] *= modulus * (1 + 1.01*r)
		} else {
			s.upper[k] *= math.Exp(n * math.Log(size+err) * (1 - 1e-9))
		}
		// The logarithm is within 2 + |log| Ulp, the argument and its n-fold within 7.
		s.spread[k] += num.Ulp * (16 + n*(12-4*log))
	}
}

// invert puts the masses into y, none below 0, and returns a bound on the error
// of each. See docs/math/lattice.md §3.6.
func (s *spectrum) invert(f *fft, y []float64) float64 {
	s.in.Spend(2 * stageWork * len(y))
	var size, noise float64
	last := len(s.product) - 1
	for k, z := range s.product {
		w := 2.0
		if k == 0 || k == last {
			w = 1
		}
		size += w * math.Hypot(real(z), imag(z))
		noise += w * s.upper[k] * math.Min(2, s.spread[k])
	}
	f.inverse(s.product, y)
	for i, v := range y {
		y[i] = math.Max(0, v)
	}
	return 1.001 * (noise + f.error()*size) / float64(len(y))
}
