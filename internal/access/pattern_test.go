// SPDX-License-Identifier: Apache-2.0

package access

import (
	"testing"

	"pgregory.net/rapid"
)

// dumb is matches as its comment says it, with every way to use a star.
func dumb(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	width, stops := 1, "/#"
	if len(pattern) > 1 && pattern[:2] == "**" {
		width, stops = 2, "#"
	}
	if pattern[0] != '*' {
		return text != "" && text[0] == pattern[0] && dumb(pattern[1:], text[1:])
	}
	for i := 0; ; i++ {
		if dumb(pattern[width:], text[i:]) {
			return true
		}
		if i == len(text) || text[i] == stops[0] || text[i] == stops[len(stops)-1] {
			return false
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune("ab/#*")), 0, 8, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aab/#*")), 0, 9, -1).Draw(t, "text")
		if got, want := matches(pattern, text), dumb(pattern, text); got != want {
			t.Errorf("matches(%q, %q) = %v, want %v", pattern, text, got, want)
		}
	})
}
