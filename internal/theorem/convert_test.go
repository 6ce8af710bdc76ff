// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"errors"
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

func at(x float64) *float64 { return &x }

func convert(t testing.TB, g Guarantee, to Target) Converted {
	t.Helper()
	c, err := Convert(g, to)
	if err != nil {
		t.Fatalf("%+v to %+v: %v", g, to, err)
	}
	if (c.Test == nil) == (to.Kind == Testing) || c.Theorem == "" || c.Source == "" {
		t.Fatalf("%+v to %+v: %+v", g, to, c)
	}
	return c
}

// Every pair of kinds is a theorem or is refused with the reason; never both, never
// silence.
func TestEveryPairIsDecided(t *testing.T) {
	for _, from := range Kinds() {
		g := Guarantee{Kind: from, Epsilon: 0.5, Delta: 1e-6, Rho: 0.1, Mu: 0.5, Order: 8}
		for _, kind := range Targets() {
			to := Target{Kind: kind, Delta: at(1e-5), Order: 4, GroupSize: 2, SamplingProbability: 0.1,
				Adjacency: mechanism.AddOrRemoveOne, Alpha: at(0.05)}
			c, err := Convert(g, to)
			var refused *RefusedError
			switch {
			case errors.As(err, &refused) && refused.From == from && refused.To == kind && refused.Reason != "":
			case err != nil:
				t.Errorf("%s to %s: %v", from, kind, err)
			case c.Theorem == "" || c.Source == "":
				t.Errorf("%s to %s: no theorem named", from, kind)
			}
		}
	}
	for _, pair := range [][2]string{{Concentrated, Gaussian}, {Approximate, Concentrated}, {Concentrated, Pure},
		{Renyi, Concentrated}, {Gaussian, Sampled}} {
		if refusals[pair[0]][pair[1]] == "" {
			t.Errorf("%v is not refused", pair)
		}
	}
}

// Numbers from the oracle, computed as the papers state them with 50 digits.
func TestConversionsAgainstOracle(t *testing.T) {
	var data struct {
		Rows []struct {
			From, To                                           string
			Epsilon, Delta, Rho, Mu, Order                     losstest.Number
			TargetDelta, TargetEpsilon, TargetOrder, Q, Alpha  losstest.Number
			GroupSize                                          uint64
			WantEpsilon, WantDelta, WantRho, WantMu, WantOrder losstest.Number
			WantBeta, WantEqualError, WantAdvantage            losstest.Number
		}
	}
	losstest.Read(t, "testdata/conversions.json", &data)
	if len(data.Rows) < 100 {
		t.Fatal("rows are missing")
	}
	for _, r := range data.Rows {
		g := Guarantee{r.From, r.Epsilon.Value, r.Delta.Value, r.Rho.Value, r.Mu.Value, r.Order.Value}
		to := Target{Kind: r.To, Order: r.TargetOrder.Value, GroupSize: r.GroupSize, SamplingProbability: r.Q.Value,
			Adjacency: mechanism.AddOrRemoveOne}
		for _, p := range []struct {
			from losstest.Number
			to   **float64
		}{{r.TargetDelta, &to.Delta}, {r.TargetEpsilon, &to.Epsilon}, {r.Alpha, &to.Alpha}} {
			if p.from.Given {
				*p.to = at(p.from.Value)
			}
		}
		c := convert(t, g, to)
		test := Test{}
		if c.Test != nil {
			test = *c.Test
		}
		for _, v := range []struct {
			what  string
			got   float64
			want  losstest.Number
			above bool // the safe side
		}{
			{"ε", c.Guarantee.Epsilon, r.WantEpsilon, true}, {"δ", c.Guarantee.Delta, r.WantDelta, true},
			{"ρ", c.Guarantee.Rho, r.WantRho, true}, {"μ", c.Guarantee.Mu, r.WantMu, true},
			{"advantage", test.Advantage, r.WantAdvantage, true},
			{"β", test.Beta, r.WantBeta, false}, {"equal error", test.EqualError, r.WantEqualError, false},
		} {
			if !v.want.Given {
				continue
			}
			excess := v.got - v.want.Value
			if !v.above {
				excess = -excess
			}
			// The zCDP conversion's search ends within 1e−9; underflow is absolute.
			if excess < -0x1p-53*math.Abs(v.want.Value) || excess > 2e-9*math.Abs(v.want.Value)+1e-15 {
				t.Errorf("%+v: %s = %v, want %v", r, v.what, v.got, v.want.Value)
			}
		}
		if r.WantOrder.Given && c.Guarantee.Order != r.WantOrder.Value {
			t.Errorf("%+v: order %v, want %v", r, c.Guarantee.Order, r.WantOrder.Value)
		}
	}
}

// A guarantee that follows from pure DP covers the worst ε-DP mechanism, randomized
// response, everywhere.
func TestPureImplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Exp(rapid.Float64Range(-12, 5).Draw(t, "ln ε"))
		g := Guarantee{Kind: Pure, Epsilon: epsilon}
		gdp, err := Convert(g, Target{Kind: Gaussian})
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.Float64Range(0, 1).Draw(t, "share") * epsilon
		exact := compose(t, mechanism.AddOrRemoveOne, times(mechanism.PureDP{Epsilon: epsilon}, 1))
		a, err := accountant.Ask(exact, accountant.AtEpsilon(at))
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := loss.GaussianLogDelta(gdp.Guarantee.Mu, at); a.LogDeltaLower != nil && b.Upper < *a.LogDeltaLower {
			t.Fatalf("%v-DP as %v-GDP: ln δ(%v) = %v, but it is at least %v", epsilon, gdp.Guarantee.Mu, at,
				b.Upper, *a.LogDeltaLower)
		}
		order := 1 + math.Exp(rapid.Float64Range(-3, 6).Draw(t, "ln(α−1)"))
		renyi, err := Convert(g, Target{Kind: Renyi, Order: order})
		if err != nil {
			t.Fatal(err)
		}
		zcdp, err := Convert(g, Target{Kind: Concentrated})
		if err != nil {
			t.Fatal(err)
		}
		if e := renyi.Guarantee.Epsilon; e > zcdp.Guarantee.Rho*order*(1+1e-12) || e > epsilon || e <= 0 {
			t.Fatalf("%v-DP: divergence %v at order %v, ρ = %v", epsilon, e, order, zcdp.Guarantee.Rho)
		}
	})
}

func TestConversionsThatAreNotAllowed(t *testing.T) {
	for _, test := range []struct {
		g     Guarantee
		t     Target
		field string
	}{
		{Guarantee{Kind: "dp", Epsilon: 1}, Target{Kind: Concentrated}, "guarantee"},
		{Guarantee{Kind: Pure}, Target{Kind: Concentrated}, "pure_dp.epsilon"},
		{Guarantee{Kind: Approximate, Epsilon: 1, Delta: 1}, Target{Kind: Testing}, "approximate_dp.delta"},
		{Guarantee{Kind: Renyi, Epsilon: 1, Order: 1}, Target{Kind: Renyi, Order: 2}, "order"},
		{Guarantee{Kind: Renyi, Epsilon: math.Inf(1), Order: 2}, Target{Kind: Renyi, Order: 2}, "renyi_dp.epsilon"},
		{Guarantee{Kind: Pure, Epsilon: 1}, Target{Kind: "dp"}, "to"},
		{Guarantee{Kind: Pure, Epsilon: 1}, Target{Kind: Renyi, Order: 1}, "target_order"},
		{Guarantee{Kind: Pure, Epsilon: 1}, Target{Kind: Approximate}, "target_delta"},
		{Guarantee{Kind: Pure, Epsilon: 1}, Target{Kind: Approximate, Delta: at(1)}, "target_delta"},
		{Guarantee{Kind: Pure, Epsilon: 1},
			Target{Kind: Approximate, Delta: at(0.1), Epsilon: at(1)}, "target_epsilon"},
		{Guarantee{Kind: Pure, Epsilon: 1}, Target{Kind: Group}, "group_size"},
		{Guarantee{Kind: Pure, Epsilon: 1}, Target{Kind: Sampled, Adjacency: mechanism.AddOrRemoveOne},
			"sampling_probability"},
		{Guarantee{Kind: Pure, Epsilon: 1},
			Target{Kind: Sampled, SamplingProbability: 0.1, Adjacency: mechanism.ReplaceOne}, "adjacency"},
		{Guarantee{Kind: Pure, Epsilon: 1}, Target{Kind: Testing, Alpha: at(math.NaN())}, "alpha"},
	} {
		_, err := Convert(test.g, test.t)
		var parameter *mechanism.ParameterError
		if !errors.As(err, &parameter) || parameter.Field != test.field {
			t.Errorf("%+v to %+v: %v, want field %s", test.g, test.t, err, test.field)
		}
	}
	// Outside their conditions the theorems refuse.
	var refused *RefusedError
	for _, test := range []struct {
		g Guarantee
		t Target
	}{
		{Guarantee{Kind: Renyi, Epsilon: 1, Order: 4}, Target{Kind: Renyi, Order: 5}},
		{Guarantee{Kind: Renyi, Epsilon: 1, Order: 16}, Target{Kind: Group, GroupSize: 3}},
		{Guarantee{Kind: Renyi, Epsilon: 1, Order: 7}, Target{Kind: Group, GroupSize: 4}},
		{Guarantee{Kind: Approximate, Epsilon: 10, Delta: 0.1}, Target{Kind: Group, GroupSize: 5}},
	} {
		if _, err := Convert(test.g, test.t); !errors.As(err, &refused) {
			t.Errorf("%+v to %+v: %v, want a refusal", test.g, test.t, err)
		}
	}
}
