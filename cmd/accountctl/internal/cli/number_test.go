// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"math"
	"strings"
	"testing"
)

// Whole numbers are read as programs write them, and exactly; whatever is no whole number is refused.
func TestWhole(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "60000": 60000, "60_000": 60000, "6e4": 60000, "6E+4": 60000, "6.5e4": 65000, "1_000e3": 1e6, "010": 10,
		"18446744073709551615": math.MaxUint64, "9007199254740993": 1<<53 + 1, "9.007199254740993e15": 1<<53 + 1,
	} {
		if got, err := Whole(text, 64); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1.5", "15e-1", "1e0.5", "_1", "1_", "1__0", "-1", "1e99", "0x10", "60,000",
		"1 000", "18446744073709551616", "2e19", "60.000", "1.000",
		"1.234.567", "1e-5", "∞"} {
		if got, err := Whole(text, 64); err == nil {
			t.Errorf("%q: %d; want an error", text, got)
		}
	}
	if got, err := Whole("5e9", 32); err == nil {
		t.Errorf("5e9 in 32 bits: %d; want an error", got)
	}
	if got, err := Real("60_000.5"); err != nil || got != 60000.5 {
		t.Errorf("%g, %v", got, err)
	}
}

// A comma is answered with a number that the next command takes.
func TestHintOfCommas(t *testing.T) {
	for _, c := range []struct{ text, allowed, want string }{
		{"60,000", "allowed: a whole number", "; write 60000"},
		{"1,234,567", "allowed: a whole number", "; write 1234567"},
		{"60,5", "allowed: a whole number", ""},
		{"10.000", "allowed: a whole number from 1 to 4294967295", "; write 10000 or 10"},
		{"1.234.567", "allowed: a number", "; write 1234567"},
		{"60k", "allowed: a whole number", "; write 60e3"},
		{"10^-6", "allowed: a number", "; write 1e-6"},
		{"1/60000", "allowed: a number", "; write 1.667e-05"},
		{"60,000", "allowed: a number", "; write 60000 or 60.000"},
		{"1,234,567", "allowed: a number", "; write 1234567"},
		{"0,001", "allowed: a number", "; write 0.001, with a point"},
		{"1,5", "allowed: a number", "; write 1.5, with a point"},
	} {
		got := Hint(c.text, c.allowed)
		if got != c.want {
			t.Errorf("%q, %s: %q; want %q", c.text, c.allowed, got, c.want)
		}
		for word := range strings.FieldsSeq(strings.TrimPrefix(got, "; write ")) {
			if _, err := Real(strings.Trim(word, ",")); err != nil && word != "or" && word != "with" && word != "a" &&
				word != "point" {
				t.Errorf("%q: the advice %q is refused", c.text, word)
			}
		}
	}
}
