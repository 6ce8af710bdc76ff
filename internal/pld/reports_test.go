// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// Reports in a random order: the answer is what the pair of clones has, and no attacker of a small
// dataset, whose records are chosen as badly as they can be, sees more. What is said from below, an
// attacker of randomized response sees.
func TestReportsAgainstOracle(t *testing.T) {
	attacked(t, "testdata/reports.json", 29, 1e-12, 1e-3, func(r reached) {
		_, response := r.of.Parts[0].Mechanism.(mechanism.ShuffledReports).Mechanism.(mechanism.RandomizedResponse)
		if response && r.lower > r.some*(1+1e-12)+1e-15 {
			t.Errorf("%s ≥ %v, nobody reaches more than %v", r.about, r.lower, r.some)
		}
		if response && r.upper > r.some*1.25+1e-14 {
			t.Errorf("%s ≤ %v, an attacker reaches %v", r.about, r.upper, r.some)
		}
	})
}

// More reports never cost more, and a response with more noise does not. A randomizer of which only
// ε0 is known costs at least as much as randomized response, and no report more than by itself.
func TestReportsRiseAndFall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e0 := math.Exp(rapid.Float64Range(-3, 2.3).Draw(t, "ln ε0"))
		n := rapid.Uint64Range(2, 3000).Draw(t, "reports")
		k := rapid.Uint64Range(2, 40).Draw(t, "k")
		epsilon := e0 * rapid.Float64Range(0, 1).Draw(t, "ε/ε0")
		upper := func(n uint64, m mechanism.Mechanism) float64 {
			parts := mechanism.Composition{Adjacency: mechanism.ReplaceOne,
				Parts: []mechanism.Part{{Mechanism: mechanism.ShuffledReports{Reports: n, Mechanism: m}, Count: 1}}}
			c, err := kinds.Compose(parts)
			if err != nil {
				t.Fatal(err)
			}
			b, reason := LogDelta(c, epsilon, Wanted{})
			if reason != "" || b.Lower > b.Upper {
				t.Fatalf("%v: %+v %s", m, b, reason)
			}
			return math.Exp(b.Upper)
		}
		response := mechanism.RandomizedResponse{Epsilon: e0, Buckets: k}
		any := upper(n, mechanism.PureDP{Epsilon: e0})
		one := upper(n, response)
		const slack, least = 1.01, 1e-12 // edges and groups of reports are not those of the other question
		if one > any*slack+least {
			t.Errorf("n = %d, ε0 = %v, k = %d: δ(%v) ≤ %v, of any randomizer %v", n, e0, k, epsilon, one, any)
		}
		if alone := upper(1, mechanism.PureDP{Epsilon: e0}); any > alone*(1+1e-9)+least {
			t.Errorf("n = %d, ε0 = %v: δ(%v) ≤ %v, of one report %v", n, e0, epsilon, any, alone)
		}
		if more := upper(2*n, response); more > one*slack+least {
			t.Errorf("ε0 = %v, k = %d: δ(%v) ≤ %v of %d reports, %v of twice as many", e0, k, epsilon, one, n, more)
		}
		response.Epsilon *= 0.9
		if less := upper(n, response); less > one*slack+least {
			t.Errorf("n = %d, ε0 = %v, k = %d: δ(%v) ≤ %v, with more noise %v", n, e0, k, epsilon, one, less)
		}
	})
}
