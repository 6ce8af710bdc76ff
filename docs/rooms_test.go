// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/dpaccountant/accountant/"

// law is what the two tables of ARCHITECTURE.md say.
type law struct {
	uses   map[string][]string // of each room; "everything" for all
	guards []guard
}

// guard is a row of the second table.
type guard struct {
	rooms    []string
	but      bool // all others, instead of them
	packages []string
}

var coded = regexp.MustCompile("`([^`]+)`")

// names returns what a cell has in backquotes, and rooms with their whole path.
func names(cell string, rooms bool) (list []string) {
	for _, m := range coded.FindAllStringSubmatch(cell, -1) {
		name := m[1]
		if rooms {
			if rest, ok := strings.CutPrefix(name, "/"); ok {
				name = rest
			} else {
				name = "internal/" + name
			}
		}
		list = append(list, name)
	}
	return list
}

func readLaw(t *testing.T) law {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tables, found := strings.Cut(string(text), "## The rooms\n")
	tables, _, ends := strings.Cut(tables, "\n## ")
	l := law{uses: map[string][]string{}}
	for _, line := range strings.Split(tables, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		switch {
		case !strings.HasPrefix(line, "| "), strings.HasPrefix(line, "| room "), strings.HasPrefix(line, "| only "):
		case len(cells) == 3:
			uses := names(cells[2], true)
			if strings.TrimSpace(cells[2]) == "everything" {
				uses = []string{"everything"}
			}
			for _, room := range names(cells[0], true) {
				l.uses[room] = uses
			}
		case len(cells) == 2:
			l.guards = append(l.guards, guard{names(cells[0], true), strings.Contains(cells[0], "all but"),
				names(cells[1], false)})
		default:
			t.Errorf("%d cells: %s", len(cells), line)
		}
	}
	if !found || !ends || len(l.uses) < 30 || len(l.guards) < 5 {
		t.Fatalf("%d rooms and %d guards in ARCHITECTURE.md", len(l.uses), len(l.guards))
	}
	return l
}

// within reports whether a path is a folder or below it.
func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// room returns the longest room that a package's path begins with.
func (l law) room(path string) (longest string) {
	for room := range l.uses {
		if within(path, room) && len(room) > len(longest) {
			longest = room
		}
	}
	return longest
}

// broken says which rule the import of a package by another breaks, or nothing.
func (l law) broken(by, imported string) string {
	if path, ours := strings.CutPrefix(imported, module); ours {
		from, to := l.room(by), l.room(path)
		uses := l.uses[from]
		if to == "" {
			return "it is in no room"
		}
		if !within(to, from) && !slices.Contains(uses, to) && !slices.Equal(uses, []string{"everything"}) {
			return "the room " + from + " may use " + strings.Join(uses, ", ")
		}
		return ""
	}
	for _, g := range l.guards {
		listed := slices.ContainsFunc(g.rooms, func(room string) bool { return within(by, room) })
		named := slices.ContainsFunc(g.packages, func(p string) bool { return within(imported, p) })
		if named && listed == g.but {
			return "see the second table"
		}
	}
	return ""
}

// forTests reports whether only tests use a package.
func forTests(path string) bool { return strings.HasSuffix(path, "test") || path == "internal/testaid" }

// Imports follow the tables of ARCHITECTURE.md, which name every room that there is.
func TestRooms(t *testing.T) {
	l := readLaw(t)
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		own := name == "tools" && filepath.Dir(path) == root // modules of their own
		hidden := strings.HasPrefix(name, ".") && name != ".." || strings.HasPrefix(name, "_")
		if d.IsDir() && (own || hidden || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		by := filepath.ToSlash(relative)
		if forTests(by) || by == "." {
			return nil
		}
		room := l.room(by)
		if room == "" {
			t.Errorf("%s: in no room of ARCHITECTURE.md", by)
		}
		seen[room] = true
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if forTests(strings.TrimPrefix(imported, module)) {
				t.Errorf("%s imports %s: only tests may", path, imported)
			} else if why := l.broken(by, imported); why != "" {
				t.Errorf("%s imports %s: %s", path, imported, why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room, uses := range l.uses {
		if !seen[room] {
			t.Errorf("ARCHITECTURE.md: room %s has no code", room)
		}
		for _, used := range uses {
			if _, there := l.uses[used]; !there && used != "everything" {
				t.Errorf("ARCHITECTURE.md: room %s may use %s, which is no room", room, used)
			}
		}
	}
}

// What the tables forbid is found.
func TestBrokenRooms(t *testing.T) {
	l := readLaw(t)
	for _, c := range []struct {
		by, imported string
		allowed      bool
	}{
		{"internal/num", module + "internal/mechanism", false},
		{"internal/mechanism/table", module + "internal/num", true},
		{"internal/persist/pages", module + "internal/persist/rows", false},
		{"internal/persist/book", module + "internal/persist/rows", true},
		{"internal/rdp", module + "internal/zcdp", false},
		{"client", module + "internal/keeper", false},
		{"cmd/accountctl/internal/costs", module + "internal/theorem", true},
		{"internal/server", module + "internal/nowhere", false},
		{"internal/persist/roots", "go.etcd.io/bbolt", true},
		{"internal/server/overview", "go.etcd.io/bbolt", false},
		{"internal/persist", "github.com/jackc/pgx/v5", false},
		{"internal/wire/questions", "google.golang.org/grpc/status", false},
		{"internal/ledger/share", "os", false},
		{"internal/keeper", "os", true},
	} {
		if why := l.broken(c.by, c.imported); (why == "") != c.allowed {
			t.Errorf("%s imports %s: %q", c.by, c.imported, why)
		}
	}
}
