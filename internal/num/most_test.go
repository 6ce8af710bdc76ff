// SPDX-License-Identifier: Apache-2.0

package num

import (
	"testing"

	"pgregory.net/rapid"
)

// Most is the largest number.
func TestMost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.OneOf(rapid.Uint64Range(0, 40), rapid.Uint64Range(0, 1<<63-1),
			rapid.Just(uint64(1<<63-1))).Draw(rt, "most")
		got, err := Most(func(n uint64) (bool, error) { return n <= want, nil })
		if got != want || err != nil {
			rt.Fatalf("%d, %v; want %d", got, err, want)
		}
	})
}
