// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Actions are converted by the tables of their kinds (ledger.ActionKind): nothing here knows a kind, but for
// the charge, of which there are far more than of all others. A field is converted by the value of its type
// (value.go).

// ToAction converts an action that a request asks for, in a ledger with the adjacency adj: nothing in it is for
// the daemon to say, and all is in range. Fields in errors are below path.
func ToAction(path string, adj mechanism.Adjacency, m proto.Message) (ledger.Action, error) {
	return readAction(context{request: true, asked: true, adjacency: adj}, path, m)
}

// To is ToAction of an action of type A.
func To[A ledger.Action](path string, adj mechanism.Adjacency, m proto.Message) (A, error) {
	v, err := ToAction(path, adj, m)
	a, _ := v.(A)
	return a, err
}

func readAction(c context, path string, m proto.Message) (ledger.Action, error) {
	form, v, err := readUnchecked(c, path, m)
	if err == nil {
		err = form.check(c, path, v)
	}
	if err == nil && !m.ProtoReflect().IsValid() { // an action without any field would be taken for it
		err = Absent(path, "what is asked for")
	}
	if err != nil {
		return nil, err
	}
	return v.Interface().(ledger.Action), nil
}

func readUnchecked(c context, path string, m proto.Message) (*message, reflect.Value, error) {
	r := m.ProtoReflect()
	form := actionForms().byMessage[r.Descriptor().FullName()]
	if form == nil {
		return nil, reflect.Value{}, Invalid(path, string(r.Descriptor().Name()), alternativesOf(entryAction()))
	}
	v := reflect.New(form.of).Elem()
	return form, v, form.read(c, path, protoreflect.ValueOfMessage(r), v)
}

// ReadAction converts the message of an entry's action, with what its decision has set, without a check of ranges.
func ReadAction(m proto.Message) (ledger.Action, error) {
	if m == nil {
		return nil, Absent("action", alternativesOf(entryAction()))
	}
	_, v, err := readUnchecked(context{}, nameOf(m), m)
	if err != nil {
		return nil, err
	}
	return v.Interface().(ledger.Action), nil
}

// nameOf names the kind of action that has messages of m's type.
func nameOf(m proto.Message) string {
	if form := actionForms().byMessage[m.ProtoReflect().Descriptor().FullName()]; form != nil {
		return form.kind
	}
	return "action"
}

// CheckAction checks what an entry's action says by itself. Its ledger's adjacency is not known: a descriptor must be
// valid under one.
func CheckAction(v ledger.Action) error {
	if v == nil {
		return Absent("action", alternativesOf(entryAction()))
	}
	if charge, ok := v.(ledger.Charge); ok { // by hand, as it is on the way of every charge
		if err := checkCharge(charge); err != nil {
			return Under("charge", err)
		}
		return nil
	}
	return actionForms().byKind[v.Kind()].check(context{}, v.Kind(), reflect.ValueOf(v))
}

func checkCharge(v ledger.Charge) error {
	if err := checkEventNumber("events", len(v.Events)); err != nil {
		return err
	}
	for i, e := range v.Events {
		if err := checkEvent(e); err != nil {
			return InEvent("events", i, err)
		}
	}
	return checkLabels("labels", v.Labels)
}

// FromAction is the inverse of ReadAction.
func FromAction(v ledger.Action) proto.Message {
	form := actionForms().byKind[v.Kind()]
	m := form.message.New()
	return form.write(reflect.ValueOf(v), protoreflect.ValueOfMessage(m)).Message().Interface()
}

// AppendAsked appends the canonical encoding of what an action asks, of which digests are made: the name of its kind
// and a byte of 0, which is in no name, then each field that is asked for, in the order of the table, with a fixed
// width or its length before it. So different content never has the same encoding, and none begins another.
func AppendAsked(b []byte, v ledger.Action) []byte {
	if charge, ok := v.(ledger.Charge); ok { // by hand, as it is on the way of every charge
		return appendLabels(appendEvents(append(b, "charge\x00"...), charge.Events), charge.Labels)
	}
	return appendAsked(b, v)
}

func appendAsked(b []byte, v ledger.Action) []byte {
	v = ledger.Asked(v)
	b = append(append(b, v.Kind()...), 0)
	return actionForms().byKind[v.Kind()].canonical(b, reflect.ValueOf(v))
}

// entryAction is the oneof of an entry's action in the API. Its fields have the names of the kinds of actions.
var entryAction = sync.OnceValue(func() protoreflect.OneofDescriptor {
	return (*pb.Entry)(nil).ProtoReflect().Descriptor().Oneofs().ByName("action")
})

// forms are the forms of all kinds of actions.
type forms struct {
	byKind    map[string]*message
	byMessage map[protoreflect.FullName]*message
}

// actionForms makes the forms when the first action is converted: a command that converts none starts sooner.
var actionForms = sync.OnceValue(func() forms {
	all := forms{map[string]*message{}, map[protoreflect.FullName]*message{}}
	for _, k := range ledger.ActionKinds() {
		fd := entryAction().Fields().ByName(protoreflect.Name(k.Name))
		if fd == nil {
			panic("wire: the API's Entry has no action " + k.Name)
		}
		form := newMessage(k.Type, (*pb.Entry)(nil).ProtoReflect().NewField(fd).Message().Type())
		form.kind = k.Name
		all.byKind[k.Name], all.byMessage[form.message.Descriptor().FullName()] = form, form
	}
	return all
})

// alternativesOf lists the names of a oneof's fields: "refund, free or raise".
func alternativesOf(of protoreflect.OneofDescriptor) string {
	var names []string
	for i := range of.Fields().Len() {
		names = append(names, string(of.Fields().Get(i).Name()))
	}
	return orList(names)
}

func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// checkEvent checks an event that must be valid under one adjacency.
func checkEvent(e mechanism.Event) error {
	if err := CheckMechanism(e.Mechanism); err != nil {
		return err
	}
	if e.Count == 0 {
		return Invalid("count", "0", "a whole number from 1 to 4294967295")
	}
	return nil
}

func checkReason(field, reason string) error {
	if reason == "" {
		return Absent(field, "why, 1 to 1,024 bytes")
	}
	return checkText(field, reason, maxReason)
}

func checkEventNumber(field string, n int) error {
	const allowed = "1 to 1,000 events"
	switch {
	case n == 0:
		return Absent(field, allowed)
	case n > MaxChargeEvents:
		return Invalid(field, fmt.Sprintf("%d events", n), allowed)
	}
	return nil
}
