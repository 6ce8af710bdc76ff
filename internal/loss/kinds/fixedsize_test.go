// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Wang, Balle and Kasiviswanathan 2019 (arXiv 1808.00087v2), Thm 9, with the absolute
// moments in closed form: never below, and little above for what the cells cost; at
// fractional orders between the whole ones.
func TestFixedSizeAgainstOracle(t *testing.T) {
	var data struct {
		Rows []struct {
			Mechanism losstest.Mechanism
			Orders    [][2]losstest.Number
		}
	}
	losstest.Read(t, "../testdata/fixed_size.json", &data)
	worst := 0.0
	for _, r := range data.Rows {
		l, err := Of(r.Mechanism.Mechanism, mechanism.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		var before float64
		for i, o := range r.Orders {
			s, want := o[0].Value-1, o[1].Value
			got := l.Cumulant(loss.Remove, s, nil).Upper()
			if got < want || got > want*1.05 {
				t.Errorf("%v at α = %v: %v, want %v", r.Mechanism, o[0].Value, got, want)
			}
			worst = math.Max(worst, got/want-1)
			if i > 0 && r.Orders[i-1][0].Value == o[0].Value-1 {
				if mid := l.Cumulant(loss.Add, s-0.5, nil).K; !(mid > before && mid <= (before+got)/2*(1+1e-9)) {
					t.Errorf("%v at α = %v: %v between %v and %v", r.Mechanism, o[0].Value-0.5, mid, before, got)
				}
			}
			before = got
		}
	}
	t.Logf("at most a relative %.2g above", worst)
	if len(data.Rows) < 8 {
		t.Errorf("%d rows", len(data.Rows))
	}
}

// At whole orders the bound is never above the unsampled mechanism, falls with the rate, and whole
// batches are no sampling.
func TestFixedSizeLimits(t *testing.T) {
	g := mechanism.Gaussian{NoiseMultiplier: 3}
	whole, _ := Of(g, mechanism.ReplaceOne)
	all, err := Of(mechanism.FixedSizeSampled{BatchSize: 70, DatasetSize: 70, Mechanism: g}, mechanism.ReplaceOne)
	if err != nil || all != whole {
		t.Errorf("%v, %v", all, err)
	}
	for _, s := range []float64{1, 3, 7} {
		before := whole.Cumulant(loss.Remove, s, nil).Upper()
		for _, n := range []uint64{71, 140, 7000, 700000} {
			l, _ := Of(mechanism.FixedSizeSampled{BatchSize: 70, DatasetSize: n, Mechanism: g}, mechanism.ReplaceOne)
			k := l.Cumulant(loss.Remove, s, nil).Upper()
			if !(k <= before*(1+1e-12) && k > 0) {
				t.Errorf("s = %v, 70 of %d: %v after %v", s, n, k, before)
			}
			before = k
		}
	}
	// What has an ε: ln(1 + γ(e^ε − 1)) (Balle, Barthe and Gaboardi 2018, Thm 10).
	l, err := Of(mechanism.FixedSizeSampled{BatchSize: 1, DatasetSize: 100,
		Mechanism: mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-6}}, mechanism.ReplaceOne)
	if f := l.Facts(); err != nil || math.Abs(f.Epsilon-math.Log1p(0.01*math.Expm1(1))) > 1e-15 ||
		math.Abs(f.InfinityMass-1e-8) > 1e-20 || !f.Dominating {
		t.Errorf("%+v, %v", l, err)
	}
}
