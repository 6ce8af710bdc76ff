// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"

	"pgregory.net/rapid"
)

// After parts the names before the range from those in it and after it, and IsBefore those after it.
func TestRange(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[a-c0-2./_-]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringMatching(`[a-c0-2./_-]{1,2}`).Draw(t, "prefix")
		r := NameRange{Prefix: prefix, First: text.Draw(t, "first"), Last: text.Draw(t, "last")}
		name := prefix + text.Draw(t, "name")
		if above := name > r.After(); above != (name >= r.Prefix+r.First) {
			t.Errorf("%q after %q: %t, of the range %v", name, r.After(), above, r)
		}
		if is := name > r.After() && !r.IsBefore(name); is != r.Contains(name) {
			t.Errorf("%q in the range %v: %t", name, r, r.Contains(name))
		}
	})
	for _, name := range []string{JournalName(3), "dataset:survey", "system:access"} {
		if (NameRange{Prefix: name[:1]}).Contains(name) {
			t.Errorf("%s is in a range, and no user gave this name", name)
		}
	}
}
