// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"strings"
	"unicode"
)

// A picture is shown with the reader's own font, which the layout does not know. It measures with
// these widths, in shares of the font's size: each is about what DejaVu Sans has, which is wider
// than most, so that a text seldom needs more room than it is given.
const (
	narrowWidth  = 0.4
	usualWidth   = 0.63 // digits and small letters
	capitalWidth = 0.8
	wideWidth    = 1.0
	boldWider    = 1.1

	narrowLetters = " !'(),./:;[]`fijlrt|·⁰¹²³⁴⁵⁶⁷⁸⁹"
	wideLetters   = "%@MWmw—…"
	firstIdeogram = '\u2e80' // letters from here on are as wide as they are high
)

// letterWidth is how wide a letter of a role's text may be.
func letterWidth(r role, letter rune) float64 {
	wide := usualWidth
	switch {
	case strings.ContainsRune(narrowLetters, letter):
		wide = narrowWidth
	case strings.ContainsRune(wideLetters, letter), letter >= firstIdeogram:
		wide = wideWidth
	case unicode.IsUpper(letter):
		wide = capitalWidth
	}
	if styles[r].bold {
		wide *= boldWider
	}
	return wide * styles[r].size
}

// measure is how wide a text may be.
func measure(r role, s string) (wide float64) {
	for _, letter := range s {
		wide += letterWidth(r, letter)
	}
	return wide
}

// fit shortens a text that is wider than wide, and marks that by "…".
func fit(r role, s string, wide float64) string {
	if measure(r, s) <= wide {
		return s
	}
	wide -= letterWidth(r, '…')
	for i, letter := range s {
		if wide -= letterWidth(r, letter); wide < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
