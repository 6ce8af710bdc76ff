// SPDX-License-Identifier: Apache-2.0

package record

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// Each charge is read as if it were the first, in whatever order they come and whatever becomes of the memory that they
// were received in.
func TestCharges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var some []ledger.Charge
		for i, e := range wiretest.StepCharge.Events {
			for n := range uint32(6) { // more than are kept
				e.Count = n + 1
				some = append(some, ledger.Charge{Events: []mechanism.Event{e},
					Labels: []ledger.Label{{Key: "run", Value: string(rune('a' + i))}}})
			}
		}
		reader := NewCharges(mechanism.AddOrRemoveOne, 4)
		received := make([]byte, 0, 1<<12)
		for _, want := range rapid.SliceOfN(rapid.SampledFrom(some), 1, 40).Draw(t, "charges") {
			b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(received, wire.FromAction(want))
			if err != nil {
				t.Fatal(err)
			}
			action, digest, ok := reader.Charge(b)
			clear(b)
			if !ok || !reflect.DeepEqual(action, ledger.Action(want)) || digest != Digest(want) {
				t.Fatalf("%v: %+v with digest %x; want %+v with %x", ok, action, digest, want, Digest(want))
			}
		}
		if _, _, ok := reader.Charge([]byte{1}); ok {
			t.Fatal("what is no charge was read")
		}
	})
}
