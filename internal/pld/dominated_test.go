// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/closed"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// reached is a question about a workload, with our answer and what the oracle says of it.
type reached struct {
	epsilon      float64
	of           mechanism.Composition
	composed     loss.Composition // its losses
	about        string           // the row's name and ε
	lower, upper float64          // of our δ
	some         float64          // what an attacker reaches
	delta        float64          // what the pair has that dominates; 0 where the oracle does not know it
}

// attacked checks our answers against a file of the oracle: none is below what is reached or below what
// the pair has, relatively by less than rounding, nor above the latter by more than width. Then it
// hands each to more.
func attacked(t *testing.T, file string, least int, rounding, width float64, more func(reached)) {
	t.Helper()
	var data struct {
		Rows []struct {
			losstest.Workload
			Name  string
			Truth []struct {
				Epsilon        float64
				Delta, Reached losstest.Number
			}
		}
	}
	losstest.Read(t, file, &data)
	if len(data.Rows) < least {
		t.Fatalf("%d rows", len(data.Rows))
	}
	for i := 0; i < len(data.Rows); i += testaid.Every(3) {
		row := data.Rows[i]
		w, err := row.Composition()
		if err != nil {
			t.Fatal(err)
		}
		c, err := kinds.Compose(w)
		if err != nil {
			t.Fatal(err)
		}
		for _, truth := range row.Truth {
			b, reason := LogDelta(c, truth.Epsilon, Wanted{})
			r := reached{of: w, composed: c, epsilon: truth.Epsilon,
				about: fmt.Sprintf("%s: δ(%v)", row.Name, truth.Epsilon),
				lower: math.Exp(b.Lower), upper: math.Exp(b.Upper),
				some: truth.Reached.Value, delta: truth.Delta.Value}
			if reason != "" || !(r.upper >= r.some*(1-rounding) && r.upper >= r.delta*(1-rounding) &&
				r.lower <= r.upper) {
				t.Errorf("%s in [%v, %v] %s, reached %v, the pair has %v", r.about, r.lower, r.upper, reason, r.some,
					r.delta)
			}
			if r.delta > 0 && r.upper > r.delta*(1+width) {
				t.Errorf("%s ≤ %v, the pair has %v", r.about, r.upper, r.delta)
			}
			more(r)
		}
	}
}

// Where a report names a class of mechanisms no member that a search found, and no player who
// chooses members one after the other, has more than the answer; and the answer is what the pair
// has that dominates the class, where the oracle knows it.
func TestDominated(t *testing.T) {
	attacked(t, "testdata/dominated.json", 13, 1e-9, 1e-2, func(r reached) {
		if r.composed[0].Count > 1 && r.delta == 0 && r.upper > r.some*1.05 { // a player, on a coarser grid
			t.Errorf("%s ≤ %v, a player reaches %v", r.about, r.upper, r.some)
		}
	})
}

// every is the most that an adversary reaches who tries some places of the range for each of n choices, and
// who decides after each answer whether one of them is next or one of m randomized responses.
func every(eta, response, alpha float64, n, m int) float64 {
	const tries = 10
	if n+m == 0 {
		return math.Max(0, 1-alpha)
	}
	most := 0.0
	for k := range tries {
		if t := eta * (float64(k) + 0.43) / tries; n > 0 {
			p := math.Expm1(t-eta) / math.Expm1(-eta)
			most = math.Max(most, p*every(eta, response, alpha*math.Exp(-t), n-1, m)+
				(1-p)*every(eta, response, alpha*math.Exp(eta-t), n-1, m))
		}
	}
	if m > 0 {
		p := 1 / (1 + math.Exp(-response))
		most = math.Max(most, p*every(eta, response, alpha*math.Exp(-response), n, m-1)+
			(1-p)*every(eta, response, alpha*math.Exp(response), n, m-1))
	}
	return most
}

// Choices among other releases, and in blocks, lose no more than the answer, whatever their order, and the answer
// is no more than that of the composed pairs.
func TestBlocksAgainstEveryChoice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		eta := math.Exp(rapid.Float64Range(-3, 1).Draw(t, "ln η"))
		response := math.Exp(rapid.Float64Range(-3, 1).Draw(t, "ln ε0"))
		n, m := rapid.IntRange(2, 3).Draw(t, "n"), rapid.IntRange(0, 1).Draw(t, "m")
		epsilon := (float64(n)*eta + float64(m)*response) * rapid.Float64Range(0, 0.9).Draw(t, "ε")
		c := loss.Composition{{Loss: pairs.NewBoundedRange(eta), Count: uint64(n)}}
		if m > 0 {
			c = append(c, loss.Term{Loss: pairs.Response{Epsilon: response, K: 2}, Count: uint64(m)})
		}
		blocks, ok := closed.Blocks(c, 1e7, nil)
		if !ok {
			t.Fatal("no blocks")
		}
		some := every(eta, response, math.Exp(epsilon), n, m)
		composed, _ := logDeltaNarrowed(c, epsilon, false, Wanted{})
		for about, of := range map[string]loss.Composition{"the answer": c, "blocks": blocks} {
			b, reason := LogDelta(of, epsilon, Wanted{})
			if reason != "" || !(math.Exp(b.Upper) >= some*(1-1e-12)) || b.Upper > composed.Upper+0.05 {
				t.Fatalf("%s: δ(%v) ≤ %v %s, an adversary reaches %v, and the pairs have %v", about, epsilon,
					math.Exp(b.Upper), reason, some, math.Exp(composed.Upper))
			}
		}
	})
}

// Of many small choices both bounds tend to the Gaussian with μ² = n·η²/4, to which the sum of losses of
// −η/2 and η/2 tends, and for which δ(2) = 9.4391686e-06 with n = 10,000 and η = 0.01, by its closed form.
func TestManySmallChoices(t *testing.T) {
	testaid.Long(t, "it composes thousands of choices")
	c := loss.Composition{{Loss: pairs.NewBoundedRange(0.01), Count: 10000}}
	gauss := math.Log(9.43916863e-06)
	last := math.Inf(1)
	for _, gap := range []float64{0, 1e-3} {
		b, reason := LogDelta(c, 2, Wanted{Gap: gap})
		width := b.Upper - b.Lower
		if reason != "" || !(b.Lower < gauss+1e-3 && b.Upper > gauss-1e-3 && width < 0.15 && width < last/2) {
			t.Errorf("ln δ(2) in %v, of the Gaussian %v", b, gauss)
		}
		last = width
	}
}

// Blocks of many choices have all that randomized response has, which is one of them, also where δ is nearly 1.
func TestBlocksOverResponses(t *testing.T) {
	for _, eta := range []float64{0.02, 0.4, 2, 4} {
		c := loss.Composition{{Loss: pairs.NewBoundedRange(eta), Count: 263}}
		blocks, ok := closed.Blocks(c, 1e7, nil)
		if !ok {
			t.Fatal("no blocks")
		}
		responses := loss.Composition{{Loss: pairs.Response{Epsilon: eta / 2, K: 2}, Count: 263}}
		for _, share := range []float64{0, 0.02, 0.1, 0.3} {
			epsilon := 263 * eta * share
			b, _ := LogDelta(blocks, epsilon, Wanted{})
			some, _ := LogDelta(responses, epsilon, Wanted{})
			if b.Upper < some.Lower {
				t.Errorf("η = %v: ln δ(%v) ≤ %v, responses have %v", eta, epsilon, b.Upper, some.Lower)
			}
		}
	}
}
