// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
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
	losstest.Read(t, "../testdata/sampled_steps.json", &data)
	points := 0
	for _, w := range data.Laplaces {
		d := loss.Remove
		if w.Direction == "ADD" {
			d = loss.Add
		}
		p, reason := newProblem(pldtest.Workload(t, w.Workload), d, nil)
		if reason != "" {
			t.Fatalf("%s: %s", w.Name, reason)
		}
		for _, r := range w.Points {
			points++
			b, _ := p.solve(&question{epsilon: r.Epsilon.Value, gap: LogGap}, math.Inf(-1), nil)
			// ε was rounded to a float64: ln δ falls by at most what its slope, below 1/δ,
			// makes of that.
			want := math.Log(r.Delta.Value)
			slack := math.Pow(10, -float64(r.Digits-1)) + 0x1p-52*(1+math.Abs(r.Epsilon.Value)/r.Delta.Value)
			if !(b.Lower <= want+slack && want-slack <= b.Upper && b.Upper-b.Lower <= 2*LogGap) {
				t.Errorf("%s %s: ln δ(%v) in %+v, want %v", w.Name, w.Direction, r.Epsilon.Value, b, want)
			}
		}
	}
	if points < 50 {
		t.Errorf("%d points", points)
	}
	checkRows(t, data.Rows, 1e-15, map[string]bool{
		// Near the largest losses, where δ is mostly δ_∞: wider than the aim by up to 30.
		"sampled-approximate-0.05-3.0-1e-09x10": true,
		"sampled-approximate-0.05-3.0-1e-09x50": true,
	})
}
