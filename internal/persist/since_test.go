// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"fmt"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Large entries are told in several parts, as a segment of an archive is read in memory as a whole.
func TestSinceInParts(t *testing.T) {
	t.Parallel()
	const third = sinceBytes / 3
	for _, c := range []struct{ sizes, want []int }{
		{nil, []int{0}},
		{[]int{third}, []int{1}},
		{[]int{third, third, third, third}, []int{3, 1}},
		{[]int{4 * third, 1, 4 * third, 4 * third}, []int{1, 1, 1, 1}},
		{[]int{1, third, third, third, 4 * third}, []int{4, 1}},
	} {
		list := make([]ledger.Record, len(c.sizes))
		for i, n := range c.sizes {
			list[i].Raw = make([]byte, n)
		}
		var got []int
		for _, part := range parts(list) {
			got = append(got, len(part))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: %v, want %v", c.sizes, got, c.want)
		}
	}
}
