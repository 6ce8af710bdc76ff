// SPDX-License-Identifier: Apache-2.0

package version

import (
	"os"
	"strings"
	"testing"
)

// TestOneNumber compares the version with the Python package's.
func TestOneNumber(t *testing.T) {
	text, err := os.ReadFile("../../python/src/privacy_accountant/_version.py")
	if err != nil {
		t.Fatal(err)
	}
	if want := "__version__ = \"" + number + "\"\n"; !strings.HasSuffix(string(text), want) {
		t.Errorf("_version.py ends with %q; want %q", text, want)
	}
}
