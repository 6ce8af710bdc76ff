package cli

import (
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/internal/plain"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// Clean keeps text that others wrote from breaking the table or steering the
// terminal.
func Clean(s string) string { return plain.Text(s) }

// Cell makes text that others wrote harmless in a csv file: a spreadsheet takes none of
// it for a formula, and no terminal is steered by it.
func Cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		s = "'" + s
	}
	var b strings.Builder
	for _, r := range s {
		if wirejson.Steers(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
