// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
	"google.golang.org/protobuf/proto"
)

func TestDamagedResolutions(t *testing.T) {
	for _, c := range []struct {
		says   string
		from   ledger.Genesis
		change func(*recordv1.Genesis)
	}{
		{"resolution.limits: 0 limits; allowed: 6", wiretest.FilteredGenesis(),
			func(g *recordv1.Genesis) { g.Resolution = nil }},
		{"resolution.limits: 5 limits", wiretest.FilteredGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Limits = g.Resolution.Limits[1:] }},
		{"resolution.limits[0].guard: ZCDP; allowed: BASIC", wiretest.FilteredGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Limits[0].Guard = pb.Budget_ZCDP }},
		{"resolution.limits[0].guard: 9", wiretest.FilteredGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Limits[0].Guard = 9 }},
		{"resolution.limits[1].value: 0", wiretest.FilteredGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Limits[1].Value = 0 }},
		{"resolution.limits[1].delta: 1", wiretest.FilteredGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Limits[1].Delta = 1 }},
		{"resolution.limits[1].order: 2", wiretest.FilteredGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Limits[1].Order = 2 }},
		{"resolution.limits[4].order: 1", wiretest.FilteredGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Limits[4].Order = 1 }},
		{"resolution.plan: 0 mechanisms", wiretest.PlannedGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Plan = nil }},
		{"resolution.plan[1].count: 0", wiretest.PlannedGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Plan[1].Count = 0 }},
		{"resolution.plan[1].count: 9223372036854775807", wiretest.PlannedGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Plan[1].Count = 1<<63 - 1 }},
		{"resolution.plan[1].mechanism: missing", wiretest.PlannedGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Plan[1].Mechanism = nil }},
		{"again; allowed: distinct mechanisms", wiretest.PlannedGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.Plan[1].Mechanism = g.Resolution.Plan[0].Mechanism }},
		{"resolution.plan: 2 mechanisms", wiretest.Genesis(), func(g *recordv1.Genesis) {
			g.Resolution = resolutionForm.Write(wiretest.PlannedGenesis().Resolution)
		}},
		{"unknown field 99", wiretest.PlannedGenesis(),
			func(g *recordv1.Genesis) { g.Resolution.ProtoReflect().SetUnknown(unknownField) }},
	} {
		raw, err := MarshalGenesis(c.from)
		if err != nil {
			t.Fatal(err)
		}
		var g recordv1.Genesis
		if err := proto.Unmarshal(raw, &g); err != nil {
			t.Fatal(err)
		}
		c.change(&g)
		if raw, err = proto.Marshal(&g); err != nil {
			t.Fatal(err)
		}
		if got, err := UnmarshalGenesis(raw); !errors.Is(err, ledger.ErrDamaged) ||
			!strings.Contains(err.Error(), c.says) || !reflect.DeepEqual(got, ledger.Genesis{}) {
			t.Errorf("%+v, %v; want damaged: %s", got, err, c.says)
		}
	}
	unresolved := wiretest.FilteredGenesis()
	unresolved.Resolution = ledger.Resolution{}
	if _, err := MarshalGenesis(unresolved); err == nil {
		t.Error("a FILTER ledger was written without its limits")
	}
}
