package num

import (
	"math"
	"math/cmplx"
)

// The complex functions below are accurate relative to the modulus of their
// value where the argument is small, and to that of the largest term where not.

// ComplexExpm1 returns e^z − 1.
func ComplexExpm1(z complex128) complex128 {
	x, y := real(z), imag(z)
	sin, cos := math.Sincos(y)
	half := math.Sin(y / 2)
	return complex(math.Expm1(x)*cos-2*half*half, math.Exp(x)*sin)
}

// ComplexLog1p returns ln(1 + z), principal branch.
func ComplexLog1p(z complex128) complex128 {
	x, y := real(z), imag(z)
	if math.Abs(x) > 0.5 || math.Abs(y) > 0.5 {
		return cmplx.Log(1 + z)
	}
	return complex(math.Log1p(x*(2+x)+y*y)/2, math.Atan2(y, 1+x))
}

// ComplexExpm2 returns e^z − 1 − z.
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

// ComplexSinh returns sinh z.
func ComplexSinh(z complex128) complex128 {
	sin, cos := math.Sincos(imag(z))
	return complex(math.Sinh(real(z))*cos, math.Cosh(real(z))*sin)
}
