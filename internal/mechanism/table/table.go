// SPDX-License-Identifier: Apache-2.0

// Package table reads the table of a mechanism's parameters from the tags on the fields of its descriptor:
//
//	StandardDeviation float64 `field:"1" role:"scale" range:">0" need:"required"`
//
// field is the number of the parameter in the kind's message of the API. role is the
// parameter's Role and range one of the keys of ranges. need:"required" marks a parameter that
// no other can replace. most bounds the length of a list: every list has it, and nothing else.
// A field that holds the shared parameters of several kinds has the number of its first one.
//
// The package knows no kind. What goes over all kinds goes over their tables instead of their fields.
package table

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Parameter is one parameter of a kind of mechanism.
type Parameter struct {
	Name     string // as in the API: "noise_multiplier"
	Number   int    // of its field in the kind's message
	Help     string // what the API says of it, with its unit and range
	Role     Role
	Required bool // no other parameter can replace it
	Most     int  // the greatest length of a list, 0 for other parameters

	Type     reflect.Type // of its field in the descriptor
	interval string       // a key of ranges, or ""
	index    []int        // of its field
}

// Role is what a parameter is to its mechanism.
type Role string

const (
	RoleScale       Role = "scale"       // of the noise: the more, the less privacy loss
	RoleNorm        Role = "norm"        // of a record's contribution, or a distance
	RoleProbability Role = "probability" // of a record to be in a batch, or of a failure
	RoleSize        Role = "size"        // a number of records or of steps
	RoleLoss        Role = "loss"        // a bound on the privacy loss
	RoleChoice      Role = "choice"      // one of several words, or yes or no
	RoleShape       Role = "shape"       // of a distribution or a matrix
	RoleInside      Role = "inside"      // a mechanism that this one runs, or several
)

// ranges says in words which values a parameter of a range may have, and how the least one is
// named where it must be given.
var ranges = map[string]struct{ words, least string }{
	">0":      {"a finite number > 0", " (at least 2.3e-308)"},
	"(0,1)":   {"a number in (0, 1)", ", at least 2.3e-308"},
	"(0,1]":   {"a number in (0, 1]", ", at least 2.3e-308"},
	">-1":     {"a number > -1 other than 0", ""},
	">=1":     {"a whole number from 1", ""},
	"1..2^20": {"a whole number from 1 to 2^20", ""},
	"1..2^32": {"a whole number from 1 to 2^32", ""},
	"1..2^53": {"a whole number from 1 to 2^53", ""},
	"2..2^40": {"a whole number from 2 to 2^40", ""},
}

// Range says in words which values the parameter may have if it is given: "a finite number > 0".
// It is empty for what is not a number.
func (p Parameter) Range() string { return ranges[p.interval].words }

// Allowed says in words which values the parameter may have by itself: "a finite number > 0, or
// absent". Which parameters belong together is for the kind's Check to say.
func (p Parameter) Allowed() string {
	r := ranges[p.interval]
	if p.Required {
		return r.words + r.least
	}
	return r.words + ", or absent"
}

// Of returns the parameter's field in a descriptor of its kind. The result can be set if the
// descriptor can.
func (p Parameter) Of(descriptor reflect.Value) reflect.Value {
	if len(p.index) == 1 { // spares the checks of FieldByIndex
		return descriptor.Field(p.index[0])
	}
	return descriptor.FieldByIndex(p.index)
}

// ParametersOf reads the tags of the fields of a descriptor's type.
func ParametersOf(descriptor reflect.Type) []Parameter { return parametersOf(descriptor, 0, nil) }

// parametersOf reads the tags of a descriptor's fields, or of the shared parameters at index
// inside it, whose numbers then start at first.
func parametersOf(t reflect.Type, first int, index []int) []Parameter {
	var list []Parameter
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int(nil), index...), i)
		if f.Anonymous {
			list = append(list, parametersOf(f.Type, numberTag(f, "field"), at)...)
			continue
		}
		p := Parameter{
			Name: Snake(f.Name), Number: first + i, Role: Role(f.Tag.Get("role")), Type: f.Type, index: at,
			Required: f.Tag.Get("need") == "required", interval: f.Tag.Get("range"),
		}
		if len(index) == 0 {
			p.Number = numberTag(f, "field")
		}
		if f.Tag.Get("most") != "" {
			p.Most = numberTag(f, "most")
		}
		list = append(list, p)
	}
	return list
}

// numberTag reads a tag that must be a number.
func numberTag(f reflect.StructField, tag string) int {
	n, err := strconv.Atoi(f.Tag.Get(tag))
	if err != nil {
		panic(fmt.Sprintf("table: the tag %q of the field %s is not a number", tag, f.Name))
	}
	return n
}

// Snake spells a name as the API does: NoiseMultiplier and noiseMultiplier are noise_multiplier.
func Snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
