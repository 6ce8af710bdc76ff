// SPDX-License-Identifier: Apache-2.0

package share

import (
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// What a child may take in each ledger would break the sum that its parent has over all.
func TestChildKeepsTheRuleOfItsParent(t *testing.T) {
	t.Parallel()
	parent := ledger.View{Summary: ledger.Summary{Genesis: ledger.Genesis{Spec: ledger.Spec{Name: "parent",
		Policy: ledger.Planned, OverAllOnly: true}}}}
	for child, want := range map[bool]string{false: "over_all_only: false; allowed: true, the parent's", true: ""} {
		err := mayHave(parent, ledger.Spec{Name: "child", Policy: ledger.Planned, Parent: "parent", OverAllOnly: child})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a child with over_all_only %v: %v; want %q", child, err, want)
		}
	}
}
