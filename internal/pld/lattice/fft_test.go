// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// Against the sum itself, within the bound that the certificate uses; and back.
func TestLatticeFFT(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{4, 8, 16, 64, 1024} {
		f := newFFT(n, nil)
		x := make([]float64, n)
		var size float64
		for i := range x {
			x[i] = random.NormFloat64() * math.Exp(4*random.NormFloat64())
			size += math.Abs(x[i])
		}
		got := make([]complex128, n/2+1)
		f.forward(x, got)
		for k := range got {
			var re, im, reC, imC float64
			for j, v := range x {
				sin, cos := math.Sincos(-2 * math.Pi * float64(j*k%n) / float64(n))
				y := v*cos - reC
				s := re + y
				reC, re = (s-re)-y, s
				y = v*sin - imC
				s = im + y
				imC, im = (s-im)-y, s
			}
			if off := cmplx.Abs(got[k] - complex(re, im)); !(off <= (f.error()+4e-16)*size) {
				t.Errorf("n=%d k=%d: %v, want %v: off %.3g, bound %.3g", n, k, got[k],
					complex(re, im), off, f.error()*size)
			}
		}
		var spectrum float64
		for k, v := range got {
			if k == 0 || k == n/2 {
				spectrum += cmplx.Abs(v)
			} else {
				spectrum += 2 * cmplx.Abs(v)
			}
		}
		back := make([]float64, n)
		f.inverse(got, back)
		for j := range back {
			if off := math.Abs(back[j] - x[j]); !(off <= f.error()*(size+spectrum/float64(n))) {
				t.Errorf("n=%d: element %d came back %v, was %v", n, j, back[j], x[j])
			}
		}
	}
}

func BenchmarkLatticeFFT(b *testing.B) {
	f := newFFT(1<<15, nil)
	x := make([]float64, f.n)
	for i := range x {
		x[i] = 1 / float64(1+i)
	}
	out := make([]complex128, f.n/2+1)
	for b.Loop() {
		f.forward(x, out)
	}
}

func BenchmarkLatticeFFTTables(b *testing.B) {
	for b.Loop() {
		newFFT(1<<15, nil)
	}
}
