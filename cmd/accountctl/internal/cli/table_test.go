// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func tableAt(columns string, rows ...[]any) string {
	var out bytes.Buffer
	p := NewProgram(func(name string) string { return map[string]string{"COLUMNS": columns}[name] }, nil, &out, nil)
	t := p.Table()
	for _, r := range rows {
		t.Row(r...)
	}
	if t.Flush() != nil || p.Out.Flush() != nil {
		panic("no error is possible here")
	}
	return out.String()
}

func TestTableWraps(t *testing.T) {
	rows := [][]any{{"epsilon", "≤ 2.5", "at delta 1e-06"},
		{"guarantee", "plan", "holds for the whole plan, in any order"}, {"", "≥ 2.4"}}
	const unbroken = "epsilon    ≤ 2.5  at delta 1e-06\n" +
		"guarantee  plan   holds for the whole plan, in any order\n           ≥ 2.4\n"
	for columns, want := range map[string]string{
		"": unbroken,
		"42": "epsilon    ≤ 2.5  at delta 1e-06\nguarantee  plan   holds for the whole\n" +
			"                  plan, in any order\n           ≥ 2.4\n",
		"12": unbroken, // too narrow to wrap
	} {
		if got := tableAt(columns, rows...); got != want {
			t.Errorf("%s columns:\n%s\nwant\n%s", columns, got, want)
		}
	}
}

// Rows whose last cells are empty leave the columns below them where they are.
func TestTableKeepsColumns(t *testing.T) {
	got := tableAt("", []any{"NAME", "ENTRIES", "LAST", "FLAGS"}, []any{"a", 0, "", ""},
		[]any{"b", 1, "today", "reserved"})
	const want = "NAME  ENTRIES  LAST   FLAGS\na     0\nb     1        today  reserved\n"
	if got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

// Wrapping loses no word, and no line is wider than asked for unless a single word is.
func TestTableWrapsAnything(t *testing.T) {
	word := rapid.StringMatching(`[a-zε≤]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		var rows [][]any
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			last := strings.Join(rapid.SliceOfN(word, 1, 40).Draw(t, "last"), " ")
			rows = append(rows, []any{word.Draw(t, "first"), last})
		}
		plain, wrapped := tableAt("", rows...), tableAt("60", rows...)
		if strings.Join(strings.Fields(plain), " ") != strings.Join(strings.Fields(wrapped), " ") {
			t.Fatalf("%q became %q", plain, wrapped)
		}
		for line := range strings.Lines(wrapped) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 60 {
				t.Fatalf("%d columns: %q", n, line)
			}
		}
	})
}

// A principal is shortened before its name, never in it.
func TestShortName(t *testing.T) {
	for principal, want := range map[string]string{
		"uid:1000": "uid:1000", "unverified:ann": "unver…:ann", "oidc:https://issuer.example.org#ann": "oidc:…#ann",
		"cn:a-very-long-name": "cn:…:a-very-long-name", "system": "system",
	} {
		p := &Program{width: 60}
		if got := p.ShortName(principal, 10); got != want {
			t.Errorf("%s: %s; want %s", principal, got, want)
		}
		if got := (&Program{}).ShortName(principal, 10); got != principal {
			t.Errorf("%s: %s where there is room", principal, got)
		}
	}
}
