// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every way to move coordinates is at most one that is listed, in each coordinate, and none that is listed is at
// most another one.
func TestWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		squared, coordinates := rapid.IntRange(1, 20).Draw(t, "d²"), rapid.IntRange(1, 6).Draw(t, "coordinates")
		listed, ok := ways(squared, coordinates)
		if !ok {
			t.Fatal("too many")
		}
		below := func(a, b []int) bool { // a falls, and so does b
			for i, v := range a {
				if i >= len(b) || v > b[i] {
					return false
				}
			}
			return true
		}
		var all func(so []int, left int)
		all = func(so []int, left int) {
			if !slices.ContainsFunc(listed, func(w []int) bool { return below(so, w) }) {
				t.Fatalf("%v is below none of %v", so, listed)
			}
			for a := 1; a*a <= left && len(so) < coordinates; a++ {
				if len(so) == 0 || a <= so[len(so)-1] {
					all(append(slices.Clone(so), a), left-a*a)
				}
			}
		}
		all(nil, squared)
		for i, a := range listed {
			for j, b := range listed {
				if i != j && below(a, b) {
					t.Fatalf("%v is below %v", a, b)
				}
			}
		}
	})
}
