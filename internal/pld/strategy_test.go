// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/pld/contour"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// Few steps of a small rate: the contour alone is wide, with the lattice it is
// no wider than either.
func TestWideContourIsHelpedByTheLattice(t *testing.T) {
	l := pldtest.Losses(t, pldtest.SampledSteps(1e-3, 0.8, 5))
	alone, reason := contour.Epsilon(l, math.Log(1e-5)-1e-15, math.Log(1e-5)+1e-15, Wanted{})
	if reason != "" {
		t.Skip(reason)
	}
	got, reason := Epsilon(l, 1e-5, Wanted{})
	if reason != "" || !(got.Lower <= got.Upper) {
		t.Fatalf("%+v %q", got, reason)
	}
	if !(got.Upper-got.Lower < 1e-2*(alone.Upper-alone.Lower)) {
		t.Errorf("[%v, %v], the contour alone [%v, %v]", got.Lower, got.Upper, alone.Lower, alone.Upper)
	}
}

// A gap that cannot be reached does not make the answer wider than the usual one.
func TestUnreachableGapIsNoWider(t *testing.T) {
	l := pldtest.Losses(t, pldtest.SampledSteps(1e-3, 0.8, 5))
	usual, _ := Epsilon(l, 1e-6, Wanted{})
	got, reason := Epsilon(l, 1e-6, Wanted{Gap: 1e-13})
	if reason != "" || !(got.Lower <= got.Upper && got.Upper-got.Lower <= usual.Upper-usual.Lower) {
		t.Errorf("ε in %+v %q; usually %+v", got, reason, usual)
	}
	usual, _ = LogDelta(l, 0.1, Wanted{})
	got, reason = LogDelta(l, 0.1, Wanted{Gap: 1e-13})
	if reason != "" || !(got.Lower <= got.Upper && got.Upper-got.Lower <= usual.Upper-usual.Lower) {
		t.Errorf("ln δ in %+v %q; usually %+v", got, reason, usual)
	}
}
