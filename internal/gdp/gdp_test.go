// SPDX-License-Identifier: Apache-2.0

package gdp

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

func compose(t testing.TB, ms ...mechanism.Mechanism) loss.Composition {
	t.Helper()
	var events []mechanism.Event
	for _, m := range ms {
		events = append(events, mechanism.Event{Mechanism: m, Count: 1})
	}
	c, err := mechanism.Compose(mechanism.AddOrRemoveOne, events)
	if err != nil {
		t.Fatal(err)
	}
	l, err := kinds.Compose(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type curveRow struct {
	Mu, Epsilon, Delta, LogDelta, LogOneMinusDelta losstest.Number
}

// encloses fails unless lower ≤ want ≤ upper and both are near it. want itself
// was rounded to float64.
func encloses(t *testing.T, b loss.Bounds, want, relative, absolute float64, what string, args ...any) {
	t.Helper()
	half := 0x1p-53 * math.Abs(want)
	if !(b.Lower <= want+half && want-half <= b.Upper) {
		t.Errorf(what+": [%v, %v] does not hold %v", append(args, b.Lower, b.Upper, want)...)
	}
	if slack := relative*math.Abs(want) + absolute; !(b.Upper-want <= slack && want-b.Lower <= slack) {
		t.Errorf(what+": [%v, %v] is wide around %v: %.3g, %.3g",
			append(args, b.Lower, b.Upper, want, b.Upper-want, want-b.Lower)...)
	}
}

// The curve against the oracle, μ from 1e−6 to 1000, deep tails and ε < 0.
func TestCurveAgainstOracle(t *testing.T) {
	var data struct{ DeltaOfEpsilon, EpsilonOfDelta, EpsilonOfLogDelta []curveRow }
	losstest.Read(t, "testdata/gaussian.json", &data)
	for _, r := range data.DeltaOfEpsilon {
		b, _ := loss.GaussianLogDelta(r.Mu.Value, r.Epsilon.Value)
		encloses(t, b, r.LogDelta.Value, 1e-13, 3e-13, "ln δ(μ=%v, ε=%v)", r.Mu.Value, r.Epsilon.Value)
	}
	for _, r := range data.EpsilonOfLogDelta { // down to ln δ = −10⁶
		b, _ := loss.GaussianLogDelta(r.Mu.Value, r.Epsilon.Value)
		if r.Epsilon.Value > 0 {
			encloses(t, b, r.LogDelta.Value, 1e-13, 1e-12, "ln δ(μ=%v, ε=%v)", r.Mu.Value, r.Epsilon.Value)
		}
	}
	for _, r := range data.EpsilonOfDelta {
		e, reason := Epsilon(compose(t, mechanism.GaussianDP{Mu: r.Mu.Value}), r.Delta.Value)
		if reason != "" {
			t.Fatal(reason)
		}
		encloses(t, e, r.Epsilon.Value, 1e-12, 1e-13, "ε(μ=%v, δ=%v)", r.Mu.Value, r.Delta.Value)
	}
}
