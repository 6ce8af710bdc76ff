// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"strings"
	"text/template"
)

//go:embed page.md.tmpl
var source string

var layout = template.Must(template.New("page").Funcs(template.FuncMap{
	"cell":     func(s string) string { return strings.ReplaceAll(s, "|", "\\|") },
	"within":   within,
	"refusal":  refusal,
	"analyses": func(all []*kind) []analysis { return all[0].Analyses },
}).Parse(source))

// within is a list of adjacencies in one cell: all, none, or those where it is
// defined.
func within(all []adjacency) string {
	var names []string
	for _, a := range all {
		if a.Refused == "" {
			names = append(names, a.Name)
		}
	}
	switch len(names) {
	case len(all):
		return "all"
	case 0:
		return "–"
	}
	return strings.Join(names, ", ")
}

// refusal is the first reason for which one is refused.
func refusal(all []adjacency) string {
	for _, a := range all {
		if a.Refused != "" {
			return a.Refused
		}
	}
	return ""
}
