// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A value converts the values of one Go type, of whichever field.
type value interface {
	// read sets into from the API's value, which is given. It refuses unknown fields and unknown words; ranges are
	// for check.
	read(c context, path string, from protoreflect.Value, into reflect.Value) error
	// write makes the API's value of a given one. It fills empty, a new value of the field, if that can be filled.
	write(v reflect.Value, empty protoreflect.Value) protoreflect.Value
	// check checks the range of a given value.
	check(c context, path string, v reflect.Value) error
	// canonical appends the value, given or not, with a fixed width or its length before it.
	canonical(b []byte, v reflect.Value) []byte
}

// valueOf returns the value of a field's type, or of a part of it, in the message that zero is of.
func valueOf(t reflect.Type, f *column, zero protoreflect.Message) value {
	switch t {
	case reflect.TypeFor[[]mechanism.Event]():
		return eventList{f}
	case reflect.TypeFor[[]ledger.Label]():
		return labelled{}
	case reflect.TypeFor[ledger.Workload]():
		return workload{}
	case reflect.TypeFor[mechanism.Mechanism]():
		return described{}
	case reflect.TypeFor[time.Duration]():
		return seconds{f}
	case reflect.TypeFor[time.Time]():
		return instant{}
	case reflect.TypeFor[ledger.Hash]():
		return hash{}
	case reflect.TypeFor[[]byte]():
		return raw{f}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return pointer{valueOf(t.Elem(), f, zero)}
	case reflect.Slice:
		each := *f // most bounds the length of the list, and nothing of each
		each.Most = 0
		return list{f, valueOf(t.Elem(), &each, zero)}
	case reflect.Struct:
		of := zero.NewField(f.place)
		if f.place.IsList() {
			of = of.List().NewElement()
		}
		return newMessage(t, of.Message().Type())
	case reflect.String:
		return text{f}
	}
	return figure{f}
}

// A figure is a whole or a real number, a word of an enumeration, or yes or no.
type figure struct{ *column }

func (n figure) read(_ context, path string, from protoreflect.Value, into reflect.Value) error {
	switch into.Kind() {
	case reflect.Bool:
		into.SetBool(from.Bool())
	case reflect.Float64:
		if from.Float() == 0 && n.place.HasPresence() { // 0 stands for one that is not given
			return Invalid(path, "0", n.Range)
		}
		into.SetFloat(from.Float())
	case reflect.Uint8:
		if err := n.known(path, from.Enum()); err != nil {
			return err
		}
		into.SetUint(uint64(from.Enum()))
	default:
		into.SetUint(from.Uint())
	}
	return nil
}

// known refuses a number that is no word of the enumeration.
func (n figure) known(path string, word protoreflect.EnumNumber) error {
	all := n.place.Enum().Values()
	if all.ByNumber(word) != nil {
		return nil
	}
	var words []string
	for i := 1; i < all.Len(); i++ {
		words = append(words, string(all.Get(i).Name()))
	}
	return Invalid(path, fmt.Sprint(word), orList(words))
}

func (n figure) write(v reflect.Value, _ protoreflect.Value) protoreflect.Value {
	switch v.Kind() {
	case reflect.Bool:
		return protoreflect.ValueOfBool(v.Bool())
	case reflect.Float64:
		return protoreflect.ValueOfFloat64(v.Float())
	case reflect.Uint8:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(v.Uint()))
	case reflect.Uint32:
		return protoreflect.ValueOfUint32(uint32(v.Uint()))
	}
	return protoreflect.ValueOfUint64(v.Uint())
}

func (n figure) check(_ context, path string, v reflect.Value) error {
	if v.Kind() == reflect.Uint8 {
		return n.known(path, protoreflect.EnumNumber(v.Uint()))
	}
	return nil
}

func (n figure) canonical(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return append(b, bit(v.Bool()))
	case reflect.Float64:
		return appendUint64(b, math.Float64bits(v.Float()))
	case reflect.Uint8:
		return append(b, byte(v.Uint()))
	}
	return appendUint64(b, v.Uint())
}

func appendUint64(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }

// A text is for people, or names a thing.
type text struct{ *column }

// things check the texts that name things, by the table's words for them.
var things = map[string]func(c context, field, s string) error{
	"ledger": func(_ context, field, s string) error { return CheckLedgerName(field, s) },
	"member": func(_ context, field, s string) error { return checkMember(field, s) },
	"uuid": func(_ context, field, s string) error {
		if !IsUUID(s) {
			return Invalid(field, Quote(s), "a UUID in lower case")
		}
		return nil
	},
	"dataset": func(_ context, field, s string) error {
		if !ledger.IsDataset(s) {
			return Invalid(field, Quote(s), "the name of a dataset's record")
		}
		return nil
	},
	"dataset_id": func(_ context, field, s string) error {
		_, err := DatasetName(field, s)
		return err
	},
	"warning": func(c context, field, s string) error {
		if c.request && !slices.Contains(WarningNames, s) { // a later version may know more of them
			return Invalid(field, Quote(s), strings.Join(WarningNames, ", ")+
				": the name in brackets at the end of a warning")
		}
		return nil
	},
}

func (text) read(_ context, _ string, from protoreflect.Value, into reflect.Value) error {
	into.SetString(from.String())
	return nil
}

func (text) write(v reflect.Value, _ protoreflect.Value) protoreflect.Value {
	return protoreflect.ValueOfString(v.String())
}

func (t text) check(c context, path string, v reflect.Value) error {
	if check := things[t.Is]; check != nil {
		if err := check(c, path, v.String()); err != nil {
			return err
		}
	}
	return checkText(path, v.String(), cmp.Or(t.Most, maxText))
}

func (text) canonical(b []byte, v reflect.Value) []byte { return AppendText(b, v.String()) }

// A raw is bytes.
type raw struct{ *column }

func (raw) read(_ context, _ string, from protoreflect.Value, into reflect.Value) error {
	into.SetBytes(slices.Clone(from.Bytes()))
	return nil
}

func (raw) write(v reflect.Value, _ protoreflect.Value) protoreflect.Value {
	return protoreflect.ValueOfBytes(v.Bytes())
}

func (r raw) check(_ context, path string, v reflect.Value) error {
	if v.Len() > r.Most {
		return Invalid(path, fmt.Sprintf("%d bytes", v.Len()), fmt.Sprintf("at most %d", r.Most))
	}
	return nil
}

func (raw) canonical(b []byte, v reflect.Value) []byte { return AppendText(b, string(v.Bytes())) }

// A hash has 32 bytes.
type hash struct{}

func (hash) read(_ context, path string, from protoreflect.Value, into reflect.Value) error {
	if n := len(from.Bytes()); n != into.Len() {
		return Invalid(path, fmt.Sprintf("%d bytes", n), fmt.Sprintf("%d bytes", into.Len()))
	}
	reflect.Copy(into, reflect.ValueOf(from.Bytes()))
	return nil
}

func (hash) write(v reflect.Value, _ protoreflect.Value) protoreflect.Value {
	h := v.Interface().(ledger.Hash)
	return protoreflect.ValueOfBytes(h[:])
}

func (hash) check(context, string, reflect.Value) error { return nil }

func (hash) canonical(b []byte, v reflect.Value) []byte {
	h := v.Interface().(ledger.Hash)
	return append(b, h[:]...)
}

// A seconds is a duration in whole seconds.
type seconds struct{ *column }

func (seconds) read(_ context, _ string, from protoreflect.Value, into reflect.Value) error {
	into.SetInt(int64(time.Duration(from.Uint()) * time.Second))
	return nil
}

func (seconds) write(v reflect.Value, _ protoreflect.Value) protoreflect.Value {
	return protoreflect.ValueOfUint32(uint32(time.Duration(v.Int()) / time.Second))
}

func (s seconds) check(_ context, path string, v reflect.Value) error {
	d := time.Duration(v.Int())
	if most := time.Duration(s.Most) * time.Second; most > 0 && (d < time.Second || d > most || d%time.Second != 0) {
		return Invalid(path, strconv.FormatFloat(d.Seconds(), 'f', -1, 64), s.Need)
	}
	return nil
}

func (seconds) canonical(b []byte, v reflect.Value) []byte {
	return appendUint64(b, uint64(time.Duration(v.Int())/time.Second))
}

// An instant is a time.
type instant struct{}

func (instant) read(_ context, path string, from protoreflect.Value, into reflect.Value) error {
	at := from.Message().Interface().(*timestamppb.Timestamp)
	if err := at.CheckValid(); err != nil {
		return Invalid(path, err.Error(), "a time")
	}
	into.Set(reflect.ValueOf(at.AsTime()))
	return nil
}

func (instant) write(v reflect.Value, _ protoreflect.Value) protoreflect.Value {
	return protoreflect.ValueOfMessage(timestamppb.New(v.Interface().(time.Time)).ProtoReflect())
}

func (instant) check(_ context, path string, v reflect.Value) error {
	if _, err := Nanos(v.Interface().(time.Time)); err != nil {
		return Under(path, err)
	}
	return nil
}

func (instant) canonical(b []byte, v reflect.Value) []byte {
	return appendUint64(b, uint64(v.Interface().(time.Time).UnixNano()))
}

// A pointer is to a value that may be absent although it could also be empty.
type pointer struct{ to value }

func (p pointer) read(c context, path string, from protoreflect.Value, into reflect.Value) error {
	into.Set(reflect.New(into.Type().Elem()))
	return p.to.read(c, path, from, into.Elem())
}

func (p pointer) write(v reflect.Value, empty protoreflect.Value) protoreflect.Value {
	return p.to.write(v.Elem(), empty)
}

func (p pointer) check(c context, path string, v reflect.Value) error {
	return p.to.check(c, path, v.Elem())
}

func (p pointer) canonical(b []byte, v reflect.Value) []byte {
	b = append(b, bit(!v.IsNil()))
	if v.IsNil() {
		return b
	}
	return p.to.canonical(b, v.Elem())
}

// A list has values of one type.
type list struct {
	*column
	of value
}

func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func (l list) read(c context, path string, from protoreflect.Value, into reflect.Value) error {
	n := from.List().Len()
	into.Set(reflect.MakeSlice(into.Type(), n, n))
	for i := range n {
		if err := l.of.read(c, at(path, i), from.List().Get(i), into.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (l list) write(v reflect.Value, empty protoreflect.Value) protoreflect.Value {
	for i := range v.Len() {
		empty.List().Append(l.of.write(v.Index(i), empty.List().NewElement()))
	}
	return empty
}

func (l list) check(c context, path string, v reflect.Value) error {
	if err := l.fits(path, v.Len(), "of them"); err != nil {
		return err
	}
	for i := range v.Len() {
		if err := l.of.check(c, at(path, i), v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// fits refuses a list that is too long.
func (f *column) fits(path string, n int, what string) error {
	if n > f.Most {
		return Invalid(path, fmt.Sprintf("%d %s", n, what), cmp.Or(f.Need, fmt.Sprintf("at most %d", f.Most)))
	}
	return nil
}

func (l list) canonical(b []byte, v reflect.Value) []byte {
	b = appendUint64(b, uint64(v.Len()))
	for i := range v.Len() {
		b = l.of.canonical(b, v.Index(i))
	}
	return b
}

// A labelled is a list of labels, which the API has as a map.
type labelled struct{}

func (labelled) read(_ context, path string, from protoreflect.Value, into reflect.Value) error {
	m := map[string]string{}
	from.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		m[k.String()] = v.String()
		return true
	})
	labels, err := ToLabels(path, m)
	into.Set(reflect.ValueOf(labels))
	return err
}

func (labelled) write(v reflect.Value, empty protoreflect.Value) protoreflect.Value {
	for _, l := range v.Interface().([]ledger.Label) {
		empty.Map().Set(protoreflect.ValueOfString(l.Key).MapKey(), protoreflect.ValueOfString(l.Value))
	}
	return empty
}

func (labelled) check(_ context, path string, v reflect.Value) error {
	return checkLabels(path, v.Interface().([]ledger.Label))
}

func (labelled) canonical(b []byte, v reflect.Value) []byte {
	return appendLabels(b, v.Interface().([]ledger.Label))
}

// An eventList is a list of events.
type eventList struct{ *column }

func (eventList) read(_ context, path string, from protoreflect.Value, into reflect.Value) error {
	events, err := toEvents(path, elements[*pb.Event](from.List()))
	into.Set(reflect.ValueOf(events))
	return err
}

func (eventList) write(v reflect.Value, empty protoreflect.Value) protoreflect.Value {
	for _, e := range FromEvents(v.Interface().([]mechanism.Event)) {
		empty.List().Append(protoreflect.ValueOfMessage(e.ProtoReflect()))
	}
	return empty
}

func (l eventList) check(c context, path string, v reflect.Value) error {
	if err := l.fits(path, v.Len(), "events"); err != nil {
		return err
	}
	for i, e := range v.Interface().([]mechanism.Event) {
		if err := c.checkEvent(e); err != nil {
			return InEvent(path, i, err)
		}
	}
	return nil
}

func (eventList) canonical(b []byte, v reflect.Value) []byte {
	return appendEvents(b, v.Interface().([]mechanism.Event))
}

// A described is a mechanism.
type described struct{}

func (described) read(_ context, path string, from protoreflect.Value, into reflect.Value) error {
	m, err := toMechanism(from.Message().Interface().(*pb.Mechanism), 0)
	if err != nil {
		return Under(path, err)
	}
	into.Set(reflect.ValueOf(m))
	return nil
}

func (described) write(v reflect.Value, _ protoreflect.Value) protoreflect.Value {
	return protoreflect.ValueOfMessage(FromMechanism(v.Interface().(mechanism.Mechanism)).ProtoReflect())
}

func (described) check(_ context, path string, v reflect.Value) error {
	if err := CheckMechanism(v.Interface().(mechanism.Mechanism)); err != nil {
		return Under(path, err)
	}
	return nil
}

func (described) canonical(b []byte, v reflect.Value) []byte {
	return appendMechanism(b, v.Interface().(mechanism.Mechanism))
}

// A workload is a plan. Requests give it with the ledger's adjacency, which entries leave out.
type workload struct{}

func (workload) read(c context, path string, from protoreflect.Value, into reflect.Value) error {
	w := from.Message().Interface().(*pb.Workload)
	if a := w.GetAdjacency(); !c.request && a != pb.Workload_ADJACENCY_UNSPECIFIED {
		return Invalid(path+".adjacency", a.String(), "none in an entry")
	}
	adj := c.adjacency
	if !c.request {
		adj = 0
	}
	plan, err := toPlan(path, adj, w)
	into.Set(reflect.ValueOf(plan))
	return err
}

func (workload) write(v reflect.Value, empty protoreflect.Value) protoreflect.Value {
	w, plan := empty.Message().Interface().(*pb.Workload), v.Interface().(ledger.Workload)
	w.Name, w.Events = plan.Name, FromEvents(plan.Events)
	return empty
}

func (workload) check(c context, path string, v reflect.Value) error {
	plan := v.Interface().(ledger.Workload)
	if n := len(plan.Events); n == 0 || n > MaxWorkloadEvents {
		return Invalid(path+".events", fmt.Sprintf("%d events", n), fmt.Sprintf("1 to %d", MaxWorkloadEvents))
	}
	for i, e := range plan.AsCharged() {
		if err := c.checkEvent(e); err != nil {
			return InEvent(path+".events", i, err)
		}
	}
	return checkText(path+".name", plan.Name, maxText)
}

func (workload) canonical(b []byte, v reflect.Value) []byte {
	plan := v.Interface().(ledger.Workload)
	return appendEvents(AppendText(b, plan.Name), plan.Events)
}

// appendLabels appends labels to a canonical encoding, by key.
func appendLabels(b []byte, labels []ledger.Label) []byte {
	byKey := func(x, y ledger.Label) int {
		return cmp.Or(strings.Compare(x.Key, y.Key), strings.Compare(x.Value, y.Value))
	}
	if !slices.IsSortedFunc(labels, byKey) {
		labels = slices.SortedFunc(slices.Values(labels), byKey)
	}
	b = appendUint64(b, uint64(len(labels)))
	for _, l := range labels {
		b = AppendText(AppendText(b, l.Key), l.Value)
	}
	return b
}
