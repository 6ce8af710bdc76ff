// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// orderRow is a random allocation with its Rényi divergences at one order.
type orderRow struct {
	losstest.Workload
	Order                          float64
	Remove, Add, RemoveLow, AddLow losstest.Number
}

// least is the largest divergence that is known to be attained; exact if both directions are known.
func (r orderRow) least() (d float64, exact bool) {
	for _, n := range []losstest.Number{r.Remove, r.Add, r.RemoveLow, r.AddLow} {
		d = math.Max(d, n.Value)
	}
	return d, r.Remove.Given && r.Add.Given
}

// No guard takes less for a random allocation than what it loses, and none refuses what it can add
// up: a pure mechanism, the divergence at an order, and ρ and μ of a record whose steps are known.
func TestGuardsOfAllocationAgainstOracle(t *testing.T) {
	t.Parallel()
	var data struct{ Orders []orderRow }
	losstest.Read(t, "testdata/allocation.json", &data)
	if len(data.Orders) < 200 {
		t.Fatalf("%d rows", len(data.Orders))
	}
	const limit = 1000.0
	for i := 0; i < len(data.Orders); i += testaid.Every(20) {
		row := data.Orders[i]
		m := row.Events[0].Mechanism.Mechanism.(mechanism.RandomAllocation)
		_, gaussian := m.Mechanism.(mechanism.Gaussian)
		d, exact := row.least()
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ZeroOut} {
			for _, c := range []struct {
				limit Limit
				least float64 // of the guard's sum, in which it is counted
			}{
				{Limit{Guard: GuardRDP, Order: row.Order}, d},
				{Limit{Guard: GuardZCDP}, d / row.Order},
				{Limit{Guard: GuardApproximateZCDP, Delta: 1e-9}, d / row.Order},
				{Limit{Guard: GuardGDP}, 2 * d / row.Order},
				{Limit{Guard: GuardBasic}, d},
				{Limit{Guard: GuardBasic, Delta: 1e-9}, d},
			} {
				c.limit.Value = limit
				cost, reason := c.limit.Cost(m, adj)
				if gaussian && c.limit.Guard == GuardBasic || !gaussian && c.limit.Guard == GuardGDP {
					if reason == "" {
						t.Errorf("%s: %v takes %+v; want a refusal", row.Name, c.limit.Guard, cost)
					}
					continue
				}
				got := float64(cost.Value) / float64(Whole) * limit
				if reason != "" || got < c.least*(1-1e-13) || cost.Delta != 0 {
					t.Errorf("%s, %v: %v takes %v %+v %s; its divergence is %v", row.Name, adj, c.limit.Guard, got,
						cost, reason, d)
				}
				// At large orders pure noise is bounded by its geometric mean, which is less than its mean.
				if c.limit.Guard == GuardRDP && exact && (gaussian || row.Order < 10) && got > d*1.02+1e-9 {
					t.Errorf("%s: RDP takes %v; its divergence is %v", row.Name, got, d)
				}
			}
		}
	}
}

// What is said to be spent whatever the analysis is no more than what a record costs whose step is
// known, also where δ is so small that the pair of an epoch is cut above it; and there is a finite bound.
func TestAllocationAtTinyDelta(t *testing.T) {
	t.Parallel()
	for _, inner := range []mechanism.Mechanism{mechanism.Gaussian{NoiseMultiplier: 1},
		mechanism.Laplace{Scale: 0.5, Sensitivity: 1}} {
		for _, epochs := range []uint32{1, 30} {
			c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Count: epochs,
				Mechanism: mechanism.RandomAllocation{Steps: 10, Mechanism: inner}})
			known := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Count: epochs, Mechanism: inner})
			last := 0.0
			for _, delta := range []float64{1e-20, 1e-36, 1e-37, 1e-39, 1e-60, 1e-300} {
				a, most := ask(t, c, AtDelta(delta)), ask(t, known, AtDelta(delta)).Epsilon
				if a.EpsilonLower == nil {
					t.Fatalf("no lower bound: %+v", a)
				}
				if !(*a.EpsilonLower <= a.Epsilon && last <= a.Epsilon && a.Epsilon <= most*(1+1e-9)) {
					t.Errorf("%d epochs of %v at δ = %v: ε in [%v, %v] after %v; with known steps %v", epochs, inner,
						delta, *a.EpsilonLower, a.Epsilon, last, most)
				}
				last = a.Epsilon
			}
		}
	}
}

// What a question declares to cost does not depend on what was asked before it.
func TestDeclaredWorkIsTheQuestions(t *testing.T) {
	t.Parallel()
	of := func(steps uint64) []mechanism.Event { // which nobody has asked about before
		return []mechanism.Event{{Count: 3, Mechanism: mechanism.RandomAllocation{Steps: steps,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.8125}}}}
	}
	steps := uint64(20)
	for name := range asks(of(steps)) {
		steps++
		var spent [3]int
		for i := range spent {
			in := num.NewInterrupt(func() bool { return false })
			asks(of(steps))[name](t, in)
			spent[i] = in.Spent()
		}
		if spent[1] != spent[0] || spent[2] != spent[0] {
			t.Errorf("%s: %v ns of work are declared for one question", name, spent)
		}
	}
}

// The divergences of an epoch have no infinite bound because its pair is cut, neither from above nor from
// below, and pure noise stays pure.
func TestAllocationHasDivergences(t *testing.T) {
	t.Parallel()
	for _, inner := range []mechanism.Mechanism{mechanism.Gaussian{NoiseMultiplier: 1},
		mechanism.Laplace{Scale: 0.5, Sensitivity: 1}} {
		c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Count: 3,
			Mechanism: mechanism.RandomAllocation{Steps: 10, Mechanism: inner}})
		losses, err := kinds.Compose(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []float64{0.5, 1, 7} {
			p := new(Question).divergence(losses, s)
			if !(p.Divergence > 0 && p.Divergence < 100) || p.Lower != nil && *p.Lower > p.Divergence {
				t.Errorf("%v: %+v", inner, p)
			}
		}
		if _, gaussian := inner.(mechanism.Gaussian); !gaussian && worstLoss(losses) > 6.000001 {
			t.Errorf("%v: the largest loss is %v; want 3 times 2", inner, worstLoss(losses))
		}
	}
}

// A question about one δ computes an epoch only as far out as that needs. The bounds enclose the same truth as those
// of all questions, and are next to them.
func TestReachOfOneDelta(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		noise, delta float64
		steps        uint64
		count        uint32
	}{{1.1, 1e-6, 235, 60}, {0.5, 1e-9, 235, 1}, {1.1, 1e-5, 10, 1}, {5, 1e-6, 1000, 60}, {1 / 14., 1e-9, 1000, 1},
		{1 / 19., 1e-14, 5000, 1}} {
		if testing.Short() && x.noise < 0.1 {
			continue // it takes ten times as long as the others
		}
		c := compose(t, mechanism.ZeroOut, mechanism.Event{Count: x.count, Mechanism: mechanism.RandomAllocation{
			Steps: x.steps, Mechanism: mechanism.Gaussian{NoiseMultiplier: x.noise}}})
		near, far := AtDelta(x.delta), AtDelta(x.delta)
		far.rough = true
		a, err := Ask(c, near)
		b, other := Ask(c, far)
		if err != nil || other != nil {
			t.Fatal(err, other)
		}
		if !(*a.EpsilonLower <= b.Epsilon && *b.EpsilonLower <= a.Epsilon) {
			t.Errorf("%+v: [%v, %v] and [%v, %v] have no truth in common", x,
				*a.EpsilonLower, a.Epsilon, *b.EpsilonLower, b.Epsilon)
		}
		if !(a.Epsilon <= b.Epsilon*(1+1e-4) && a.Epsilon-*a.EpsilonLower <= 1.5*(b.Epsilon-*b.EpsilonLower)) {
			t.Errorf("%+v: [%v, %v] is wider than [%v, %v]", x,
				*a.EpsilonLower, a.Epsilon, *b.EpsilonLower, b.Epsilon)
		}
	}
}

// Where the curve's bounds are far from each other, rdp is asked about all that a question about one δ leaves out.
func TestReachWhereDivergencesMayAnswer(t *testing.T) {
	c := compose(t, mechanism.ZeroOut,
		mechanism.Event{Count: 20, Mechanism: mechanism.RandomAllocation{
			Steps: 100, Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.8}}},
		mechanism.Event{Count: 1, Mechanism: mechanism.RenyiDP{
			Orders: mechanism.NumbersOf(2, 4, 8), Epsilons: mechanism.NumbersOf(0.1, 0.2, 0.4)}})
	b, err := AskBy(c, AtDelta(1e-5), RDP)
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(mechanism.Composition, Question) (Answer, error){
		"once": Ask, "again": new(Session).Ask, "tightest": new(Session).Tightest,
	} {
		a, err := ask(c, AtDelta(1e-5))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range a.Analyses {
			if r.Analysis == RDP && r.Epsilon != b.Epsilon {
				t.Errorf("%s: ε ≤ %v by its divergences, not %v", name, r.Epsilon, b.Epsilon)
			}
		}
	}
}

// Batches that are dealt have a lower bound with several bands, too, also where nothing of the choice stays hidden.
func TestAllocatedMatricesFromBelow(t *testing.T) {
	for _, period := range []uint64{2, 4} {
		c := compose(t, mechanism.ZeroOut, mechanism.Event{Count: 3, Mechanism: mechanism.AllocatedMatrix{
			StepNoise:    mechanism.StepNoise{NoiseMultiplier: 4},
			Coefficients: mechanism.NumbersOf(1, 0.5), Steps: 12, Period: period}})
		a, err := Ask(c, AtDelta(1e-6))
		if err != nil || a.EpsilonLower == nil || !(0.5 <= *a.EpsilonLower && *a.EpsilonLower <= a.Epsilon) {
			t.Errorf("period %d: %+v, %v", period, a, err)
		}
	}
}
