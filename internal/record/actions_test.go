// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// An action that is added has to be in the list of all, in the API, in stored entries, in
// package wire, and to have a digest.
func TestEveryActionIsEverywhere(t *testing.T) {
	var kinds []string
	for _, k := range ledger.ActionKinds() {
		kinds = append(kinds, k.Name)
	}
	slices.Sort(kinds)
	for name, m := range map[string]proto.Message{"the API": &pb.Entry{}, "stored entries": &recordv1.Entry{}} {
		var named []string
		fields := m.ProtoReflect().Descriptor().Oneofs().ByName("action").Fields()
		for i := range fields.Len() {
			named = append(named, string(fields.Get(i).Name()))
		}
		slices.Sort(named)
		if !slices.Equal(named, kinds) {
			t.Errorf("%s has the actions %v, package ledger %v", name, named, kinds)
		}
	}
	_, golden := wiretest.GoldenEntries()
	for _, kind := range kinds {
		i := slices.IndexFunc(golden, func(e ledger.Entry) bool { return e.Action.Kind() == kind })
		if i < 0 {
			t.Errorf("%s is not among the golden entries", kind)
			continue
		}
		v := golden[i].Action
		if err := wire.CheckAction(v); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		shown := wire.FromRecord(ledger.Record{Entry: golden[i]}, false).ProtoReflect()
		fd := shown.WhichOneof(shown.Descriptor().Oneofs().ByName("action"))
		if fd == nil || fd.Name() != protoreflect.Name(kind) {
			t.Errorf("%s is shown as %v", kind, fd)
		}
	}
}

// What an action is and does stands with the action. No switch tells actions apart outside
// tests.
func TestNoSwitchOverActions(t *testing.T) {
	actions := map[string]bool{}
	for _, k := range ledger.ActionKinds() {
		actions[k.Type.Name()] = true
	}
	named := func(file string, e ast.Expr) bool {
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		switch e := e.(type) {
		case *ast.SelectorExpr: // ledger.Charge, or pb.Entry_Charge
			room, ok := e.X.(*ast.Ident)
			kind, entry := strings.CutPrefix(e.Sel.Name, "Entry_")
			return ok && (entry || room.Name == "ledger") && actions[kind]
		case *ast.Ident:
			return strings.Contains(file, "internal/ledger/") && actions[e.Name]
		}
		return false
	}
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"gen", "node_modules", "python"}, d.Name()) ||
			strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || strings.HasSuffix(d.Name(), "test")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSwitchStmt)
			if !ok {
				return true
			}
			count := 0
			for _, c := range s.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					if named(filepath.ToSlash(path), e) {
						count++
					}
				}
			}
			if count > 1 {
				t.Errorf("%s: a switch over %d actions; allowed: a method of the action", set.Position(s.Pos()), count)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 200 {
		t.Errorf("%d files, %v", files, err)
	}
}
