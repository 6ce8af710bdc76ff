// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every line of the help fits a terminal, and the flags that most daemons need stand first.
func TestHelp(t *testing.T) {
	root := newCommand(nil, func(context.Context, settings) error { return nil })
	for _, flag := range common {
		if root.Flags().Lookup(flag) == nil {
			t.Errorf("--%s is among the common flags, and there is none", flag)
		}
	}
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		// pflag does not break some words.
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns+3 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	first, others, found := strings.Cut(out.String(), "All other flags:")
	if !found || !strings.Contains(first, "--data directory") || !strings.Contains(others, "--scrub-rate") {
		t.Errorf("the help begins with\n%s", first)
	}
}
