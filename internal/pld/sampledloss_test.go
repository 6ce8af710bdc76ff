package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// 1 to 50 steps of everything that can be sampled, against the oracle: exact
// convolutions in each direction for Laplace, sums over outcomes for the rest.
func TestSampledStepsAgainstOracle(t *testing.T) {
	var data struct {
		Laplaces []struct {
			losstest.Workload
			Direction string
			Points    []struct {
				Epsilon, Delta losstest.Number
				Digits         int
			}
		}
		Rows []losstest.Workload
	}
	losstest.Read(t, "testdata/sampled_steps.json", &data)
	points := 0
	for _, w := range data.Laplaces {
		d := loss.Remove
		if w.Direction == "ADD" {
			d = loss.Add
		}
		p, reason := newLatticeProblem(lossesOfWorkload(t, w.Workload), d, nil)
		if reason != "" {
			t.Fatalf("%s: %s", w.Name, reason)
		}
		for _, r := range w.Points {
			points++
			b, _ := p.solve(&latticeQuestion{epsilon: r.Epsilon.Value, gap: latticeLogGap}, math.Inf(-1), nil)
			// ε was rounded to a float64: ln δ falls by at most what its slope, below 1/δ,
			// makes of that.
			want := math.Log(r.Delta.Value)
			slack := math.Pow(10, -float64(r.Digits-1)) + 0x1p-52*(1+math.Abs(r.Epsilon.Value)/r.Delta.Value)
			if !(b.Lower <= want+slack && want-slack <= b.Upper && b.Upper-b.Lower <= 2*latticeLogGap) {
				t.Errorf("%s %s: ln δ(%v) in %+v, want %v", w.Name, w.Direction, r.Epsilon.Value, b, want)
			}
		}
	}
	if points < 50 {
		t.Errorf("%d points", points)
	}
	latticeRows(t, data.Rows, 1e-15, map[string]bool{
		// Near the largest losses, where δ is mostly δ_∞: wider than the aim by up to 30.
		"sampled-approximate-0.05-3.0-1e-09x10": true,
		"sampled-approximate-0.05-3.0-1e-09x50": true,
	})
	for _, w := range data.Rows {
		c := lossesOfWorkload(t, w)
		for _, r := range w.Truth {
			if r.AskedByEpsilon {
				b, reason := LogDelta(c, r.Epsilon.Value, Wanted{})
				if want := r.LogDelta.Value; reason != "" || r.LogDelta.Given && !(b.Lower <= want+1e-13*(1-want) && want-1e-13*(1-want) <= b.Upper) {
					t.Errorf("%s: ln δ(%v) in %+v, want %v (%s)", w.Name, r.Epsilon.Value, b, want, reason)
				}
				continue
			}
			b, reason := Epsilon(c, r.Delta.Value, Wanted{})
			if want := r.Epsilon.Value; reason != "" || !(b.Lower <= want*(1+1e-15) && want*(1-1e-15) <= b.Upper) {
				t.Errorf("%s: ε(%v) in %+v, want %v (%s)", w.Name, r.Delta.Value, b, want, reason)
			}
		}
	}
}

func lossesOfWorkload(t testing.TB, w losstest.Workload) loss.Composition {
	t.Helper()
	m, err := w.Composition()
	if err != nil {
		t.Fatalf("%s: %v", w.Name, err)
	}
	c, err := loss.Compose(m)
	if err != nil {
		t.Fatalf("%s: %v", w.Name, err)
	}
	return c
}

// One step of a sampled (ε0, δ0) guarantee is (ln(1 + q(e^{ε0}−1)), qδ0)-DP: ε' at qδ0
// and no ε below it.
func TestSampledApproximateOneStep(t *testing.T) {
	for _, q := range []float64{1e-4, 0.1, 0.7} {
		m := mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-5}}
		c := lossesUnder(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: m, Count: 1})
		want := math.Log1p(q * math.Expm1(1))
		above, _ := Epsilon(c, q*1e-5*(1+1e-12), Wanted{})
		if above.Upper > want*(1+1e-12) || above.Upper < want*(1-1e-3) || above.Lower > want {
			t.Errorf("q=%v: ε in %+v, want %v", q, above, want)
		}
		if below, _ := Epsilon(c, q*1e-5*(1-1e-12), Wanted{}); !math.IsInf(below.Lower, 1) {
			t.Errorf("q=%v: ε in %+v below δ_∞", q, below)
		}
	}
}

// Lower ≤ upper ≤ Rényi, and a larger sample never costs less.
func TestSampledBelowRenyi(t *testing.T) {
	for _, m := range []mechanism.Mechanism{
		mechanism.Laplace{Scale: 2, Sensitivity: 1}, mechanism.PureDP{Epsilon: 1}, mechanism.GaussianDP{Mu: 0.7},
		mechanism.ApproximateDP{Epsilon: 0.2, Delta: 1e-14}, mechanism.RandomizedResponse{Epsilon: 1.5, Buckets: 4},
	} {
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
			last := 0.0
			for _, q := range []float64{1e-3, 0.05, 0.7} {
				p := mechanism.PoissonSampled{SamplingProbability: q, Mechanism: m}
				if p.Check(adj) != nil {
					continue
				}
				const delta = 1e-7
				c := lossesUnder(t, adj, mechanism.Event{Mechanism: p, Count: 100})
				b, reason := Epsilon(c, delta, Wanted{})
				if reason != "" {
					t.Fatal(reason)
				}
				// 2e−4: what the lattice may take.
				if most := renyi(c, delta); b.Lower > b.Upper || b.Upper > most+2e-4*math.Max(1, most) {
					t.Errorf("%v under %v: ε in %+v, Rényi %v", p, adj, b, most)
				}
				if b.Upper < last {
					t.Errorf("%v under %v: ε in %+v, at a smaller rate above %v", p, adj, b, last)
				}
				last = b.Lower
			}
		}
	}
}
