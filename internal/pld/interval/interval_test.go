// SPDX-License-Identifier: Apache-2.0

package interval

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
)

// Intervals that both hold are cut with each other; a refusal leaves the other;
// a contradiction leaves the wider one.
func TestBothNeverTightensBeyondEitherProof(t *testing.T) {
	for _, x := range []struct {
		a, b, want loss.Bounds
		noA, noB   string
		refused    bool
	}{
		{a: loss.Bounds{Lower: 1, Upper: 4}, b: loss.Bounds{Lower: 2, Upper: 5}, want: loss.Bounds{Lower: 2, Upper: 4}},
		{noA: "slow", b: loss.Bounds{Lower: 2, Upper: 5}, want: loss.Bounds{Lower: 2, Upper: 5}},
		{a: loss.Bounds{Lower: 1, Upper: 4}, noB: "no pair", want: loss.Bounds{Lower: 1, Upper: 4}},
		{a: loss.Bounds{Lower: 1, Upper: 2}, b: loss.Bounds{Lower: 3, Upper: 4}, want: loss.Bounds{Lower: 1, Upper: 4}},
		{noA: "slow", noB: "no pair", refused: true},
	} {
		got, reason := Both(x.a, x.noA, x.b, x.noB)
		if (reason != "") != x.refused || !x.refused && got != x.want {
			t.Errorf("%+v: %+v %q", x, got, reason)
		}
	}
}

// An upper end at infinity is never close enough.
func TestReached(t *testing.T) {
	inf := math.Inf(1)
	for b, want := range map[loss.Bounds]bool{
		{Lower: 2, Upper: inf}: false, {Lower: inf, Upper: inf}: true, {Lower: 0, Upper: 1e-7}: true,
		{Lower: 0, Upper: 1e-5}: false,
	} {
		if got := (Wanted{}).Reached(true, b); got != want {
			t.Errorf("%+v: %v", b, got)
		}
	}
}
