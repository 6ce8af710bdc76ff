// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"reflect"

	"github.com/dpaccountant/accountant/internal/mechanism/table"
)

// mostKinds bounds the numbers of kinds.
const mostKinds = 128

// Kind describes a kind of mechanism by the table of its parameters (package table), which is read from
// the tags on the fields of its descriptor type.
//
// The order of the fields is the order of the canonical encoding that request digests are
// taken of (package wire): it never changes.
type Kind struct {
	Name       string   // as in the API: "gaussian"
	Number     int      // of its alternative in accountant.v1.Mechanism
	Help       string   // what the API says of it: "Gaussian noise."
	Aliases    []string // other names by which people know it, in lower case without hyphens: "normal"
	Parameters []table.Parameter

	descriptor reflect.Type
	variable   bool // a descriptor can be of any size: it holds a list, or other mechanisms
}

// Type is the Go type of the kind's descriptors.
func (k *Kind) Type() reflect.Type { return k.descriptor }

// New returns a descriptor whose parameters set has filled in.
func (k *Kind) New(set func(p *table.Parameter, field reflect.Value)) Mechanism {
	d := reflect.New(k.descriptor).Elem()
	for i := range k.Parameters {
		set(&k.Parameters[i], k.Parameters[i].Of(d))
	}
	return d.Interface().(Mechanism)
}

// Kinds lists all kinds in the order of their numbers.
func Kinds() []*Kind { return schema.list }

// KindOf returns the kind of a descriptor of this package, nil for no descriptor.
func KindOf(m Mechanism) *Kind {
	if m == nil {
		return nil
	}
	return schema.byNumber[m.number()]
}

// KindNumbered returns the kind with this number, or nil.
func KindNumbered(number int) *Kind {
	if number < 0 || number >= mostKinds {
		return nil
	}
	return schema.byNumber[number]
}

// KindNamed returns the kind that the API calls so, or nil.
func KindNamed(name string) *Kind { return schema.byName[name] }

// alsoKnown is a kind that people know by other names, too: in lower case, without hyphens.
type alsoKnown interface{ aliases() []string }

type schemas struct {
	list     []*Kind
	byNumber [mostKinds]*Kind
	byName   map[string]*Kind
}

var schema = newSchemas()

func newSchemas() schemas {
	s := schemas{byName: map[string]*Kind{}}
	for _, m := range kinds {
		t := reflect.TypeOf(m)
		k := &Kind{Name: m.Kind(), Number: m.number(), Parameters: table.ParametersOf(t), descriptor: t}
		k.Help = helpOf[k.Name]
		if a, ok := m.(alsoKnown); ok {
			k.Aliases = a.aliases()
		}
		for i := range k.Parameters {
			p := &k.Parameters[i]
			p.Help = helpOf[k.Name+"."+p.Name]
			k.variable = k.variable || p.Most > 0 || p.Role == table.RoleInside
		}
		s.list = append(s.list, k)
		s.byNumber[k.Number], s.byName[k.Name] = k, k
	}
	return s
}
