package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// response is randomized response with an atom at L = +∞: with probability
// atom the loss is infinite; otherwise it is ±ε0, or 0 where both true answers
// differ from the one given (k > 2 buckets).
//
// With k = 2 it dominates every (ε0, atom)-DP mechanism (Kairouz–Oh–Viswanath
// 2015, Thm 3.4).
type response struct {
	epsilon float64 // ε0
	buckets float64 // k, a whole number
	atom    float64 // m
}

// ofRandomizedResponse takes ε0 as given, or ln(1 + k(1−ν)/ν) rounded up.
func ofRandomizedResponse(m mechanism.RandomizedResponse) response {
	k := float64(m.K())
	if m.Noise == 0 {
		return response{epsilon: m.Epsilon, buckets: k}
	}
	ratio := num.MulUp(k, num.DivUp(num.Up(1-m.Noise), m.Noise))
	// Log1p is within one unit in the last place.
	return response{epsilon: num.Up(num.Up(math.Log1p(ratio))), buckets: k}
}

func (r response) Facts() Facts {
	return Facts{Name: "randomized response", Atom: r.atom, Rho: rhoOfPure(r.epsilon), Epsilon: r.epsilon, Symmetric: true}
}

func (r response) order() [4]float64 { return [4]float64{r.epsilon, r.buckets, r.atom} }

// rhoOfPure returns ρ = ε·tanh(ε/2), rounded up: every ε-DP mechanism is ρ-zCDP
// with it, and none smaller serves them all (docs/math.md §4).
func rhoOfPure(epsilon float64) float64 {
	// Tanh is within two units in the last place of its value, at most 1.
	t := math.Tanh(epsilon / 2)
	return num.MulUp(epsilon, math.Min(1, num.Up(t*(1+4*num.Ulp))))
}
