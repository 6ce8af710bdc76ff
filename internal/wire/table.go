// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// context says what an action, or a part of one, is converted for.
type context struct {
	// request: a caller asks for it, in a ledger with the adjacency. Otherwise it stands in an entry, and its
	// ledger's adjacency is not known.
	request   bool
	adjacency mechanism.Adjacency
	// asked: without what its decision sets, as in a request and in what a proposal proposes.
	asked bool
}

// checkEvent checks an event, under the ledger's adjacency if that is known.
func (c context) checkEvent(e mechanism.Event) error {
	if c.request {
		return e.Check(c.adjacency)
	}
	return checkEvent(e)
}

// message converts a struct by the table of its fields (ledger.FieldsOf). It is the value of an action, or of a part.
type message struct {
	kind    string // of the action; "" of a part
	of      reflect.Type
	message protoreflect.MessageType
	fields  []column
}

// column is a field of the table with its place in the API.
type column struct {
	ledger.Field
	name  string                       // in the API
	place protoreflect.FieldDescriptor // nil of an action within
	oneof protoreflect.OneofDescriptor // of an action within
	value value                        // nil of an action within, and of an assertion
}

func newMessage(of reflect.Type, mt protoreflect.MessageType) *message {
	m, all := &message{of: of, message: mt}, ledger.FieldsOf(of)
	m.fields = make([]column, len(all))
	for i := range all {
		f := &m.fields[i]
		f.Field = all[i]
		if f.Inner != "" {
			f.oneof = mt.Descriptor().Oneofs().Get(0)
			f.name = string(f.oneof.Name())
			continue
		}
		f.place = mt.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(f.Number))
		if f.place == nil {
			panic("wire: " + string(mt.Descriptor().FullName()) + " has not all fields of " + of.String())
		}
		f.name = string(f.place.Name())
		if f.Type != reflect.TypeFor[ledger.Assertion]() {
			f.value = valueOf(f.Type, f, mt.Zero())
		}
	}
	return m
}

// join puts a name below a path, which may be empty.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// below puts an error below a path, which may be empty.
func below(path string, err error) error {
	if path == "" {
		return FromDomain(err)
	}
	return Under(path, FromDomain(err))
}

func (m *message) read(c context, path string, from protoreflect.Value, into reflect.Value) error {
	r := from.Message()
	if err := Known(path, r.Interface()); err != nil {
		return err
	}
	for i := range m.fields {
		if err := m.fields[i].read(c, path, r, into); err != nil {
			return err
		}
	}
	return nil
}

func (f *column) read(c context, path string, r protoreflect.Message, into reflect.Value) error {
	path = join(path, f.name)
	if f.oneof != nil {
		return f.readInner(c, path, r, into)
	}
	if f.value == nil {
		if !r.Get(f.place).Bool() {
			return Invalid(path, "false", f.Need)
		}
		return nil
	}
	if !r.Has(f.place) {
		return nil
	}
	switch {
	case c.asked && f.Decided != "":
		return Invalid(path, "given", "none: "+f.Decided)
	case c.request && f.Refused != "":
		return Invalid(path, "given", "none: "+f.Refused)
	}
	return f.value.read(c, path, r.Get(f.place), f.Of(into))
}

// readInner reads the action that is in the oneof.
func (f *column) readInner(c context, path string, r protoreflect.Message, into reflect.Value) error {
	place := r.WhichOneof(f.oneof)
	if place == nil {
		return Absent(path, alternativesOf(f.oneof))
	}
	form := actionForms().byKind[string(place.Name())]
	v := reflect.New(form.of).Elem()
	if err := form.read(f.within(c), path[:len(path)-len(f.name)]+form.kind, r.Get(place), v); err != nil {
		return err
	}
	f.Of(into).Set(v)
	return nil
}

// within is the context of the action within.
func (f *column) within(c context) context {
	c.asked = c.asked || f.Inner == "asked"
	return c
}

func (m *message) write(v reflect.Value, empty protoreflect.Value) protoreflect.Value {
	r := empty.Message()
	for i := range m.fields {
		f := &m.fields[i]
		x := f.Of(v)
		switch {
		case f.value == nil && f.oneof == nil:
			r.Set(f.place, protoreflect.ValueOfBool(true))
		case isEmpty(x):
		case f.oneof != nil:
			form := actionForms().byKind[x.Interface().(ledger.Action).Kind()]
			place := f.oneof.Fields().ByName(protoreflect.Name(form.kind))
			r.Set(place, form.write(x.Elem(), r.NewField(place)))
		default:
			r.Set(f.place, f.value.write(x, r.NewField(f.place)))
		}
	}
	return empty
}

// isEmpty reports whether a field is not given.
func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

func (m *message) check(c context, path string, v reflect.Value) error {
	for i := range m.fields {
		f := &m.fields[i]
		if f.value == nil && f.oneof == nil || c.asked && f.Decided != "" {
			continue
		}
		at, x := join(path, f.name), f.Of(v)
		var err error
		switch {
		case f.oneof != nil:
			err = f.checkInner(c, path, x)
		case !isEmpty(x):
			err = f.value.check(c, at, x)
		case f.Need != "":
			err = Absent(at, f.Need)
		}
		if err != nil {
			return err
		}
	}
	return m.checkWhole(c, path, v.Interface())
}

func (f *column) checkInner(c context, path string, x reflect.Value) error {
	if x.IsNil() {
		return Absent(join(path, f.name), alternativesOf(f.oneof))
	}
	kind := x.Interface().(ledger.Action).Kind()
	if f.oneof.Fields().ByName(protoreflect.Name(kind)) == nil {
		return Invalid(join(path, f.name), kind, alternativesOf(f.oneof))
	}
	if f.Inner == "asked" && !reflect.DeepEqual(ledger.Asked(x.Interface().(ledger.Action)), x.Interface()) {
		return Invalid(join(path, kind), "what a decision adds", "only what is asked for")
	}
	return actionForms().byKind[kind].check(f.within(c), join(path, kind), x.Elem())
}

// checkWhole checks which fields belong together, as the domain knows it.
func (m *message) checkWhole(c context, path string, v any) error {
	var err error
	switch v := v.(type) {
	case ledger.NameRange:
		return checkRange(path, v)
	case interface{ Check() error }:
		err = v.Check()
	case interface{ CheckAsked() error }:
		err = v.CheckAsked()
	}
	if d, ok := v.(interface{ CheckDecided() error }); ok && err == nil && !c.asked {
		err = d.CheckDecided()
	}
	if err != nil {
		return below(path, err)
	}
	return nil
}

func (m *message) canonical(b []byte, v reflect.Value) []byte {
	for i := range m.fields {
		f := &m.fields[i]
		switch {
		case f.Decided != "":
		case f.oneof != nil:
			b = appendAsked(b, f.Of(v).Interface().(ledger.Action))
		case f.value != nil:
			b = f.value.canonical(b, f.Of(v))
		}
	}
	return b
}

// A Form converts values of type T to messages of type M and back, by the table of T's fields. It reads the table
// when it is first used.
type Form[T any, M proto.Message] struct{ message func() *message }

// FormOf returns the form of two types.
func FormOf[T any, M proto.Message]() Form[T, M] {
	return Form[T, M]{sync.OnceValue(func() *message {
		var m M
		return newMessage(reflect.TypeFor[T](), m.ProtoReflect().Type())
	})}
}

// Read converts a message without a check of ranges. Fields in errors are below path.
func (f Form[T, M]) Read(path string, m M) (v T, err error) {
	err = f.message().read(context{}, path, protoreflect.ValueOfMessage(m.ProtoReflect()), reflect.ValueOf(&v).Elem())
	return v, err
}

// Plain is Read of a message whose fields are all known.
func (f Form[T, M]) Plain(m M) T {
	v, _ := f.Read("", m)
	return v
}

// ReadAll is Read of each message; nil of none.
func (f Form[T, M]) ReadAll(path string, list []M) (out []T, err error) {
	for i, m := range list {
		v, err := f.Read(at(path, i), m)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// Check checks the ranges of a value.
func (f Form[T, M]) Check(path string, v T) error {
	return f.message().check(context{}, path, reflect.ValueOf(v))
}

// Write is the inverse of Read.
func (f Form[T, M]) Write(v T) M {
	form := f.message()
	return form.write(reflect.ValueOf(v), protoreflect.ValueOfMessage(form.message.New())).Message().Interface().(M)
}

// given is Write, and nil of the zero value.
func (f Form[T, M]) given(v T) (m M) {
	if reflect.ValueOf(v).IsZero() {
		return m
	}
	return f.Write(v)
}

// WriteAll is Write of each value; nil of none.
func (f Form[T, M]) WriteAll(list []T) (out []M) {
	for _, v := range list {
		out = append(out, f.Write(v))
	}
	return out
}
