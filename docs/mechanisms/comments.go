// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// comments are those of the proto, by message or by message and field. Descriptors do
// not carry them; protoc-gen-go copies them into its structs.
type comments map[string]string

func readComments(file string) (comments, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	out := comments{}
	for _, d := range parsed.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, spec := range g.Specs {
			t := spec.(*ast.TypeSpec)
			s, ok := t.Type.(*ast.StructType)
			if !ok {
				continue
			}
			out[t.Name.Name] = oneLine(g.Doc)
			for _, f := range s.Fields.List {
				if name := protoName(f); name != "" {
					out[t.Name.Name+"."+name] = oneLine(f.Doc)
				}
			}
		}
	}
	return out, nil
}

var tagName = regexp.MustCompile(`,name=([a-z0-9_]+)`)

// protoName is the field's name in the proto, "" where it is none.
func protoName(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	found := tagName.FindStringSubmatch(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("protobuf"))
	if found == nil {
		return ""
	}
	return found[1]
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// message is the comment on a message; field that on one of its fields, which sits in
// a struct of its own where it is in a oneof.
func (c comments) message(m protoreflect.MessageDescriptor) (string, error) {
	return c.find(goName(m))
}

func (c comments) field(f protoreflect.FieldDescriptor) (string, error) {
	parent := goName(f.ContainingMessage())
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		parent += "_" + camel(string(f.Name()))
	}
	text, err := c.find(parent + "." + string(f.Name()))
	if inner := f.Message(); inner != nil && inner.FullName() == "accountant.v1.Mechanism" {
		text += allowedInside(f.ContainingMessage())
	}
	return text, err
}

// allowedInside says which kinds may stand inside the kind with this message: comments need not.
func allowedInside(outer protoreflect.MessageDescriptor) string {
	for _, field := range kinds() {
		if field.Message() == outer {
			if names := mechanism.KindNumbered(int(field.Number())).Inside(); names != "" {
				return " Allowed: " + names + "."
			}
		}
	}
	return ""
}

func (c comments) find(key string) (string, error) {
	if c[key] == "" {
		return "", fmt.Errorf("no comment on %s", key)
	}
	return c[key], nil
}

// goName is the name of the message's struct.
func goName(m protoreflect.MessageDescriptor) string {
	if parent, ok := m.Parent().(protoreflect.MessageDescriptor); ok {
		return goName(parent) + "_" + string(m.Name())
	}
	return string(m.Name())
}

func camel(name string) string {
	var b strings.Builder
	for _, part := range strings.Split(name, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
