// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func TestReservationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := ledger.Reservation{Position: rapid.Uint64Min(1).Draw(t, "position"),
			Deadline: wiretest.Times().Draw(t, "deadline")}
		total := uint64(math.MaxInt64)
		for _, m := range rapid.SliceOfNDistinct(wiretest.Mechanisms(), 1, 4,
			rapid.ID[mechanism.Mechanism]).Draw(t, "mechanisms") {
			n := rapid.Uint64Range(1, total/2).Draw(t, "count")
			total -= n
			want.Rest = append(want.Rest, mechanism.Part{Mechanism: m, Count: n})
		}
		want.Principal = "p" + wiretest.Texts(255).Draw(t, "principal")
		want.Holder = rapid.SampledFrom([]string{"", "trainers"}).Draw(t, "holder")
		want.Contribution = ledger.Contribution(rapid.IntRange(0, int(ledger.OverAll)).Draw(t, "contribution"))
		if rapid.Bool().Draw(t, "for a child") {
			want.Child, want.Deadline = "a/b", time.Time{}
		}
		raw, err := MarshalReservation(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := UnmarshalReservation(want.Position, raw); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
	})
}

func TestDamagedReservations(t *testing.T) {
	two := ledger.Reservation{Position: 1, Principal: "uid:1",
		Rest: []mechanism.Part{{Mechanism: wiretest.EveryMechanism[0], Count: 1},
			{Mechanism: wiretest.EveryMechanism[1], Count: 2}}}
	two.Deadline = fromNanos(1)
	for _, c := range []struct {
		says   string
		change func(*recordv1.Reservation)
	}{
		{"rest: missing", func(r *recordv1.Reservation) { r.Rest = nil }},
		{"rest[1].count: 0", func(r *recordv1.Reservation) { r.Rest[1].Count = 0 }},
		{"rest[1].count: 9223372036854775807", func(r *recordv1.Reservation) { r.Rest[1].Count = math.MaxInt64 }},
		{"rest[1].mechanism", func(r *recordv1.Reservation) { r.Rest[1].Mechanism = nil }},
		{"rest[1].mechanism: gaussian(σ=3, Δ=2) again",
			func(r *recordv1.Reservation) { r.Rest[1].Mechanism = r.Rest[0].Mechanism }},
		{"rest[0].mechanism.gaussian.standard_deviation: -1", func(r *recordv1.Reservation) {
			r.Rest[0].Mechanism.GetGaussian().StandardDeviation = proto.Float64(-1)
		}},
		{"deadline_unix_nanos: 1970-01-01T00:00:00Z; allowed: none with a child",
			func(r *recordv1.Reservation) { r.Child = "a" }},
		{`child: "A"`, func(r *recordv1.Reservation) { r.Child, r.DeadlineUnixNanos = "A", 0 }},
		{"principal: missing", func(r *recordv1.Reservation) { r.Principal = "" }},
		{"principal", func(r *recordv1.Reservation) { r.Principal = strings.Repeat("p", 257) }},
		{"unknown field 99", func(r *recordv1.Reservation) { r.Rest[0].ProtoReflect().SetUnknown(unknownField) }},
	} {
		raw, err := MarshalReservation(two)
		if err != nil {
			t.Fatal(err)
		}
		var r recordv1.Reservation
		if err := proto.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		c.change(&r)
		if raw, err = proto.Marshal(&r); err != nil {
			t.Fatal(err)
		}
		if got, err := UnmarshalReservation(1, raw); !errors.Is(err, ledger.ErrDamaged) ||
			!strings.Contains(err.Error(), c.says) || !reflect.DeepEqual(got, ledger.Reservation{}) {
			t.Errorf("%+v, %v; want damaged: %s", got, err, c.says)
		}
	}
	if _, err := UnmarshalReservation(1, []byte{0xff}); !errors.Is(err, ledger.ErrDamaged) {
		t.Error(err)
	}
	if _, err := MarshalReservation(ledger.Reservation{Position: 1}); err == nil {
		t.Error("a reservation with nothing left was written")
	}
}
