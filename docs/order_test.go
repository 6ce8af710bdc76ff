// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// This file is the law of a package. It has no bound on how long a package may be. Instead:
//
//   - A package can be read from the bottom. A file uses another one if it names a function, method, type, constant or
//     variable that the other declares; each such name counts once a file. The files are put in the order in which the
//     fewest uses run back up, that is from a lower file to a higher one. At most 15 % of a package's uses do, or two.
//   - A package is a concept. Two packages import it, or its doc comment has a sentence that begins "It is a package
//     of its own", and says why. What only tests import is free. The analyses of a privacy loss are reasons by
//     themselves, and so are commands.
//   - No arrow runs up: no top room imports one that stands above it in ARCHITECTURE.md, not even through a room
//     that lies inside another.
//
// The lists of exceptions hold what does not keep the law yet. They may only become shorter, and their numbers smaller.

const (
	maxBackPercent = 15
	freeBack       = 2
	reason         = "It is a package of its own"
)

// backward has how many uses run back up in the packages with more than are allowed.
var backward = map[string]int{
	"internal/access":          7,  // of 31
	"internal/interchange":     20, // of 113
	"internal/loss/allocation": 7,  // of 33
	"internal/persist/memory":  4,  // of 12
	"internal/pld/closed":      4,  // of 18
	"internal/server/bearer":   6,  // of 29
	"internal/theorem":         9,  // of 51
	"internal/web":             4,  // of 8
}

// upward are arrows that run up.
var upward = []string{"internal/web → internal/server"}

// selfEvident are the rooms whose packages need no reason: an analysis of a loss is a concept, and so is a command.
var selfEvident = []string{"internal/rdp", "internal/zcdp", "internal/gdp", "internal/pld", "internal/loss", "cmd"}

// source is a package as it is written.
type source struct {
	files   []*ast.File // in the order of their names
	doc     string
	imports []string
}

// everything is the packages of the module that are not generated, by folder.
type everything struct {
	packages map[string]*source
	fset     *token.FileSet
}

func readModule(t *testing.T) everything {
	t.Helper()
	all, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var readOnce = sync.OnceValues(sources)

func sources() (everything, error) {
	found, fset := map[string]*source{}, token.NewFileSet()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		own := (d.Name() == "tools" || d.Name() == "gen") && filepath.Dir(file) == root
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".."
		if d.IsDir() && (own || hidden || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(relative)
		if found[folder] == nil {
			found[folder] = &source{}
		}
		p := found[folder]
		p.files = append(p.files, f)
		p.doc += f.Doc.Text()
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if of, ours := strings.CutPrefix(imported, module); ours {
				p.imports = append(p.imports, of)
			}
		}
		return nil
	})
	return everything{found, fset}, err
}

// stranger stands for every package that is imported: what a package uses of itself is found without its imports,
// but for methods of values that another package returned.
type stranger struct{}

func (stranger) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// uses counts the names that each file uses of each other one.
func (s *source) uses(fset *token.FileSet) [][]int {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	lenient := types.Config{Importer: stranger{}, Error: func(error) {}}
	pkg, _ := lenient.Check("package", fset, s.files, info) // its errors are about strangers
	index := map[string]int{}
	for i, f := range s.files {
		index[fset.File(f.Pos()).Name()] = i
	}
	counts := make([][]int, len(s.files))
	for i := range counts {
		counts[i] = make([]int, len(s.files))
	}
	seen := map[string]bool{}
	for name, object := range info.Uses {
		if object.Pkg() != pkg || !declared(object, pkg) {
			continue
		}
		from, to := index[fset.File(name.Pos()).Name()], index[fset.File(object.Pos()).Name()]
		if key := fmt.Sprint(from, object.Pos()); from != to && !seen[key] {
			seen[key] = true
			counts[from][to]++
		}
	}
	return counts
}

// declared reports whether an object is a method, or stands in the scope of its package.
func declared(object types.Object, pkg *types.Package) bool {
	f, function := object.(*types.Func)
	return function && f.Signature().Recv() != nil || object.Parent() == pkg.Scope()
}

// back returns how many uses there are, and how many run back up in the best order that is found. Files change their
// places one by one as long as that helps, from several orders to begin with, so the number may be a little too large.
func back(uses [][]int) (all, least int) {
	n := len(uses)
	net := func(file int) (more int) {
		for other := range n {
			more += uses[file][other] - uses[other][file]
			all += uses[file][other]
		}
		return more
	}
	nets := make([]int, n)
	for file := range n {
		nets[file] = net(file)
	}
	least = all
	for start := range 8 {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		switch {
		case start == 0:
			slices.SortStableFunc(order, func(a, b int) int { return nets[a] - nets[b] })
		case start%2 == 1:
			slices.Reverse(order)
		}
		if start > 1 {
			slices.SortStableFunc(order, func(a, b int) int { return a*7919%(start+11) - b*7919%(start+11) })
		}
		for settle(order, uses) {
		}
		ups := 0
		for i, low := range order {
			for _, high := range order[i+1:] {
				ups += uses[low][high]
			}
		}
		least = min(least, ups)
	}
	return all, least
}

// settle moves each file once to the place where the fewest uses run back up, and reports whether that has helped.
func settle(order []int, uses [][]int) (helped bool) {
	for i := range order {
		file, best, place := order[i], 0, i
		change := 0
		for j := i - 1; j >= 0; j-- {
			if change += uses[file][order[j]] - uses[order[j]][file]; change < best {
				best, place = change, j
			}
		}
		change = 0
		for j := i + 1; j < len(order); j++ {
			if change += uses[order[j]][file] - uses[file][order[j]]; change < best {
				best, place = change, j
			}
		}
		if place != i {
			copy(order[i:], order[i+1:])
			copy(order[place+1:], order[place:len(order)-1])
			order[place], helped = file, true
		}
	}
	return helped
}

// Each package can be read from the bottom.
func TestPackagesAreReadFromTheBottom(t *testing.T) {
	all := readModule(t)
	found := all.packages
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		if forTests(folder) {
			continue
		}
		count, ups := back(found[folder].uses(all.fset))
		over := ups > freeBack && ups*100 > maxBackPercent*count
		known, listed := backward[folder]
		switch {
		case over && ups > known:
			t.Errorf("%s: %d of %d uses between its files run back up, and %d are listed here; allowed: %d %%: move "+
				"what low files use of high ones down", folder, ups, count, known, maxBackPercent)
		case listed && ups < known:
			t.Errorf("%s: %d of %d uses run back up; write that here in place of %d, or nothing if it is at most %d %%",
				folder, ups, count, known, maxBackPercent)
		case listed && !over:
			t.Errorf("%s keeps the law: take it from the list", folder)
		}
	}
	for folder := range backward {
		if found[folder] == nil {
			t.Errorf("%s is listed and is not there", folder)
		}
	}
}

// The order is the best one where that is known.
func TestBack(t *testing.T) {
	for _, c := range []struct {
		uses       [][]int
		all, least int
	}{
		{[][]int{{0, 1, 1}, {0, 0, 1}, {0, 0, 0}}, 3, 0},                             // a chain, from the top
		{[][]int{{0, 5}, {2, 0}}, 7, 2},                                              // two that use each other
		{[][]int{{0, 3, 0}, {0, 0, 3}, {1, 0, 0}}, 7, 1},                             // a ring is cut where it is thin
		{[][]int{{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 4, 0, 0}, {0, 0, 2, 0}}, 8, 1},      // a longer one
		{[][]int{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, 6, 3},                             // each uses each
		{[][]int{{0, 9, 0, 0}, {4, 0, 0, 0}, {1, 1, 0, 6}, {0, 0, 5, 0}}, 26, 4 + 5}, // two pairs
	} {
		if all, least := back(c.uses); all != c.all || least != c.least {
			t.Errorf("%v: %d of %d; want %d of %d", c.uses, least, all, c.least, c.all)
		}
	}
}

// Each package has two importers, or says why it is one.
func TestPackagesAreConcepts(t *testing.T) {
	found := readModule(t).packages
	importers := map[string]map[string]bool{}
	for folder, p := range found {
		for _, imported := range p.imports {
			if importers[imported] == nil {
				importers[imported] = map[string]bool{}
			}
			importers[imported][folder] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		free := forTests(folder) || len(importers[folder]) == 0 || found[folder].files[0].Name.Name == "main" ||
			slices.ContainsFunc(selfEvident, func(room string) bool { return within(folder, room) })
		alone := strings.HasPrefix(folder, "internal/") && !free && len(importers[folder]) < 2 &&
			!strings.Contains(strings.Join(strings.Fields(found[folder].doc), " "), reason)
		if alone {
			t.Errorf("%s: %d importers, and no sentence in its doc comment begins %q; allowed: two importers, such a "+
				"sentence, or to be files of the package that imports it", folder, len(importers[folder]), reason)
		}
	}
}

// top is the folder below the module's root, or below internal/, in which a package lies.
func top(folder string) string {
	parts := strings.Split(folder, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return strings.Join(parts[:2], "/")
	}
	return parts[0]
}

// No top room imports one that stands above it.
func TestArrowsPointDown(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 || !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, room := range names(cells[0], true) {
			if !slices.Contains(order, top(room)) {
				order = append(order, top(room))
			}
		}
	}
	if len(order) < 20 {
		t.Fatalf("%d rooms in ARCHITECTURE.md", len(order))
	}
	up := map[string]bool{}
	for folder, p := range readModule(t).packages {
		for _, imported := range p.imports {
			from, to := slices.Index(order, top(folder)), slices.Index(order, top(imported))
			if !forTests(folder) && from >= 0 && to >= 0 && to < from {
				up[top(folder)+" → "+top(imported)] = true
			}
		}
	}
	if list := slices.Sorted(maps.Keys(up)); !slices.Equal(list, upward) {
		t.Errorf("arrows that run up: %q; listed are %q", list, upward)
	}
}
