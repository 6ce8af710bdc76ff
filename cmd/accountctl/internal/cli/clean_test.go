// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
)

// What others wrote must not steer the terminal.
func TestClean(t *testing.T) {
	if got := Clean("a\x1b[31m\tb\u202ec ε"); got != "a [31m b c ε" {
		t.Errorf("%q", got)
	}
}
