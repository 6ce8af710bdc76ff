// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/losstest"
)

// exact names the workloads whose answer is the truth to rounding: Gaussians, a
// single Laplace release, randomized response and pure-DP groups.
var exact = map[string]bool{
	"gaussian-1": true, "gaussian-sensitivity": true, "gaussian-replace-one": true, "gaussian-10000": true,
	"gaussian-mixed-sigmas": true, "laplace-1": true, "randomized-response-100": true, "pure-dp-50": true,
}

// tolerance is the reference's own: its relative error is at most 1e−10.
const tolerance = 2e-10

// No answer is below the reference, and the exact ones equal it.
func TestReferenceWorkloads(t *testing.T) {
	var workloads []losstest.Workload
	losstest.Read(t, "testdata/workloads.json", &workloads)
	seen := 0
	for _, w := range workloads {
		c, err := w.Composition()
		if err != nil {
			t.Fatalf("%s: %v", w.Name, err)
		}
		for _, r := range w.Truth {
			q, want := AtDelta(r.Delta.Value), r.Epsilon.Value
			if r.AskedByEpsilon {
				q, want = AtEpsilon(r.Epsilon.Value), r.Delta.Value
			}
			a, err := Ask(c, q)
			if err != nil {
				t.Fatalf("%s: %v", w.Name, err)
			}
			got, lower := a.Epsilon, a.EpsilonLower
			if r.AskedByEpsilon {
				got, lower = a.Delta, a.DeltaLower
			}
			if got < want*(1-tolerance) {
				t.Errorf("%s at %+v: %v is below the truth %v", w.Name, r, got, want)
			}
			if lower != nil && *lower > want*(1+tolerance) {
				t.Errorf("%s at %+v: lower bound %v is above the truth %v", w.Name, r, *lower, want)
			}
			if exact[w.Name] {
				if math.Abs(got/want-1) > 1e-9 {
					t.Errorf("%s at %+v: %v, want %v", w.Name, r, got, want)
				}
				if lower == nil || *lower < want*(1-1e-9) {
					t.Errorf("%s at %+v: lower bound %v is not near %v", w.Name, r, lower, want)
				}
			}
			for _, x := range a.Analyses {
				if x.Unsupported == "" &&
					(r.AskedByEpsilon && x.Delta < want*(1-tolerance) ||
						!r.AskedByEpsilon && x.Epsilon < want*(1-tolerance)) {
					t.Errorf("%s at %+v: %s says %+v, below the truth %v", w.Name, r, x.Analysis, x, want)
				}
			}
			t.Logf("%-24s ask ε=%v given %v: truth %.10g, %s %.10g (%+.2g)", w.Name, !r.AskedByEpsilon,
				*firstOf(q.Delta, q.Epsilon), want, a.Analysis, got, got/want-1)
		}
		if exact[w.Name] {
			seen++
		}
	}
	if seen != len(exact) {
		t.Errorf("%d of %d exact workloads seen", seen, len(exact))
	}
}

func firstOf(a, b *float64) *float64 {
	if a != nil {
		return a
	}
	return b
}
