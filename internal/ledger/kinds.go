// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"reflect"
	"strconv"
)

// ActionKind describes a kind of action by the table of its fields, which is read from the tags on the
// fields of its struct. Reading from messages, writing to messages, stored bytes and the digest of what is
// asked follow the table (package wire); nothing there knows a kind.
type ActionKind struct {
	Name   string // of the kind in the API and in stored bytes, such as "charge"
	Fields []Field

	Type reflect.Type // of its actions
}

// Field is one field of an action, or of a part of one:
//
//	Position uint64 `field:"1" need:"the position of a charge, a commit or an expiry, ≥ 1"`
//
// field is its number in the API's message. An interface has inner instead: it holds another action, which
// is in the message's oneof, as it was "asked" or "decided". need says what is allowed where the field is
// missing, of a field that must be given. most bounds the bytes of a text, the length of a list, the seconds
// of a time, or the bytes of a text that stands for a thing: is says which ("uuid", "ledger"; see package
// wire). range is the range of a real number. decided marks what is not asked for but set by whoever decides,
// refused what is asked for but only by the daemon; both say to a caller who gives it where it comes from.
//
// The order of the fields is that of the canonical encoding, of which digests are taken.
type Field struct {
	Number  int
	Inner   string
	Need    string
	Most    int
	Is      string
	Range   string
	Decided string
	Refused string

	Type  reflect.Type
	index int
}

// Of returns the field in a value of the struct. The result can be set if the struct can.
func (f *Field) Of(v reflect.Value) reflect.Value { return v.Field(f.index) }

// FieldsOf reads the tags of a struct's fields. A field without a tag is none of the table.
func FieldsOf(t reflect.Type) []Field {
	var list []Field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		f := Field{Inner: tag.Get("inner"), Need: tag.Get("need"), Is: tag.Get("is"), Range: tag.Get("range"),
			Decided: tag.Get("decided"), Refused: tag.Get("refused"), Type: t.Field(i).Type, index: i,
			Number: numberTag(t, i, "field"), Most: numberTag(t, i, "most")}
		if f.Number > 0 || f.Inner != "" {
			list = append(list, f)
		}
	}
	return list
}

// numberTag reads a tag that is a number, or absent.
func numberTag(t reflect.Type, i int, name string) int {
	text := t.Field(i).Tag.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("ledger: the tag %q of %v.%s is not a number", name, t, t.Field(i).Name))
	}
	return n
}

// ActionKinds lists all kinds of actions.
func ActionKinds() []*ActionKind { return kinds.list }

// An action may say more of itself: CheckAsked checks which of the fields that are asked for belong together,
// and CheckDecided what its decision has set. Both return a *mechanism.ParameterError.

// Asked returns the action without what its decision sets.
func Asked(v Action) Action {
	if of, ok := v.(interface{ asked() Action }); ok {
		v = of.asked()
	}
	asked := reflect.New(reflect.TypeOf(v)).Elem()
	asked.Set(reflect.ValueOf(v))
	for _, f := range kinds.byName[v.Kind()].Fields {
		if f.Decided != "" {
			f.Of(asked).SetZero()
		}
	}
	return asked.Interface().(Action)
}

type actionKinds struct {
	list   []*ActionKind
	byName map[string]*ActionKind
}

var kinds = newActionKinds()

func newActionKinds() actionKinds {
	all := actionKinds{byName: map[string]*ActionKind{}}
	for _, v := range actions {
		k := &ActionKind{Name: v.Kind(), Fields: FieldsOf(reflect.TypeOf(v)), Type: reflect.TypeOf(v)}
		all.list, all.byName[k.Name] = append(all.list, k), k
	}
	return all
}
