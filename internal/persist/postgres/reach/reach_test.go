// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"strings"
	"testing"
	"time"
)

// An address that cannot be read is refused in words, and no part of a password is shown.
func TestParseRefuses(t *testing.T) {
	for _, url := range []string{
		"postgres://bob@localhost:99999/db",
		"postgres://bob@localhost:5432/db?pool_max_conns=0",
		"postgres://bob:hunter/2secret@localhost:5432/db",
		"postgres://bob:hunter2@localhost:5432/db",
		"postgres://bob@localhost:5432/db?password=hunter2",
		"postgres://bob@localhost:5432/db?sslpassword=hunter2",
		"postgres://bob@localhost:5432/db?sslkey=/missing&sslcert=/missing&sslpassword=hunter2",
	} {
		_, err := Address{URL: url}.Parse(time.Second)
		if err == nil || strings.Contains(err.Error(), "%!") || strings.Contains(err.Error(), "hunter") ||
			!strings.Contains(err.Error(), "allowed") {
			t.Errorf("%s: %v; want what is allowed, and no password", url, err)
		}
	}
}
