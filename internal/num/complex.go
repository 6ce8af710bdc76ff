// SPDX-License-Identifier: Apache-2.0

package num

import (
	"math"
	"math/cmplx"
)

// The error bounds below are on the modulus of the difference from the exact value, short of
// overflow and underflow. They follow from the roundings of each formula, for a standard library
// whose Exp is within two units in the last place, and whose Expm1, Log, Log1p, Sin and Cos are
// within one; its Sinh and Cosh are made of Exp. Go promises no such thing: it was measured, as
// for LogUp and the others. TestComplexAgainstOracle compares each bound with numbers of mpmath.

// ComplexExpm1 returns e^z − 1 within 13 Ulp of min(1, |z|)·max(1, e^{Re z}). With z = x + iy
// it is expm1(x)·cos y − 2·sin²(y/2) + i·e^x·sin y, in which nothing large cancels.
func ComplexExpm1(z complex128) complex128 {
	x, y := real(z), imag(z)
	sin, cos := math.Sincos(y)
	half := math.Sin(y / 2)
	return complex(math.Expm1(x)*cos-2*half*half, math.Exp(x)*sin)
}

// ComplexLog1p returns ln(1 + z), principal branch, within 24 Ulp of its modulus. Near 0 the
// real part is ln(1 + w)/2 with w = |1 + z|² − 1 = x(2 + x) + y².
func ComplexLog1p(z complex128) complex128 {
	x, y := real(z), imag(z)
	if math.Abs(x) > 0.5 || math.Abs(y) > 0.5 {
		return cmplx.Log(1 + z)
	}
	return complex(math.Log1p(x*(2+x)+y*y)/2, math.Atan2(y, 1+x))
}

// ComplexExpm2 returns e^z − 1 − z: for |z| ≤ 1, by its Taylor series, within 6 Ulp of |z|², and
// else within Ulp·(13·max(1, e^{Re z}) + |value|).
func ComplexExpm2(z complex128) complex128 {
	if cmplx.Abs(z) > 1 {
		return ComplexExpm1(z) - z
	}
	p := complex(1, 0)
	for k := 19.0; k > 2; k-- {
		p = 1 + z*p*complex(1/k, 0)
	}
	return z * z * p * 0.5
}

// ComplexSinh returns sinh z within 13 Ulp of min(1, |z|)·cosh(Re z).
func ComplexSinh(z complex128) complex128 {
	sin, cos := math.Sincos(imag(z))
	return complex(math.Sinh(real(z))*cos, math.Cosh(real(z))*sin)
}
