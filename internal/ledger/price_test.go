// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A ledger whose costs take long to find is not read when nobody may wait for it any more;
// otherwise it is the same as ever.
func TestReadingCanBeStopped(t *testing.T) {
	step := mechanism.PoissonSampled{SamplingProbability: 0.003, Mechanism: mechanism.Gaussian{NoiseMultiplier: 30}}
	s := resolved(t, filter(accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1e6, Delta: 1e-6, Order: 3.5}))
	s.Genesis.Spec.Adjacency = mechanism.AddOrRemoveOne
	s.Parts = []mechanism.Part{{Mechanism: mechanism.Group{Size: 255, Mechanism: step}, Count: 2}}
	if st, ok := NewStateWithin(s, func() bool { return true }); ok || st != nil {
		t.Errorf("stopped: %v, %v", st, ok)
	}
	st, ok := NewStateWithin(s, func() bool { return false })
	if want := NewState(s); !ok || st.account.Used[0] != want.account.Used[0] ||
		want.account.Used[0] == (budget.Usage{}) {
		t.Errorf("%v, used %v; want %v", ok, st.account.Used, want.account.Used)
	}
}

// A bounded batch takes no new mechanism once the prices of all that a ledger has take too
// long to find: neither in a charge nor in a reservation. What it has can be charged for
// ever, and so can what is quick to find. An audit decides without this bound, as earlier
// versions did.
func TestPriceWorkIsBounded(t *testing.T) {
	group := func(q float64) mechanism.Event {
		step := mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.Gaussian{NoiseMultiplier: 30}}
		return mechanism.Event{Mechanism: mechanism.Group{Size: 255, Mechanism: step}, Count: 1}
	}
	quick := func(sigma float64) mechanism.Event {
		return mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}, Count: 1}
	}
	snapshot := resolved(t,
		filter(accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1e6, Delta: 1e-6, Order: 3.5}))
	snapshot.Genesis.Spec.Adjacency = mechanism.AddOrRemoveOne
	known, fresh, refunded := group(0.003), group(0.004), group(0.005)
	snapshot.Parts = []mechanism.Part{{Mechanism: known.Mechanism, Count: 2},
		{Mechanism: quick(30).Mechanism, Count: 1}, {Mechanism: refunded.Mechanism}}
	s := NewState(snapshot)
	one := s.account.Prices.Find(known.Mechanism, nil).Work
	if s.account.Work != one || one < budget.LeastWork {
		t.Fatalf("one costly mechanism takes %d, the ledger %d; want the same: what is quick or refunded does not "+
			"count", one, s.account.Work)
	}
	prices := s.Unpriced(Charge{Events: []mechanism.Event{known, refunded, quick(30), fresh}}.Details())
	if want := []mechanism.Mechanism{refunded.Mechanism, fresh.Mechanism}; prices == nil ||
		!slices.Equal(prices.Missing, want) {
		t.Errorf("%+v; want to find the prices of %v before the decision", prices, want)
	}
	prices.Find(nil)
	s.account.Work = budget.MaxPriceWork - one/2
	next := uint64(0)
	decide := func(b *Batch, v Action) error {
		next++
		return b.Decide(Request{Writer: Writer{"p", fmt.Sprint(next)}, Sequence: 1, Action: v, Prices: prices},
			Lane{}, noon).Err
	}
	b := NewBatch(s)
	b.Bound()
	for name, v := range map[string]Action{
		"a charge":          Charge{Events: []mechanism.Event{fresh, quick(31)}},
		"a reservation":     Reserve{Events: []mechanism.Event{fresh}, Lifetime: time.Hour},
		"what was refunded": Charge{Events: []mechanism.Event{refunded}},
	} {
		err := decide(b, v)
		if !errors.Is(err, ErrOutOfRange) || !strings.Contains(err.Error(), "allowed: 10 s in one ledger") ||
			!strings.Contains(err.Error(), "group(") {
			t.Errorf("%s of a new mechanism: %v; want a refusal that names it and the limit", name, err)
		}
	}
	for _, e := range []mechanism.Event{known, quick(30), quick(32)} {
		if err := decide(b, Charge{Events: []mechanism.Event{e}}); err != nil {
			t.Errorf("%v: %v", e.Mechanism, err)
		}
	}
	if err := decide(NewBatch(s), Charge{Events: []mechanism.Event{fresh}}); err != nil {
		t.Errorf("an audit: %v", err)
	}
	// What a restore has lost had passed the bound when it was charged. It is refused beyond the
	// bound, also where the budgets do not allow it, and then it can be declared by what is quick
	// to find.
	for name, count := range map[string]uint32{"within the budgets": 1, "over them": math.MaxUint32} {
		costly := mechanism.Event{Mechanism: fresh.Mechanism, Count: count}
		lost := NewBatch(s)
		lost.Bound()
		lost.amended.unreconciled, lost.amended.restored = true, make([]origin, 1)
		before := lost.draft.PriceWork()
		err := decide(lost, Reconcile{Events: []mechanism.Event{costly}})
		if !errors.Is(err, ErrOutOfRange) || !strings.Contains(err.Error(), "declare what was lost as renyi_dp") {
			t.Errorf("reconciling %s: %v; want a refusal that says how to declare it", name, err)
		}
		if now := lost.draft.PriceWork(); now != before {
			t.Errorf("reconciling %s: a refusal leaves work of %d; want %d", name, now, before)
		}
		cheap := mechanism.Event{Mechanism: quick(33).Mechanism, Count: count}
		if err := decide(lost, Reconcile{Events: []mechanism.Event{cheap}}); err != nil {
			t.Errorf("reconciling %s by what is quick to find: %v", name, err)
		}
		audited := NewBatch(s)
		audited.amended.unreconciled, audited.amended.restored = true, make([]origin, 1)
		if err := decide(audited, Reconcile{Events: []mechanism.Event{costly}}); err != nil {
			t.Errorf("an audit of reconciling %s: %v", name, err)
		}
	}
	s.account.Work = 0
	b = NewBatch(s)
	b.Bound()
	want := s.account.Prices.Find(fresh.Mechanism, nil).Work + s.account.Prices.Find(refunded.Mechanism, nil).Work
	if err := decide(b, Charge{Events: []mechanism.Event{fresh, refunded}}); err != nil || b.draft.PriceWork() != want {
		t.Errorf("with room: %v, %d of work; want %d", err, b.draft.PriceWork(), want)
	}
}
