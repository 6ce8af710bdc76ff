// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/num"
)

// Leaving out what does not count moves ln r by no more than the error bounds of both sums say. The
// sum of all parts is the dumb version.
func TestPartsThatDoNotCount(t *testing.T) {
	fewer := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(8, 256).Draw(t, "parts")
		shift := math.Exp(rapid.Float64Range(-14, 3).Draw(t, "ln shift"))
		logOdds := rapid.Float64Range(-12, 4).Draw(t, "ln odds")
		bump := rapid.IntRange(0, 2*n).Draw(t, "bump") // not concave there
		m := &Mixture{WeightErr: 1}
		var logs []float64
		for i, log := 0, 0.0; i < n; i++ {
			if i == bump {
				log += 3
			}
			logs = append(logs, log)
			log += logOdds + math.Log(float64(n-i)/float64(i+1))
		}
		most, sum := slices.Max(logs), 0.0
		for i, log := range logs {
			m.Shift = append(m.Shift, float64(i)*shift)
			m.Weight = append(m.Weight, math.Max(math.Exp(log-most), 1e-300))
			sum += m.Weight[i]
		}
		for i := range m.Weight {
			m.Weight[i] /= sum
		}
		top := m.Shift[n-1]
		z := rapid.Float64Range(-9, 9).Draw(t, "from the middle")
		z += top * rapid.Float64Range(-0.2, 1.2).Draw(t, "of the shifts")
		all := &Mixture{Shift: m.Shift, Weight: m.Weight, WeightErr: 1}
		all.indexed().runs = make([]int, mostRuns+1)
		got, slope, gotErr := m.LogRatio(z)
		want, wantSlope, wantErr := all.LogRatio(z)
		if from, to := m.Counting(z, z); to-from < n {
			fewer++
		}
		if !(math.Abs(got-want) <= num.Ulp*(gotErr+wantErr)) || !(math.Abs(slope-wantSlope) < 1e-9) {
			t.Fatalf("ln r(%g) = %g within %g Ulp with slope %g; of all parts %g within %g Ulp with slope %g",
				z, got, gotErr, slope, want, wantErr, wantSlope)
		}
		if gotErr > wantErr+1 {
			t.Fatalf("error bound %g Ulp, of all parts %g", gotErr, wantErr)
		}
	})
	if fewer == 0 {
		t.Fatal("no part was ever left out")
	}
}
