// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page that nobody reads to its end helps nobody: what people write by hand, without the proofs of
// docs/math and without the pages that programs write, has a bound.
func TestWordsByHand(t *testing.T) {
	const most = 50_000
	words := 0
	count := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		words += len(strings.Fields(string(text)))
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		count(filepath.Join(root, name))
	}
	for _, pattern := range []string{"*.md", "decisions/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatal(pattern, err)
		}
		for _, page := range pages {
			if page != "cli.md" && page != "mechanisms.md" && page != "conformance.md" {
				count(page)
			}
		}
	}
	t.Logf("%d words by hand", words)
	if words > most {
		t.Errorf("%d words by hand; allowed: %d. Cut what nobody would miss, and link instead of saying it twice",
			words, most)
	}
}
