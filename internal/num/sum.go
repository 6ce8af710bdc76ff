// SPDX-License-Identifier: Apache-2.0

package num

import "math"

// Sum is a compensated sum (Neumaier 1974): the zero value is 0. Its error is
// within 2 Ulp of the result plus 2·n·Ulp² of the sum of the terms' moduli.
type Sum struct {
	s, c float64
}

// Add adds x.
func (s *Sum) Add(x float64) {
	t := s.s + x
	if math.Abs(s.s) >= math.Abs(x) {
		s.c += (s.s - t) + x
	} else {
		s.c += (x - t) + s.s
	}
	s.s = t
}

// Value is the sum so far. An overflow stays ±Inf.
func (s *Sum) Value() float64 {
	if math.IsInf(s.s, 0) {
		return s.s
	}
	return s.s + s.c
}

// LogSum is the logarithm of a sum of positive terms given by their logarithms,
// rescaled as it grows; the zero value is the empty sum.
type LogSum struct {
	shift float64
	sum   Sum
	any   bool
}

// Add adds e^x.
func (s *LogSum) Add(x float64) {
	if math.IsInf(x, -1) {
		return
	}
	if !s.any {
		s.shift, s.any = x, true
	} else if x > s.shift {
		f := math.Exp(s.shift - x)
		s.sum = Sum{s.sum.s * f, s.sum.c * f}
		s.shift = x
	}
	s.sum.Add(math.Exp(x - s.shift))
}

// Log is the logarithm of the sum; −Inf if nothing was added.
func (s *LogSum) Log() float64 {
	if !s.any {
		return math.Inf(-1)
	}
	return s.shift + Log(s.sum.Value())
}
