// SPDX-License-Identifier: Apache-2.0

package server

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// A stream reads each charge as if it were its first, in whatever order they come and whatever becomes of the memory
// that they were received in.
func TestRecentCharges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var some []ledger.Charge
		for i, e := range wiretest.StepCharge.Events {
			for n := range uint32(6) { // more than are kept
				e.Count = n + 1
				some = append(some, ledger.Charge{Events: []mechanism.Event{e},
					Labels: []ledger.Label{{Key: "run", Value: string(rune('a' + i))}}})
			}
		}
		reader := charges{reader: wire.NewCharges(mechanism.AddOrRemoveOne)}
		received := make([]byte, 0, 1<<12)
		for _, want := range rapid.SliceOfN(rapid.SampledFrom(some), 1, 40).Draw(t, "charges") {
			b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(received, wire.FromCharge(want))
			if err != nil {
				t.Fatal(err)
			}
			action, digest, ok := reader.charge(b)
			clear(b)
			if !ok || !reflect.DeepEqual(action, ledger.Action(want)) || digest != record.Digest(want) {
				t.Fatalf("%v: %+v with digest %x; want %+v with %x", ok, action, digest, want, record.Digest(want))
			}
		}
		if _, _, ok := reader.charge([]byte{1}); ok {
			t.Fatal("what is no charge was read")
		}
	})
}
