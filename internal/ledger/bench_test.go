package ledger

import (
	"fmt"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// BenchmarkBudgetCheck is what budgets add to a charge of a running job: two
// sampled Gaussians take turns, none of them new.
func BenchmarkBudgetCheck(b *testing.B) {
	step := func(sigma float64) mechanism.Event {
		return mechanism.Event{Mechanism: mechanism.PoissonSampled{SamplingProbability: 1e-3, Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}, Count: 1}
	}
	events := [][]mechanism.Event{{step(4)}, {step(5)}}
	rdp := accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1e6, Delta: 1e-5, Order: 12}
	zcdp := accountant.Budget{Guard: accountant.GuardZCDP, Rho: 1e9}
	planned := plan(step(4), step(5))
	planned.Plan.Events[0].Count, planned.Plan.Events[1].Count = 1<<32-1, 1<<32-1
	for name, spec := range map[string]Spec{"plan": planned, "rdp": filter(rdp), "rdp and zcdp": filter(rdp, zcdp)} {
		for distinct := range 2 {
			b.Run(fmt.Sprintf("%s/distinct=%d", name, distinct+1), func(b *testing.B) {
				d := NewState(resolved(b, spec), nil).account.draft()
				for i := range b.N {
					if err := d.take(events[i%(distinct+1)]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkBudgetRefusal is a client that asks for too much again and again.
func BenchmarkBudgetRefusal(b *testing.B) {
	d := NewState(resolved(b, filter(accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1, Delta: 1e-5, Order: 12})), nil).account.draft()
	for b.Loop() {
		if d.take([]mechanism.Event{event(0.3, 1)}) == nil {
			b.Fatal("accepted")
		}
	}
}
