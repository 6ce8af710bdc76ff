// SPDX-License-Identifier: Apache-2.0

// Package docs_test checks what the documentation refers to.
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
)

const root, mathPages = "..", "../docs/math"

// page is what can be referred to in a Markdown file.
type page struct {
	text    string
	numbers map[string]bool // "1.4.2" of the heading "### 1.4.2 Discrete Gaussian"
	anchors map[string]bool // what GitHub makes of the headings
}

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	numbered = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)*)\.? `)
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

func readPage(t *testing.T, path string) page {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := page{fenced.ReplaceAllString(string(text), ""), map[string]bool{}, map[string]bool{}}
	for _, h := range heading.FindAllStringSubmatch(p.text, -1) {
		if n := numbered.FindStringSubmatch(h[1]); n != nil {
			below := strings.HasPrefix(h[0], "###") // titles and chapters repeat their number
			if below && p.numbers[n[1]] && strings.HasPrefix(path, mathPages) {
				t.Errorf("%s has two sections with the number %s", path, n[1])
			}
			p.numbers[n[1]] = true
		}
		p.anchors[anchor(h[1])] = true
	}
	return p
}

// anchor is the fragment that GitHub gives a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// files calls visit with every file of the repository that has one of the endings.
func files(t *testing.T, visit func(path, text string), endings ...string) {
	t.Helper()
	skipped := []string{"node_modules", "bin", "build", "dist", "data", "_site"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skipped, d.Name())):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(endings, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			visit(path, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A reference such as "docs/math/curves.md §4.3", in code or in a document, also over the
// end of a comment's line, leads to a page that has a heading with that number.
func TestReferencesToMathLead(t *testing.T) {
	cited := regexp.MustCompile(`\bmath/([A-Za-z-]+)\.md(?:\]\([^)]*\))?(?:,?\s+(?:(?://|#) )?§([0-9]+(?:\.[0-9]+)*))?`)
	found := 0
	files(t, func(path, text string) {
		for _, c := range cited.FindAllStringSubmatch(text, -1) {
			found++
			target := filepath.Join(mathPages, c[1]+".md")
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s cites docs/math/%s.md: there is no such page; docs/math/README.md lists them", path, c[1])
			} else if c[2] != "" && !readPage(t, target).numbers[c[2]] {
				t.Errorf("%s cites docs/math/%s.md §%s: that page has no such heading; docs/math/README.md says "+
					"where each number is",
					path, c[1], c[2])
			}
		}
		if strings.Contains(text, "docs/math"+".md") && path != filepath.Join(mathPages, "README.md") {
			t.Errorf("%s cites docs/math%s, which is the folder docs/math now: name the page", path, ".md")
		}
	}, ".go", ".md", ".proto", ".py", ".pyi", ".txtar", ".tmpl")
	if found < 100 {
		t.Errorf("only %d references were found: is this test looking in the right place?", found)
	}
}

// Links between Markdown files lead to files, and to headings, that exist.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]*))?\)`)
	inline := regexp.MustCompile("`[^`\n]*`\\(|\\$[^$\n]*\\$")
	files(t, func(path, _ string) {
		for _, l := range link.FindAllStringSubmatch(inline.ReplaceAllString(readPage(t, path).text, ""), -1) {
			if strings.Contains(l[1], "://") || strings.HasPrefix(l[1], "mailto:") {
				continue
			}
			target := path
			if l[1] != "" {
				target = filepath.Join(filepath.Dir(path), l[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, l[1])
			} else if l[2] != "" && filepath.Ext(target) == ".md" && !readPage(t, target).anchors[l[2]] {
				t.Errorf("%s links to %s#%s: that page has no such heading", path, l[1], l[2])
			}
		}
	}, ".md")
}

var used = regexp.MustCompile("\\[`([^`]+)`\\]\\(([^)]+\\.go)\\)")

// What a page of mathematics is used in is declared in the file that the page links to.
func TestMathIsUsedWhereItSays(t *testing.T) {
	where := map[string][]string{}
	files(t, func(path, _ string) { where[filepath.Base(path)] = append(where[filepath.Base(path)], path) }, ".go")
	files(t, func(path, text string) {
		if filepath.Dir(path) != filepath.Clean(mathPages) {
			return
		}
		for _, u := range used.FindAllStringSubmatch(text, -1) {
			name := u[1][strings.LastIndex(u[1], ".")+1:]
			code, err := os.ReadFile(filepath.Join(mathPages, u[2]))
			if err != nil {
				t.Errorf("%s: %s is said to be in %s, which does not exist; files of that name: %v", path, u[1], u[2],
					where[filepath.Base(u[2])])
			} else if !regexp.MustCompile(`\b` + name + `\b`).Match(code) {
				t.Errorf("%s: %s is said to be in %s, which does not have it", path, u[1], u[2])
			}
		}
	}, ".md")
}

// Code that a page of mathematics names cites a page of mathematics, so that the way
// leads back.
func TestUsesOfMathCiteIt(t *testing.T) {
	files(t, func(path, text string) {
		for _, u := range used.FindAllStringSubmatch(text, -1) {
			code, err := os.ReadFile(filepath.Join(filepath.Dir(path), u[2]))
			if err == nil && filepath.Dir(path) == filepath.Clean(mathPages) && !strings.HasSuffix(u[2], "_test.go") &&
				!strings.Contains(string(code), "docs/math/") {
				t.Errorf("%s says that %s in %s relies on it, but no comment there cites docs/math/%s",
					path, u[1], u[2], filepath.Base(path))
			}
		}
	}, ".md")
}

// Formulas have nothing that GitHub takes for Markdown before it sees a formula.
func TestFormulasSurviveMarkdown(t *testing.T) {
	fragile := regexp.MustCompile(`\\[,;!{}\\]|\*|[^A-Za-z0-9]_|<[A-Za-z]`)
	displays := 0
	files(t, func(path, text string) {
		if filepath.Dir(path) != filepath.Clean(mathPages) {
			return
		}
		parts := strings.Split(text, "\n$$\n")
		if len(parts)%2 == 0 {
			t.Errorf("%s: a $$ without its pair", path)
		}
		for i := 1; i < len(parts); i += 2 {
			displays++
			if f := fragile.FindString(parts[i]); f != "" {
				t.Errorf("%s: %q in a formula is taken for Markdown: %s", path, f, parts[i])
			}
			if between := parts[i-1]; between != "" && !strings.HasSuffix(between, "\n") {
				t.Errorf("%s: no empty line before the formula %s", path, parts[i])
			}
			if after := parts[i+1]; after != "" && !strings.HasPrefix(after, "\n") {
				t.Errorf("%s: no empty line after the formula %s", path, parts[i])
			}
		}
	}, ".md")
	if displays < 100 {
		t.Errorf("only %d formulas were found: is this test looking in the right place?", displays)
	}
}
