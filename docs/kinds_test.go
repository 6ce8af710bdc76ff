// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// What CONTRIBUTING says one has to write for a new kind is all there is. Every kind is named in
// the files of every row of its table, and no other file names more than half of the kinds: such
// a file would ask for a new kind, too. Tests, and packages for tests, are not looked at.
func TestPlacesOfAKind(t *testing.T) {
	rows := placesOfAKind(t)
	kinds := mechanism.Kinds()
	in := map[string]map[string]bool{} // the kinds that are named in the files of a row
	for _, row := range rows {
		in[row] = map[string]bool{}
	}
	for file, words := range handWritten(t) {
		row := slices.IndexFunc(rows, func(row string) bool { ok, _ := filepath.Match(row, file); return ok })
		var named []string
		for _, k := range kinds {
			if words[k.Name] && strings.Contains(k.Name, "_") || words[descriptor(k)] ||
				strings.HasSuffix(file, "/"+k.Name+".json") ||
				strings.HasSuffix(file, ".proto") && words[k.Name] {
				named = append(named, k.Name)
			}
		}
		if row < 0 && len(named) > len(kinds)/2 {
			t.Errorf("%s names %d of %d kinds, so that a new one is probably needed there, too; "+
				"CONTRIBUTING's table of what to write for a new kind does not say so", file, len(named), len(kinds))
		}
		for i, r := range rows {
			if ok, _ := filepath.Match(r, file); ok {
				for _, name := range named {
					in[rows[i]][name] = true
				}
			}
		}
	}
	for _, row := range rows {
		for _, k := range kinds {
			// these have the losses of what they consist of
			if !in[row][k.Name] && (row != "internal/loss/*/*.go" || k.Name != "composed" && k.Name != "dp_sgd") {
				t.Errorf("CONTRIBUTING says that every kind is named in %s; %s is not", row, k.Name)
			}
		}
	}
}

// descriptor is the name of the kind's type in package mechanism.
func descriptor(k *mechanism.Kind) string { return strings.TrimPrefix(k.Type().String(), "mechanism.") }

// handWritten returns the words of every file that people write for the programs.
func handWritten(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, folder := range []string{"cmd", "client", "internal", "proto", "examples"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test") {
					return filepath.SkipDir
				}
				return nil
			}
			if !slices.Contains([]string{".go", ".proto", ".json"}, filepath.Ext(path)) ||
				strings.HasSuffix(path, "_test.go") || d.Name() == "openapi.json" { // made by `make generate`
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil || strings.HasPrefix(string(text), "// Code generated") {
				return err
			}
			file, err := filepath.Rel(root, path)
			words := map[string]bool{}
			for _, w := range strings.FieldsFunc(string(text),
				func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
				words[w] = true
			}
			all[filepath.ToSlash(file)] = words
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// placesOfAKind reads the first column of CONTRIBUTING's table.
func placesOfAKind(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## Adding a mechanism\n")
	if !found {
		t.Fatal("CONTRIBUTING.md has no section on adding a mechanism")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^[|] `([^`]+)` [|]").FindAllStringSubmatch(section, -1) {
		rows = append(rows, row[1])
	}
	if len(rows) == 0 || len(rows) > 5 {
		t.Fatalf("%d files for a new kind, of which 5 are the most there may be: %v", len(rows), rows)
	}
	return rows
}
