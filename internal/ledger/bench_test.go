// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// BenchmarkBudgetCheck is what budgets add to a charge of a running job: two
// sampled Gaussians take turns, none of them new.
func BenchmarkBudgetCheck(b *testing.B) {
	step := func(sigma float64) mechanism.Event {
		return mechanism.Event{Mechanism: mechanism.PoissonSampled{SamplingProbability: 1e-3,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}, Count: 1}
	}
	events := [][]mechanism.Event{{step(4)}, {step(5)}}
	rdp := accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1e6, Delta: 1e-5, Order: 12}
	zcdp := accountant.Budget{Guard: accountant.GuardZCDP, Rho: 1e9}
	planned := plan(step(4), step(5))
	planned.Plan.Events[0].Count, planned.Plan.Events[1].Count = 1<<32-1, 1<<32-1
	for name, spec := range map[string]Spec{"plan": planned, "rdp": filter(rdp), "rdp and zcdp": filter(rdp, zcdp)} {
		for distinct := range 2 {
			b.Run(fmt.Sprintf("%s/distinct=%d", name, distinct+1), func(b *testing.B) {
				d := NewState(resolved(b, spec)).account.Draft(&budget.Draft{})
				for i := range b.N {
					if err := d.Take(events[i%(distinct+1)]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkBudgetRefusal is a client that asks for too much again and again.
func BenchmarkBudgetRefusal(b *testing.B) {
	d := NewState(resolved(b,
		filter(accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1, Delta: 1e-5, Order: 12}))).
		account.Draft(&budget.Draft{})
	for b.Loop() {
		if d.Take([]mechanism.Event{event(0.3, 1)}) == nil {
			b.Fatal("accepted")
		}
	}
}

// BenchmarkView is what a watcher costs after a commit: ten distinct mechanisms, two
// budgets and a reservation.
func BenchmarkView(b *testing.B) {
	s := NewState(resolved(b,
		filter(accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1e6, Delta: 1e-5, Order: 12},
			accountant.Budget{Guard: accountant.GuardZCDP, Rho: 1e9})))
	batch := NewBatch(s)
	for i := range 10 {
		batch.Decide(request("w", uint64(i+1), event(float64(i+1), 1)), Lane{}, noon)
	}
	batch.Decide(reserving(11, event(3, 5)), Lane{}, noon)
	s.Apply(batch, Head{11, Hash{2}})
	for b.Loop() {
		if v := s.View(); len(v.Budgets) != 2 || len(v.Reservations) != 1 {
			b.Fatal(v)
		}
	}
}

// BenchmarkDecide is a whole decision of a charge of a running job, under two
// budgets, its mechanisms taking turns.
func BenchmarkDecide(b *testing.B) {
	s := NewState(resolved(b,
		filter(accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1e6, Delta: 1e-5, Order: 12},
			accountant.Budget{Guard: accountant.GuardZCDP, Rho: 1e9})))
	batch := NewBatch(s)
	requests := []Request{request("w", 1, event(4, 1)), request("w", 1, event(5, 1))}
	n := uint64(0)
	for b.Loop() {
		r := requests[n%2]
		n++
		if r.Sequence = n; batch.Decide(r, Lane{Sequence: n - 1}, noon).Outcome != Accepted {
			b.Fatal("refused")
		}
		if n%1024 == 0 { // as long as a batch is
			s.Apply(batch, Head{n, Hash{2}})
			batch = NewBatch(s)
		}
	}
}
