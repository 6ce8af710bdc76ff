package cli

import (
	"testing"
)

func TestCell(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"stopped early", "stopped early"}, {"a=b", "a=b"},
		{`=HYPERLINK("http://x","y")`, `'=HYPERLINK("http://x","y")`}, {"+1", "'+1"}, {"-1", "'-1"},
		{"@SUM(A1)", "'@SUM(A1)"},
		{"\t=1", "'\t=1"}, {"\r=1", "'\r=1"}, {"\u009b31mred", `\u009b31mred`}, {"\x1b[2J", `\u001b[2J`},
		{"two\nlines", "two\nlines"}, {"\u202egnp", `\u202egnp`}, {"é", "é"},
	} {
		if got := Cell(c.in); got != c.want {
			t.Errorf("cell(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// What others wrote must not steer the terminal.
func TestClean(t *testing.T) {
	if got := Clean("a\x1b[31m\tb\u202ec ε"); got != "a [31m b c ε" {
		t.Errorf("%q", got)
	}
}
