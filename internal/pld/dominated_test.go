package pld

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
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
	for _, row := range data.Rows {
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
