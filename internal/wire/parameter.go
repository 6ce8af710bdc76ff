// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/table"
)

// A form converts the parameters of one Go type, of whichever kind.
type form interface {
	// read sets the descriptor's field from the field fd of the API's message m. It refuses a
	// number that is present and 0, because 0 stands for a parameter that is not given, and a
	// list that is too long. Ranges are for the descriptor's Check.
	read(r *reader, m protoreflect.Message, fd protoreflect.FieldDescriptor, into reflect.Value)
	// write is the inverse of read. It is asked only for values that are given.
	write(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor)
	// canonical appends the parameter to a canonical encoding.
	canonical(b []byte, v reflect.Value) []byte
	// record appends the parameter as package proto encodes it as a field with this number. It
	// is asked only for values that are given.
	record(b []byte, number protowire.Number, v reflect.Value) []byte
}

// formOf returns the form of a parameter. Every type that a descriptor's field may have is here.
func formOf(p *table.Parameter) form {
	switch p.Type.Kind() {
	case reflect.Float64:
		return real{}
	case reflect.Uint64:
		return whole{}
	case reflect.Uint8:
		return word{}
	case reflect.Bool:
		return yes{}
	case reflect.String:
		return numbers{}
	case reflect.Interface:
		return inside{}
	}
	if p.Type == reflect.TypeFor[mechanism.List[mechanism.Event]]() {
		return events{}
	}
	return parts{}
}

// reader is the state of one descriptor's conversion from the API.
type reader struct {
	kind      *mechanism.Kind
	parameter *table.Parameter // that is being read
	depth     int              // how many mechanisms this one is inside of
	err       error            // the first one
}

// path names the parameter in errors: "gaussian.sensitivity".
func (r *reader) path() string { return r.kind.Name + "." + r.parameter.Name }

func (r *reader) refuse(value, allowed string) { r.err = Invalid(r.path(), value, allowed) }

// fits refuses a list that is too long.
func (r *reader) fits(n int) bool {
	if n > r.parameter.Most {
		r.refuse(fmt.Sprintf("%d of them", n), fmt.Sprintf("at most %d", r.parameter.Most))
	}
	return r.err == nil
}

// A real is a float64.
type real struct{}

func (real) read(r *reader, m protoreflect.Message, fd protoreflect.FieldDescriptor, into reflect.Value) {
	if v := m.Get(fd).Float(); v != 0 {
		into.SetFloat(v)
	} else if m.Has(fd) {
		r.refuse("0", r.parameter.Allowed())
	}
}

func (real) write(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	m.Set(fd, protoreflect.ValueOfFloat64(v.Float()))
}

func (real) canonical(b []byte, v reflect.Value) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v.Float()))
}

func (real) record(b []byte, number protowire.Number, v reflect.Value) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, number, protowire.Fixed64Type), math.Float64bits(v.Float()))
}

// A whole is a uint64.
type whole struct{}

func (whole) read(r *reader, m protoreflect.Message, fd protoreflect.FieldDescriptor, into reflect.Value) {
	if v := m.Get(fd).Uint(); v != 0 {
		into.SetUint(v)
	} else if m.Has(fd) {
		r.refuse("0", r.parameter.Allowed())
	}
}

func (whole) write(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	m.Set(fd, protoreflect.ValueOfUint64(v.Uint()))
}

func (whole) canonical(b []byte, v reflect.Value) []byte {
	return binary.BigEndian.AppendUint64(b, v.Uint())
}

func (whole) record(b []byte, number protowire.Number, v reflect.Value) []byte {
	return AppendNumber(b, number, v.Uint())
}

// A word is a value of one of the API's enumerations, of which 0 stands for none.
type word struct{}

func (word) read(r *reader, m protoreflect.Message, fd protoreflect.FieldDescriptor, into reflect.Value) {
	n := m.Get(fd).Enum()
	if fd.Enum().Values().ByNumber(n) == nil {
		var words []string
		for i := 1; i < fd.Enum().Values().Len(); i++ {
			words = append(words, string(fd.Enum().Values().Get(i).Name()))
		}
		last := len(words) - 1
		r.refuse(fmt.Sprint(n), strings.Join(words[:last], ", ")+" or "+words[last])
		return
	}
	into.SetUint(uint64(n))
}

func (word) write(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	m.Set(fd, protoreflect.ValueOfEnum(protoreflect.EnumNumber(v.Uint())))
}

func (word) canonical(b []byte, v reflect.Value) []byte { return append(b, byte(v.Uint())) }

func (word) record(b []byte, number protowire.Number, v reflect.Value) []byte {
	return AppendNumber(b, number, v.Uint())
}

// A yes is a bool.
type yes struct{}

func (yes) read(_ *reader, m protoreflect.Message, fd protoreflect.FieldDescriptor, into reflect.Value) {
	into.SetBool(m.Get(fd).Bool())
}

func (yes) write(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	m.Set(fd, protoreflect.ValueOfBool(v.Bool()))
}

func (yes) canonical(b []byte, v reflect.Value) []byte { return append(b, bit(v.Bool())) }

func (yes) record(b []byte, number protowire.Number, v reflect.Value) []byte {
	return AppendNumber(b, number, uint64(bit(v.Bool())))
}

// A numbers is a mechanism.Numbers: a list of float64.
type numbers struct{}

func (numbers) read(r *reader, m protoreflect.Message, fd protoreflect.FieldDescriptor, into reflect.Value) {
	list := m.Get(fd).List()
	if !r.fits(list.Len()) {
		return
	}
	values := make([]float64, list.Len())
	for i := range values {
		values[i] = list.Get(i).Float()
	}
	into.SetString(string(mechanism.NumbersOf(values...)))
}

func (numbers) write(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	list := m.Mutable(fd).List()
	for _, x := range mechanism.Numbers(v.String()).Values() {
		list.Append(protoreflect.ValueOfFloat64(x))
	}
}

func (numbers) canonical(b []byte, v reflect.Value) []byte {
	n := mechanism.Numbers(v.String())
	return append(binary.BigEndian.AppendUint64(b, uint64(n.Len())), n...)
}

func (numbers) record(b []byte, number protowire.Number, v reflect.Value) []byte {
	n := v.String()
	b = protowire.AppendVarint(AppendTag(b, number), uint64(len(n)))
	for i := 0; i < len(n); i += 8 { // big-endian to little-endian
		for j := 7; j >= 0; j-- {
			b = append(b, n[i+j])
		}
	}
	return b
}

// An inside is a mechanism that this one runs. Where none is given it is nil, which the Check of
// the descriptor around it refuses.
type inside struct{}

func (inside) read(r *reader, m protoreflect.Message, fd protoreflect.FieldDescriptor, into reflect.Value) {
	if !m.Has(fd) {
		return
	}
	d, err := toMechanism(m.Get(fd).Message().Interface().(*pb.Mechanism), r.depth+1)
	if err != nil {
		r.err = Under(r.path(), err)
		return
	}
	into.Set(reflect.ValueOf(d))
}

func (inside) write(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	m.Set(fd, protoreflect.ValueOfMessage(FromMechanism(v.Interface().(mechanism.Mechanism)).ProtoReflect()))
}

func (inside) canonical(b []byte, v reflect.Value) []byte {
	d, _ := v.Interface().(mechanism.Mechanism)
	return appendMechanism(b, d)
}

func (inside) record(b []byte, number protowire.Number, v reflect.Value) []byte {
	var room [64]byte
	return protowire.AppendBytes(AppendTag(b, number), AppendRecorded(room[:0], v.Interface().(mechanism.Mechanism)))
}

// A parts is a mechanism.List of mechanisms.
type parts struct{}

func (parts) read(r *reader, m protoreflect.Message, fd protoreflect.FieldDescriptor, into reflect.Value) {
	list := elements[*pb.Mechanism](m.Get(fd).List())
	if !r.fits(len(list)) {
		return
	}
	out := make([]mechanism.Mechanism, len(list))
	for i, part := range list {
		d, err := toMechanism(part, r.depth+1)
		if err != nil {
			r.err = Under(fmt.Sprintf("%s[%d]", r.path(), i), err)
			return
		}
		out[i] = d
	}
	into.Set(reflect.ValueOf(mechanism.ListOf(out...)))
}

func (parts) values(v reflect.Value) []mechanism.Mechanism {
	return v.Interface().(mechanism.List[mechanism.Mechanism]).Values()
}

func (p parts) write(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	list := m.Mutable(fd).List()
	for _, d := range p.values(v) {
		list.Append(protoreflect.ValueOfMessage(FromMechanism(d).ProtoReflect()))
	}
}

func (p parts) canonical(b []byte, v reflect.Value) []byte {
	list := p.values(v)
	b = binary.BigEndian.AppendUint64(b, uint64(len(list)))
	for _, d := range list {
		b = appendMechanism(b, d)
	}
	return b
}

func (p parts) record(b []byte, number protowire.Number, v reflect.Value) []byte {
	for _, d := range p.values(v) {
		b = protowire.AppendBytes(AppendTag(b, number), AppendRecorded(nil, d))
	}
	return b
}

// An events is a mechanism.List of events.
type events struct{}

func (events) read(r *reader, m protoreflect.Message, fd protoreflect.FieldDescriptor, into reflect.Value) {
	list := elements[*pb.Event](m.Get(fd).List())
	if !r.fits(len(list)) {
		return
	}
	var out []mechanism.Event
	if out, r.err = toEventsAt(r.path(), list, r.depth+1); r.err == nil {
		into.Set(reflect.ValueOf(mechanism.ListOf(out...)))
	}
}

func (events) values(v reflect.Value) []mechanism.Event {
	return v.Interface().(mechanism.List[mechanism.Event]).Values()
}

func (e events) write(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	list := m.Mutable(fd).List()
	for _, event := range FromEvents(e.values(v)) {
		list.Append(protoreflect.ValueOfMessage(event.ProtoReflect()))
	}
}

func (e events) canonical(b []byte, v reflect.Value) []byte { return appendEvents(b, e.values(v)) }

func (e events) record(b []byte, number protowire.Number, v reflect.Value) []byte {
	for _, event := range e.values(v) {
		var body []byte
		if event.Mechanism != nil {
			body = protowire.AppendBytes(AppendTag(body, 1), AppendRecorded(nil, event.Mechanism))
		}
		b = protowire.AppendBytes(AppendTag(b, number), AppendNumber(body, 2, uint64(event.Count)))
	}
	return b
}

// elements are the messages of a list.
func elements[T proto.Message](list protoreflect.List) []T {
	out := make([]T, list.Len())
	for i := range out {
		out[i] = list.Get(i).Message().Interface().(T)
	}
	return out
}
