// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
)

// Every closed form against the oracle's 30 digits: enclosed, and closely.
func TestClosedFormsAgainstOracle(t *testing.T) {
	var data struct{ Rows []losstest.Workload }
	losstest.Read(t, "testdata/closed.json", &data)
	for _, w := range data.Rows {
		c, err := w.Composition()
		if err != nil {
			t.Errorf("%s: %v", w.Name, err)
			continue
		}
		l, err := kinds.Compose(c)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		low, high := l.InfinityMass()
		for _, r := range w.Truth {
			if r.AskedByEpsilon {
				b, reason := LogDelta(l, r.Epsilon.Value, Wanted{})
				want := math.Inf(-1) // δ = 0 has no logDelta
				if r.LogDelta.Given {
					want = r.LogDelta.Value
				}
				encloses(t, b, want, 1e-11, 1e-9, "%s: ln δ(%v) %s", w.Name, r.Epsilon.Value, reason)
				continue
			}
			b, reason := Epsilon(l, r.Delta.Value, Wanted{})
			if high > 0 && math.Abs(r.Delta.Value/high-1) < 1e-14 {
				// δ and δ_∞ agree in all digits of a float64: ε is anything.
				if !(b.Lower <= r.Epsilon.Value && r.Epsilon.Value <= b.Upper && low < high) {
					t.Errorf("%s: ε(%v) in [%v, %v], want %v", w.Name, r.Delta.Value, b.Lower, b.Upper, r.Epsilon.Value)
				}
				continue
			}
			encloses(t, b, r.Epsilon.Value, 1e-10, 1e-15, "%s: ε(%v) %s", w.Name, r.Delta.Value, reason)
		}
		t.Logf("%s: %d rows %v", w.Name, len(w.Truth), time.Since(start)/time.Duration(len(w.Truth)))
	}
}

// encloses fails unless lower ≤ want ≤ upper and both are near it. want itself
// was rounded to float64.
func encloses(t *testing.T, b loss.Bounds, want, relative, absolute float64, what string, args ...any) {
	t.Helper()
	if math.IsInf(want, 0) {
		if b.Lower != want || b.Upper != want {
			t.Errorf(what+": [%v, %v], want %v", append(args, b.Lower, b.Upper, want)...)
		}
		return
	}
	half := 0x1p-53 * math.Abs(want)
	if !(b.Lower <= want+half && want-half <= b.Upper) {
		t.Errorf(what+": [%v, %v] does not hold %v", append(args, b.Lower, b.Upper, want)...)
	}
	if slack := relative*math.Abs(want) + absolute; !(b.Upper-want <= slack && want-b.Lower <= slack) {
		t.Errorf(what+": [%v, %v] is wide around %v: %.3g, %.3g",
			append(args, b.Lower, b.Upper, want, b.Upper-want, want-b.Lower)...)
	}
}
