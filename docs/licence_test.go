// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLicence looks for the licence's line at the top of every source file that somebody has written.
func TestLicence(t *testing.T) {
	const line = "SPDX-License-Identifier: Apache-2.0"
	seen := 0
	if err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); len(name) > 2 && name[0] == '.' ||
				slices.Contains([]string{"testdata", "node_modules", "gen", "dist", "build", "_site"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".proto", ".py", ".sh"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		top := string(text[:min(len(text), 400)])
		if !strings.Contains(top, line) && !strings.Contains(strings.ToLower(top), "generated") &&
			strings.TrimSpace(top) != "" {
			t.Errorf("%s has no line %q at its top", path, line)
		}
		seen++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if seen < 1000 {
		t.Errorf("%d files were looked at", seen)
	}
}
