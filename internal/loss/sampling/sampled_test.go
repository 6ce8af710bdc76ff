// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// Where K is not computed, convexity encloses what is.
func TestSampledLossConvexity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := math.Exp(rapid.Float64Range(math.Log(1e-3), math.Log(12)).Draw(t, "ln ε0"))
		inner := rapid.SampledFrom([]loss.Loss{
			pairs.NewLaplace(e, false), pairs.Response{Epsilon: e, K: 2},
			pairs.Response{Epsilon: e, K: 2, InfinityMass: 1e-3},
		}).Draw(t, "inner")
		made, err := poissonSampled(inner, rapid.Float64Range(1e-6, 0.999).Draw(t, "q"), mechanism.AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		l := made.(sampledLoss)
		d, s := rapid.SampledFrom([]loss.Direction{loss.Remove, loss.Add}).Draw(t, "direction"),
			rapid.Float64Range(-5, 20).Draw(t, "s")
		v, bound := l.Cumulant(d, s, nil), l.convexity(d, s, nil)
		if v.Lower() > bound.Upper() || v.Upper() < bound.Lower() {
			t.Errorf("%+v %v: K(%v) = %v, convexity [%v, %v]", l, d, s, v.K, bound.Lower(), bound.Upper())
		}
	})
}
