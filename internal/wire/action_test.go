// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// A charge is encoded and checked by hand, as its table says.
func TestChargesByHandFollowTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := ledger.Charge{Events: wiretest.Events(0, 3).Draw(t, "events"), Labels: wiretest.Labels().Draw(t, "labels")}
		if rapid.Bool().Draw(t, "with nothing of an event") {
			v.Events = append(v.Events, mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: -1}})
		}
		byHand, byTable := AppendAsked(nil, v), appendAsked(nil, v)
		if len(v.Events) > 0 && !bytes.Equal(byHand, byTable) {
			t.Fatalf("%x; the table says %x", byHand, byTable)
		}
		got := CheckAction(v)
		want := actionForms().byKind["charge"].check(context{}, "charge", reflect.ValueOf(v))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v; the table says %v", got, want)
		}
	})
}

// Every field of an action's message, and of its parts, is in a table.
func TestTablesHaveEveryField(t *testing.T) {
	for _, m := range actionForms().byKind {
		wholeMessage(t, m)
	}
	parts := []*message{ApprovalForm.message(), budgetForm.message(), capsForm.message(), versionForm.message()}
	for _, m := range parts {
		wholeMessage(t, m)
	}
	if p := (*pb.Propose)(nil).ProtoReflect().Descriptor().Oneofs().Get(0).Fields(); p.Len() == 0 {
		t.Error("nothing can be proposed")
	}
	for _, k := range ledger.ActionKinds() {
		_, may := reflect.Zero(k.Type).Interface().(ledger.Approvable)
		in := (*pb.Propose)(nil).ProtoReflect().Descriptor().Oneofs().Get(0).Fields().ByName(protoreflect.Name(k.Name))
		if may != (in != nil) {
			t.Errorf("%s can need two people: %v; it is among what can be proposed: %v", k.Name, may, in != nil)
		}
	}
}

func wholeMessage(t *testing.T, m *message) {
	t.Helper()
	var named, all []string
	for _, f := range m.fields {
		if f.oneof != nil {
			for i := range f.oneof.Fields().Len() {
				named = append(named, string(f.oneof.Fields().Get(i).Name()))
			}
			continue
		}
		named = append(named, f.name)
		of := f.value
		if p, ok := of.(pointer); ok {
			of = p.to
		}
		if l, ok := of.(list); ok {
			of = l.of
		}
		if part, ok := of.(*message); ok {
			wholeMessage(t, part)
		}
	}
	fields := m.message.Descriptor().Fields()
	for i := range fields.Len() {
		all = append(all, string(fields.Get(i).Name()))
	}
	slices.Sort(named)
	slices.Sort(all)
	if !slices.Equal(named, all) {
		t.Errorf("%s has the fields %v, and its table %v", m.message.Descriptor().FullName(), all, named)
	}
}

// What an amendment asks has an encoding of its own, also whether it confirms a registration: a retry with another
// answer to that would otherwise be taken for the same request.
func TestConfirmingIsAsked(t *testing.T) {
	a, b := ledger.AmendDataset{Reason: "r"}, ledger.AmendDataset{Reason: "r", Confirm: true}
	if bytes.Equal(AppendAsked(nil, a), AppendAsked(nil, b)) {
		t.Error("one encoding of both")
	}
}

// FuzzAction: whatever the bytes are, they are no action of a request, or one that is written again and read as the
// same.
func FuzzAction(f *testing.F) {
	kinds := ledger.ActionKinds()
	_, entries := wiretest.GoldenEntries()
	for _, e := range entries {
		b, err := proto.Marshal(FromAction(ledger.Asked(e.Action)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(slices.IndexFunc(kinds, func(k *ledger.ActionKind) bool { return k.Name == e.Action.Kind() })), b)
	}
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		form := actionForms().byKind[kinds[int(kind)%len(kinds)].Name]
		m := form.message.New().Interface()
		if proto.Unmarshal(b, m) != nil {
			return
		}
		v, err := ReadAction(m)
		if err != nil || CheckAction(v) != nil {
			return
		}
		back, err := ReadAction(FromAction(v))
		if err != nil || !reflect.DeepEqual(back, v) {
			t.Fatalf("%+v came back as %+v, %v", v, back, err)
		}
		if asked := ledger.Asked(v); !bytes.Equal(AppendAsked(nil, asked), AppendAsked(nil, v)) {
			t.Fatalf("%+v: what its decision sets is in its encoding", v)
		}
	})
}
