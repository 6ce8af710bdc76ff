// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"math/bits"

	"github.com/dpaccountant/accountant/internal/num"
)

// fft is the discrete Fourier transform of n real numbers, n = 2^k ≥ 4,
// as one of n/2 complex ones. It exists beside gonum's because the certificate
// needs twiddle factors of known accuracy, and it takes a quarter of the time.
//
// Every output is a sum over the inputs along paths of log₂ n butterflies a ± wb,
// each within 8 Ulp of |a| + |b| (w within 4, the product 2.3, the sum 1), so an
// output is within error() of the sum of the inputs' moduli (docs/math/lattice.md §3.6).
type fft struct {
	n        int
	turn     []complex128 // e^{−2πik/n}, k ≤ n/4
	stages   [][]complex128
	work     []complex128
	reversed []uint32
	in       *num.Interrupt
}

// stageWork is about what a node takes in each pass over all of them, in nanoseconds, and
// turnWork what the factor of one takes.
const stageWork, turnWork = 6, 30

func newFFT(n int, in *num.Interrupt) *fft {
	in.Spend(turnWork * n)
	f := &fft{n: n, in: in, turn: make([]complex128, n/4+1), work: make([]complex128, n/2),
		reversed: make([]uint32, n/2)}
	for k := 0; k <= n/8; k++ {
		sin, cos := math.Sincos(2 * math.Pi / float64(n) * float64(k))
		f.turn[k] = complex(cos, -sin)
		f.turn[n/4-k] = complex(sin, -cos)
	}
	m := n / 2
	shift := 32 - bits.Len32(uint32(m-1))
	for i := range f.reversed {
		f.reversed[i] = bits.Reverse32(uint32(i)) >> shift
	}
	for half := 2; half < m; half *= 2 { // the first stage has no factors
		w := make([]complex128, half)
		for j := range w {
			w[j] = f.factor(j * (n / 2 / half))
		}
		f.stages = append(f.stages, w)
	}
	return f
}

// factor is e^{−2πik/n} for 0 ≤ k ≤ n/2.
func (f *fft) factor(k int) complex128 {
	if k <= f.n/4 {
		return f.turn[k]
	}
	w := f.turn[f.n/2-k]
	return complex(-real(w), imag(w))
}

// error bounds an output's error in units of Σ|inputs|, second-order terms
// included.
func (f *fft) error() float64 {
	return num.Ulp * (9*float64(bits.Len(uint(f.n))) + 24)
}

// complexForward transforms work in place.
func (f *fft) complexForward() {
	x := f.work
	f.in.Spend(2 * stageWork * len(x))
	for i, j := range f.reversed {
		if int(j) > i {
			x[i], x[j] = x[j], x[i]
		}
	}
	if len(x) == 2 {
		x[0], x[1] = x[0]+x[1], x[0]-x[1]
		return
	}
	for i := 0; i+1 < len(x); i += 2 {
		x[i], x[i+1] = x[i]+x[i+1], x[i]-x[i+1]
	}
	for _, w := range f.stages {
		f.in.Spend(stageWork * len(x))
		half := len(w)
		for start := 0; start < len(x); start += 2 * half {
			low, high := x[start:start+half], x[start+half:start+2*half]
			high = high[:len(low)]
			for j, t := range w[:len(low)] {
				a, b := low[j], t*high[j]
				low[j], high[j] = a+b, a-b
			}
		}
	}
}

// forward returns Σ x_j·e^{−2πijk/n} for k = 0 … n/2.
func (f *fft) forward(x []float64, out []complex128) {
	m := f.n / 2
	f.in.Spend(stageWork * f.n)
	for j := range f.work {
		f.work[j] = complex(x[2*j], x[2*j+1])
	}
	f.complexForward()
	for k := 0; k <= m; k++ {
		a, b := f.work[k%m], f.work[(m-k)%m]
		b = complex(real(b), -imag(b))
		odd := a - b
		z := a + b + f.factor(k)*complex(imag(odd), -real(odd))
		out[k] = complex(real(z)/2, imag(z)/2)
	}
}

// inverse returns (1/n)·Σ X_k·e^{2πijk/n}, X given for k = 0 … n/2 and extended
// by X_{n−k} = conj X_k.
func (f *fft) inverse(x []complex128, out []float64) {
	m := f.n / 2
	f.in.Spend(stageWork * f.n)
	for k := range f.work {
		a, b := x[k], x[m-k]
		b = complex(real(b), -imag(b))
		w := f.factor(k)
		w = complex(real(w), -imag(w))
		odd := w * (a - b)
		z := a + b + complex(-imag(odd), real(odd))
		f.work[k] = complex(real(z)/2, -imag(z)/2)
	}
	f.complexForward()
	scale := 1 / float64(m)
	for j, z := range f.work {
		out[2*j], out[2*j+1] = real(z)*scale, -imag(z)*scale
	}
}
