// SPDX-License-Identifier: Apache-2.0

// Package plain makes text that others wrote harmless to show.
package plain

import (
	"strings"
	"unicode"
)

// Text keeps text that others wrote from breaking a table, steering a terminal, or turning the
// direction in which a line is read: what is not printed becomes a space.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}
