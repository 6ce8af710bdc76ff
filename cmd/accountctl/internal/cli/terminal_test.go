// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"testing"
)

// Colours only on a terminal, and not against the user's word.
func TestColours(t *testing.T) {
	none := func(string) string { return "" }
	file, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if coloured(&bytes.Buffer{}, none) || coloured(file, none) {
		t.Error("colours without a terminal")
	}
	if terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err == nil {
		defer func() { _ = terminal.Close() }()
		for variable, want := range map[string]bool{"": true, "NO_COLOR": false, "TERM": false} {
			got := coloured(terminal, func(name string) string {
				return map[bool]string{true: "dumb", false: ""}[name == variable]
			})
			if got != want {
				t.Errorf("on a terminal with %q set: %v; want %v", variable, got, want)
			}
		}
	}
}
