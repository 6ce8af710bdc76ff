// SPDX-License-Identifier: Apache-2.0

package adversarytest

import (
	"math"
	"math/big"
)

const precision = 256

func number(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// Exp is e^x within a relative 2⁻²³⁰, by its series at x/2ᵏ, squared k times.
func Exp(x float64) *big.Float {
	const halvings = 12
	z := number(math.Ldexp(x, -halvings))
	sum, term := number(1), number(1)
	for n := 1.0; n < 60; n++ {
		term.Mul(term, z)
		term.Quo(term, number(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// Response is binary randomized response, which is ε-DP.
func Response(epsilon float64) []Outcome { return Failing(epsilon, 0) }

// Failing is (ε, δ)-DP: with probability δ it tells the dataset, otherwise it is Response.
func Failing(epsilon, delta float64) []Outcome {
	zero, failed := number(0), number(delta)
	rest := number(0).Sub(number(1), failed)
	e := Exp(epsilon)
	unlikely := number(0).Quo(rest, number(0).Add(e, number(1)))
	likely := number(0).Mul(unlikely, e)
	outcomes := []Outcome{{likely, unlikely}, {unlikely, likely}}
	if epsilon == 0 {
		outcomes = []Outcome{{rest, rest}}
	}
	if delta > 0 {
		outcomes = append(outcomes, Outcome{failed, zero}, Outcome{zero, failed})
	}
	return outcomes
}

// Sign is the sign of a Gaussian release of distance μ, taken around the middle: it is
// μ-GDP. Its likelier answer has a probability below Φ(μ/2), so that rounding favours
// nobody but the ledger.
func Sign(mu float64) []Outcome {
	p := number(math.Erfc(-mu/2/math.Sqrt2) / 2 * (1 - 1e-12))
	rest := number(0).Sub(number(1), p)
	return []Outcome{{p, rest}, {rest, p}}
}

// Table is a pair with the probabilities p on the one dataset and p·e^{−l} on the other;
// what is missing of 1 tells the dataset.
func Table(losses, masses []float64) []Outcome {
	var outcomes []Outcome
	onlyP, onlyQ := number(1), number(1)
	for i, l := range losses {
		p := number(masses[i])
		q := number(0).Quo(p, Exp(l))
		onlyP.Sub(onlyP, p)
		onlyQ.Sub(onlyQ, q)
		outcomes = append(outcomes, Outcome{p, q})
	}
	return append(outcomes, Outcome{onlyP, number(0)}, Outcome{number(0), onlyQ})
}
