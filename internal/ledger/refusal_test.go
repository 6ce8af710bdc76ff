// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// What is missing is told in full also where a single application takes more than the
// whole limit, more than a Cost can say.
func TestShortfalls(t *testing.T) {
	basic := accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1, Delta: 1e-6}
	approximate := func(epsilon, delta float64, count uint32) mechanism.Event {
		return mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: epsilon, Delta: delta}, Count: count}
	}
	for _, c := range []struct {
		name   string
		budget accountant.Budget
		event  mechanism.Event
		needed map[string]float64 // by unit; of a limit that is not listed nothing is missing
		short  map[string]float64
	}{
		{"some applications", basic, pure(0.1, 11), map[string]float64{"ε": 1.1}, map[string]float64{"ε": 0.2}},
		{"one", basic, pure(5, 1), map[string]float64{"ε": 5}, map[string]float64{"ε": 4.1}},
		{"several, each too large", basic, pure(100, 3), map[string]float64{"ε": 300}, map[string]float64{"ε": 299.1}},
		{"δ alone", basic, approximate(0.1, 2e-6, 3), map[string]float64{"δ": 6e-6}, map[string]float64{"δ": 5e-6}},
		{"both", basic, approximate(2, 0.5, 1), map[string]float64{"ε": 2, "δ": 0.5},
			map[string]float64{"ε": 1.1, "δ": 0.499999}},
		{"beyond any number", accountant.Budget{Guard: accountant.GuardGDP, Mu: 1e-3},
			mechanism.Event{Mechanism: mechanism.GaussianDP{Mu: 1e200}, Count: 1},
			map[string]float64{"μ²": math.Inf(1)}, map[string]float64{"μ²": math.Inf(1)}},
	} {
		first := pure(0.1, 1)
		if c.budget.Guard == accountant.GuardGDP {
			first = mechanism.Event{Mechanism: mechanism.GaussianDP{Mu: 1e-4}, Count: 1}
		}
		n, err := steps(t, resolved(t, filter(c.budget)), first, c.event)
		var e *budget.Error
		if n != 1 || !errors.As(err, &e) || len(e.Broken) != len(c.needed) {
			t.Errorf("%s: %d steps, %v", c.name, n, err)
			continue
		}
		for _, s := range e.Broken {
			if s.Needed != c.needed[s.Unit] || s.Short != c.short[s.Unit] {
				t.Errorf("%s: %v; want %v of %s, short by %v", c.name, s, c.needed[s.Unit], s.Unit, c.short[s.Unit])
			}
		}
	}
}
