// SPDX-License-Identifier: Apache-2.0

package rows

import "testing"

// A key was replaced if another one came after it for the last time; a restore binds to no key, and replaces none.
func TestReplaced(t *testing.T) {
	for _, c := range []struct {
		keys string // a letter each; "." is a restore
		want string // those that were replaced
	}{
		{"", ""}, {"a", ""}, {".", ""}, {"ab", "a"}, {"a.", ""}, {"ab.", "a"}, {"a.b", "a"}, {".ab", "a"},
		{"abc", "ab"}, {"ab.c.", "ab"},
		{"aba", "b"}, // bound so by a version that did not refuse it
	} {
		var keys []BoundKey
		for _, letter := range []byte(c.keys) {
			var k BoundKey
			if letter != '.' {
				k.Fingerprint[0] = letter
			}
			keys = append(keys, k)
		}
		found := ""
		for _, letter := range []byte("abcd") {
			if Replaced(keys, [32]byte{letter}) {
				found += string(letter)
			}
		}
		if found != c.want {
			t.Errorf("%q: %q were replaced; want %q", c.keys, found, c.want)
		}
	}
}
