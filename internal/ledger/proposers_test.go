// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"

	"pgregory.net/rapid"
)

// A count is a map from people to numbers, and one that is kept never changes.
func TestCountIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "ann", "uid:1"}), 0, 40).Draw(t, "names")
		var counts []proposers
		for i := range len(names) + 1 {
			c := proposers{}
			if i > 0 {
				c = counts[i-1].and(names[i-1])
			}
			counts = append(counts, c)
		}
		for i, c := range counts {
			want := map[string]int{}
			for _, name := range names[:i] {
				want[name]++
			}
			for _, name := range append(names, "nobody") {
				if got := c.by(name); got != want[name] {
					t.Fatalf("after %q: %q has made %d; want %d", names[:i], name, got, want[name])
				}
			}
			if c.All != i {
				t.Fatalf("after %q: %d; want %d", names[:i], c.All, i)
			}
		}
	})
}
