// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/table"
)

// TestKindsAreThoseOfTheAPI: every alternative of the API's Mechanism has a descriptor, whose table
// names the fields of the alternative's message: all of them, with their numbers and types.
func TestKindsAreThoseOfTheAPI(t *testing.T) {
	fields := alternatives().Fields()
	if got, want := len(mechanism.Kinds()), fields.Len(); got != want {
		t.Errorf("package mechanism lists %d kinds, the API %d", got, want)
	}
	for i := range fields.Len() {
		alternative := fields.Get(i)
		k := mechanism.KindNumbered(int(alternative.Number()))
		if k == nil {
			t.Errorf("%s (%d) is missing in the list of kinds of package mechanism",
				alternative.Name(), alternative.Number())
			continue
		}
		if k.Name != string(alternative.Name()) {
			t.Errorf("kind %d is %s; the API calls it %s", k.Number, k.Name, alternative.Name())
		}
		if k.Number >= mostKinds {
			t.Errorf("%s has number %d; the canonical encoding has room for numbers below %d", k.Name, k.Number,
				mostKinds)
		}
		if got, want := len(k.Parameters), alternative.Message().Fields().Len(); got != want {
			t.Errorf("%s has %d parameters, its message %d", k.Name, got, want)
		}
		for _, p := range k.Parameters {
			checkParameter(t, k, p, alternative.Message().Fields().ByNumber(protowire.Number(p.Number)))
		}
	}
}

func checkParameter(t *testing.T, k *mechanism.Kind, p table.Parameter, fd protoreflect.FieldDescriptor) {
	t.Helper()
	if fd == nil || string(fd.Name()) != p.Name {
		t.Errorf("%s.%s has number %d, which its message does not give to it", k.Name, p.Name, p.Number)
		return
	}
	type shape struct {
		kind protoreflect.Kind
		list bool
	}
	shapes := map[shape]reflect.Type{
		{protoreflect.DoubleKind, false}: reflect.TypeFor[float64](),
		{protoreflect.Uint64Kind, false}: reflect.TypeFor[uint64](),
		{protoreflect.BoolKind, false}:   reflect.TypeFor[bool](),
		{protoreflect.DoubleKind, true}:  reflect.TypeFor[mechanism.Numbers](),
	}
	if want, ok := shapes[shape{fd.Kind(), fd.IsList()}]; ok && p.Type != want {
		t.Errorf("%s.%s is a %v; the API's field asks for %v", k.Name, p.Name, p.Type, want)
	}
	number := p.Type.Kind() == reflect.Float64 || p.Type.Kind() == reflect.Uint64
	if number != fd.HasOptionalKeyword() {
		t.Errorf("%s.%s: a number is optional in the API, and nothing else is", k.Name, p.Name)
	}
	if number && p.Allowed() == ", or absent" {
		t.Errorf("%s.%s: no range", k.Name, p.Name)
	}
	if (p.Most > 0) != fd.IsList() {
		t.Errorf("%s.%s: a list has a greatest length, and nothing else has", k.Name, p.Name)
	}
	if p.Role == "" {
		t.Errorf("%s.%s: no role", k.Name, p.Name)
	}
	if (p.Role == table.RoleInside) != (fd.Message() != nil) {
		t.Errorf("%s.%s: the role %q is that of mechanisms", k.Name, p.Name, p.Role)
	}
}
