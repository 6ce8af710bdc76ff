// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/variant"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// What a refusal says of differences names fields as the API does, of every kind.
func TestDifferencesNameFields(t *testing.T) {
	t.Parallel()
	for _, m := range wiretest.EveryMechanism {
		empty := reflect.Zero(reflect.TypeOf(m)).Interface().(mechanism.Mechanism)
		fields := kindOf(FromMechanism(m)).Descriptor().Fields()
		found := variant.Differences(m, empty)
		if len(found) == 0 && fields.Len() > 0 {
			t.Errorf("%v: no difference from an empty one", m)
		}
		for _, d := range found {
			if fields.ByName(protoreflect.Name(d.Field)) == nil {
				t.Errorf("%v: differs in %q, which is no field of %s", m, d.Field, m.Kind())
			}
		}
	}
}

func TestFromBudgetError(t *testing.T) {
	m := mechanism.PureDP{Epsilon: 0.1}
	got := FromBudgetError(&budget.Error{
		Broken: []budget.Shortfall{
			{Index: -1, Budget: "plan", Unit: m.String(), Needed: 3, Left: 2, Short: 1},
			{Index: 0, Budget: "budgets[0]", Unit: "ε", Needed: 0.3, Left: 0.2, Short: 0.1},
			{Index: 1, Budget: "budgets[1]", Reason: "why"},
		},
		Fits: []mechanism.Part{{Mechanism: m, Count: 2}},
	})
	want := &pb.BudgetExceeded{
		Shortfalls: []*pb.BudgetExceeded_Shortfall{
			{Unit: m.String(), Needed: 3, Left: 2, Short: 1},
			{Budget: proto.Uint32(0), Unit: "ε", Needed: 0.3, Left: 0.2, Short: 0.1},
			{Budget: proto.Uint32(1), Reason: "why"},
		},
		Fits: []*pb.MechanismCount{{Mechanism: FromMechanism(m), Count: 2}},
	}
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// A status travels in a header: of a charge of 1,000 mechanisms only some are listed.
	many := &budget.Error{Broken: make([]budget.Shortfall, 1000)}
	for i := range 1000 {
		many.Broken[i] = budget.Shortfall{Index: -1, Budget: "plan", Reason: strings.Repeat("r", 100)}
		many.Fits = append(many.Fits, mechanism.Part{Mechanism: mechanism.PureDP{Epsilon: float64(i + 1)}})
	}
	if n := proto.Size(FromBudgetError(many)); n > 6<<10 {
		t.Errorf("%d bytes", n)
	}
}
