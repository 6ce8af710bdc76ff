// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// An observation has what was charged or reserved by then, spends nothing, and is still there when the ledger is read
// again. There are at most so many, and what would make an entry long is left out.
func TestObserve(t *testing.T) {
	t.Parallel()
	base := resolved(t, filter(basic(2)))
	l := begin(t, base)
	l.take(old, Charge{Events: tenth(3)})
	l.take(old, Reserve{Events: tenth(2), Lifetime: time.Hour})
	seen := Observe{Canaries: Canaries{Inserted: 10, Guesses: 5, Correct: 4}, Reason: "run 7"}
	l.take(old, seen)
	first := l.View().Observed[0]
	if c, err := mechanism.Compose(base.Genesis.Spec.Adjacency, first.Charged); err != nil || len(c.Parts) != 1 ||
		c.Parts[0].Count != 5 || first.Position != 3 || first.Principal != "p" {
		t.Errorf("%+v: %v", first, err)
	}
	if got := l.Summary().Total; got != 3 {
		t.Errorf("%d are charged; want 3", got)
	}
	base.Amended = []Entry{l.records[2].Entry}
	again := NewState(base)
	if got := again.View().Observed; len(got) != 1 || got[0].Reason != "run 7" || len(got[0].Charged) != 2 {
		t.Errorf("read again: %+v", got)
	}
	many := make([]mechanism.Event, 1001)
	for i := range many {
		many[i] = pure(1e-6*float64(i+1), 1)
	}
	l.take(old, Charge{Events: many})
	for len(l.View().Observed) < maxObservations {
		l.take(old, seen)
	}
	if got := l.View().Observed[1].Charged; got != nil {
		t.Errorf("%d events in an entry", len(got))
	}
	l.refuse(old, seen, ErrOutOfRange, "observations: 101; allowed: at most 100 in one ledger")
}
