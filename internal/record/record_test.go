// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

func TestEntryRoundTrip(t *testing.T) {
	var w Writer // which knows charges of entries that came before
	rapid.Check(t, func(t *rapid.T) {
		want := wiretest.Entries().Draw(t, "entry")
		want.Digest = DigestOf(want.Action, want.Approval)
		ofWriter := rapid.Uint64().Draw(t, "previous of writer")
		raw, err := MarshalEntry(want, ofWriter)
		if err != nil {
			t.Fatal(err)
		}
		got, before, err := UnmarshalEntry(raw)
		if err != nil || !reflect.DeepEqual(got, want) || before != ofWriter {
			t.Fatalf("%+v came back as %+v, %d, %v", want, got, before, err)
		}
		if plain := plainEntry(t, want, ofWriter); !bytes.Equal(raw, plain) {
			t.Fatalf("bytes %x differ from those of package proto %x", raw, plain)
		}
		for range 2 {
			again, err := w.Append([]byte("before"), want, ofWriter)
			if string(again) != "before"+string(raw) || err != nil {
				t.Fatalf("bytes %x, %v; want those that MarshalEntry makes, %x", again, err, raw)
			}
		}
	})
}

// plainEntry is the encoding by package proto.
func plainEntry(t rapid.TB, e ledger.Entry, ofWriter uint64) []byte {
	r := &recordv1.Entry{
		Position: e.Position, Principal: e.Writer.Principal, Writer: e.Writer.Name,
		Sequence: e.Sequence, TimeUnixNanos: e.Time.UnixNano(), PreviousOfWriter: ofWriter,
		Policy: e.Policy,
	}
	m := r.ProtoReflect()
	m.Set(entryAction().Fields().ByName(protoreflect.Name(e.Action.Kind())),
		protoreflect.ValueOfMessage(wire.FromAction(e.Action).ProtoReflect()))
	if e.Approval != nil {
		r.Approval = &pb.Approval{Proposal: e.Approval.Proposal, Proposer: e.Approval.Proposer,
			Person: e.Approval.Person, Comment: e.Approval.Comment}
	}
	if p := e.Set; p != nil {
		r.Set = &recordv1.SetPart{Journal: uint32(p.Journal), Position: p.Position, Members: p.Members,
			Contribution: pb.SetPart_Contribution(p.Contribution),
			Names:        p.Names[:], First: e.First}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGenesisRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := ledger.Genesis{Spec: wiretest.Specs().Draw(t, "spec"), StoreID: wiretest.UUID,
			Principal: wiretest.Principal, Time: wiretest.Times().Draw(t, "time")}
		raw, err := MarshalGenesis(want)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := MarshalGenesis(want)
		got, err := UnmarshalGenesis(raw)
		if err != nil || !reflect.DeepEqual(got, want) || !bytes.Equal(raw, again) {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
	})
}

func TestMechanismBytesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := wiretest.Mechanisms().Draw(t, "mechanism")
		raw, err := MarshalMechanism(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := UnmarshalMechanism(raw); err != nil || got != want {
			t.Fatalf("%v came back as %v, %v", want, got, err)
		}
	})
}

// goldenEntries are those of package wiretest, with their digests.
func goldenEntries() (names []string, entries []ledger.Entry) {
	names, entries = wiretest.GoldenEntries()
	for i := range entries {
		entries[i].Digest = DigestOf(entries[i].Action, entries[i].Approval)
	}
	return names, entries
}

// unknownField is one that no message has.
var unknownField = protoreflect.RawFields(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))

// kindOf returns the message of the mechanism's own kind, to change it.
func kindOf(m *pb.Mechanism) protoreflect.Message {
	r := m.ProtoReflect()
	return r.Mutable(r.WhichOneof(r.Descriptor().Oneofs().ByName("kind"))).Message()
}

var update = flag.Bool("update", false,
	"write testdata/records.txt anew: only for a new record, never to change a line")

// TestGoldenRecords reads and writes the bytes in testdata: a name, its bytes.
// A line that changes means that files on disk can no longer be read.
func TestGoldenRecords(t *testing.T) {
	const file = "testdata/records.txt"
	var now strings.Builder
	names, entries := goldenEntries()
	for i, e := range entries {
		b, err := MarshalEntry(e, 7)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&now, "entry %s %x\n", names[i], b)
	}
	ofGeneses, geneses := wiretest.GoldenGeneses()
	for i, g := range geneses {
		b, err := MarshalGenesis(g)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&now, "genesis %s %x\n", ofGeneses[i], b)
	}
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored := lines(t, file)
	differ(t, strings.Split(strings.TrimSpace(now.String()), "\n"), stored)
	for i, line := range stored {
		words := strings.Fields(line)
		raw := unhex(t, words[2])
		if words[0] == "genesis" {
			if g, err := UnmarshalGenesis(raw); err != nil || !reflect.DeepEqual(g, geneses[i-len(entries)]) {
				t.Errorf("%s: %+v, %v", words[1], g, err)
			}
			continue
		}
		e, ofWriter, err := UnmarshalEntry(raw)
		if err != nil || !reflect.DeepEqual(e, entries[i]) || ofWriter != 7 {
			t.Errorf("%s: %+v, %d, %v", words[1], e, ofWriter, err)
		}
	}
}

// differ reports each record that is not written as it is stored.
func differ(t *testing.T, now, stored []string) {
	t.Helper()
	name := func(line string) string { return line[:strings.LastIndexByte(line, ' ')] }
	bytesOf := map[string]string{}
	for _, line := range stored {
		bytesOf[name(line)] = line
	}
	for _, line := range now {
		switch was, ok := bytesOf[name(line)]; {
		case !ok:
			t.Errorf("%s is new: write it to testdata/records.txt with go test ./internal/record "+
				"-run TestGoldenRecords -update, and see that no other line changes", name(line))
		case was != line:
			t.Errorf("%s is written differently: files on disk could no longer be read\nnow    %s\nstored %s",
				name(line), line, was)
		}
		delete(bytesOf, name(line))
	}
	for gone := range bytesOf {
		t.Errorf("%s is stored, and no longer written", gone)
	}
	if len(now) == len(stored) && !t.Failed() && !slices.Equal(now, stored) {
		t.Error("the records are in another order than in testdata/records.txt")
	}
}

func TestDamagedEntries(t *testing.T) {
	close := func() *recordv1.Entry_Close { return &recordv1.Entry_Close{Close: &pb.Close{}} }
	for _, c := range []struct {
		name   string
		change func(*recordv1.Entry)
		says   string
	}{
		{"position", func(e *recordv1.Entry) { e.Position = 0 }, "position: 0"},
		{"sequence", func(e *recordv1.Entry) { e.Sequence = 0 }, "sequence: missing or 0"},
		{"principal", func(e *recordv1.Entry) { e.Principal = "" }, "principal: missing"},
		{"writer", func(e *recordv1.Entry) { e.Writer = "w" }, `writer: "w"`},
		{"action", func(e *recordv1.Entry) { e.Action = nil }, "action: missing"},
		{"unknown", func(e *recordv1.Entry) { e.ProtoReflect().SetUnknown(unknownField) }, "entry: unknown field 99"},
		{"unknown in the charge", func(e *recordv1.Entry) { e.GetCharge().ProtoReflect().SetUnknown(unknownField) },
			"charge: unknown field 99"},
		{"unknown in the mechanism", func(e *recordv1.Entry) {
			kindOf(e.GetCharge().Events[0].Mechanism).SetUnknown(unknownField)
		}, "charge.events[0].mechanism.poisson_sampled: unknown field 99"},
		{"unknown in close", func(e *recordv1.Entry) {
			a := close()
			a.Close.ProtoReflect().SetUnknown(unknownField)
			e.Action = a
		}, "close: unknown field 99"},
		{"no events", func(e *recordv1.Entry) { e.GetCharge().Events = nil }, "charge.events: missing"},
		{"no count", func(e *recordv1.Entry) { e.GetCharge().Events[0].Count = 0 }, "charge.events[0].count: 0"},
		{"zero", func(e *recordv1.Entry) {
			e.GetCharge().Events[0].Mechanism.GetPoissonSampled().SamplingProbability = proto.Float64(0)
		}, "charge.events[0].mechanism.poisson_sampled.sampling_probability: 0"},
		{"range", func(e *recordv1.Entry) {
			e.GetCharge().Events[0].Mechanism.GetPoissonSampled().SamplingProbability = proto.Float64(2)
		}, "charge.events[0].mechanism.poisson_sampled.sampling_probability: 2"},
		{"label", func(e *recordv1.Entry) { e.GetCharge().Labels["Bad"] = "" }, `charge.labels: key "Bad"`},
		{"reason", func(e *recordv1.Entry) {
			a := close()
			a.Close.Reason = strings.Repeat("r", 1025)
			e.Action = a
		}, "close.reason: "},
		{"no lifetime", func(e *recordv1.Entry) {
			e.Action = &recordv1.Entry_Reserve{Reserve: &pb.Reserve{Events: e.GetCharge().Events}}
		}, "reserve.lifetime_seconds: 0; allowed: a whole number from 1 to 31622400"},
		{"too long a lifetime", func(e *recordv1.Entry) {
			e.Action = &recordv1.Entry_Reserve{Reserve: &pb.Reserve{Events: e.GetCharge().Events,
				LifetimeSeconds: 31622401}}
		}, "reserve.lifetime_seconds: 31622401"},
		{"nothing reserved", func(e *recordv1.Entry) {
			e.Action = &recordv1.Entry_Reserve{Reserve: &pb.Reserve{LifetimeSeconds: 1}}
		}, "reserve.events: missing"},
		{"unknown in reserve", func(e *recordv1.Entry) {
			a := &pb.Reserve{Events: e.GetCharge().Events, LifetimeSeconds: 1}
			a.ProtoReflect().SetUnknown(unknownField)
			e.Action = &recordv1.Entry_Reserve{Reserve: a}
		}, "reserve: unknown field 99"},
		{"commit of nothing", func(e *recordv1.Entry) {
			e.Action = &recordv1.Entry_Commit{Commit: &pb.Commit{Events: e.GetCharge().Events}}
		}, "commit.reservation: missing"},
		{"commit without a count", func(e *recordv1.Entry) {
			e.GetCharge().Events[0].Count = 0
			e.Action = &recordv1.Entry_Commit{Commit: &pb.Commit{Events: e.GetCharge().Events, Reservation: 1}}
		}, "commit.events[0].count: 0"},
		{"unknown in commit", func(e *recordv1.Entry) {
			a := &pb.Commit{Events: e.GetCharge().Events, Reservation: 1}
			a.ProtoReflect().SetUnknown(unknownField)
			e.Action = &recordv1.Entry_Commit{Commit: a}
		}, "commit: unknown field 99"},
		{"release of nothing", func(e *recordv1.Entry) {
			e.Action = &recordv1.Entry_Release{Release: &pb.Release{}}
		}, "release.reservation: missing"},
		{"release's reason", func(e *recordv1.Entry) {
			e.Action = &recordv1.Entry_Release{Release: &pb.Release{Reservation: 1, Reason: strings.Repeat("r", 1025)}}
		}, "release.reason: "},
		{"expiry of nothing", func(e *recordv1.Entry) {
			e.Action = &recordv1.Entry_Expire{Expire: &pb.Expire{}}
		}, "expire.reservation: missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e recordv1.Entry
			if err := proto.Unmarshal(plainEntry(t, wiretest.StepEntry(), 16), &e); err != nil {
				t.Fatal(err)
			}
			c.change(&e)
			raw, err := proto.Marshal(&e)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := UnmarshalEntry(raw)
			if !errors.Is(err, ledger.ErrDamaged) || !strings.Contains(err.Error(), c.says) ||
				!reflect.DeepEqual(got, ledger.Entry{}) {
				t.Errorf("UnmarshalEntry = %v, %v; want damaged: %s", got, err, c.says)
			}
		})
	}
	for _, raw := range [][]byte{nil, {0xff}, {0x0a}} {
		if _, _, err := UnmarshalEntry(raw); !errors.Is(err, ledger.ErrDamaged) {
			t.Errorf("UnmarshalEntry(%x): %v", raw, err)
		}
	}
}

func TestDamagedGenesisAndMechanism(t *testing.T) {
	for name, change := range map[string]func(*recordv1.Genesis){
		"spec":            func(g *recordv1.Genesis) { g.Spec = nil },
		"spec.policy":     func(g *recordv1.Genesis) { g.Spec.Policy = pb.LedgerSpec_PLAN },
		"store_id":        func(g *recordv1.Genesis) { g.StoreId = "x" },
		"principal":       func(g *recordv1.Genesis) { g.Principal = "" },
		"unknown":         func(g *recordv1.Genesis) { g.ProtoReflect().SetUnknown(unknownField) },
		"unknown in spec": func(g *recordv1.Genesis) { g.Spec.ProtoReflect().SetUnknown(unknownField) },
	} {
		raw, err := MarshalGenesis(wiretest.Genesis())
		if err != nil {
			t.Fatal(err)
		}
		var g recordv1.Genesis
		if err := proto.Unmarshal(raw, &g); err != nil {
			t.Fatal(err)
		}
		change(&g)
		if raw, err = proto.Marshal(&g); err != nil {
			t.Fatal(err)
		}
		if got, err := UnmarshalGenesis(raw); !errors.Is(err, ledger.ErrDamaged) ||
			!reflect.DeepEqual(got, ledger.Genesis{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, raw := range [][]byte{nil, {0xff}, unknownField, {0x0a, 0x00}} { // 0a00: a Gaussian without parameters
		if m, err := UnmarshalMechanism(raw); !errors.Is(err, ledger.ErrDamaged) || m != nil {
			t.Errorf("UnmarshalMechanism(%x) = %v, %v", raw, m, err)
		}
	}
}

// TestNothingIsWrittenThatCannotBeRead gives the writers what readers refuse.
func TestNothingIsWrittenThatCannotBeRead(t *testing.T) {
	for name, change := range map[string]func(*ledger.Entry){
		"position":  func(e *ledger.Entry) { e.Position = 0 },
		"sequence":  func(e *ledger.Entry) { e.Sequence = 0 },
		"writer":    func(e *ledger.Entry) { e.Writer.Name = "w" },
		"principal": func(e *ledger.Entry) { e.Writer.Principal = "" },
		"request":   func(e *ledger.Entry) { e.Writer.Name = "request/x" }, // with sequence 17
		"action":    func(e *ledger.Entry) { e.Action = nil },
		"events":    func(e *ledger.Entry) { e.Action = ledger.Charge{} },
		"mechanism": func(e *ledger.Entry) { e.Action = ledger.Charge{Events: []mechanism.Event{{Count: 1}}} },
		"count": func(e *ledger.Entry) {
			e.Action = ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1}}}}
		},
		"parameter": func(e *ledger.Entry) {
			e.Action = ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: math.NaN()},
				Count: 1}}}
		},
		"labels": func(e *ledger.Entry) {
			e.Action = ledger.Charge{Events: wiretest.StepCharge.Events, Labels: []ledger.Label{{Key: "b"}, {Key: "a"}}}
		},
		"reason": func(e *ledger.Entry) { e.Action = ledger.Close{Reason: "\xff"} },
		"time":   func(e *ledger.Entry) { e.Time = time.Time{} },
	} {
		e := wiretest.StepEntry()
		change(&e)
		var invalid *wire.InvalidError
		if raw, err := MarshalEntry(e, 0); !errors.As(err, &invalid) || raw != nil {
			t.Errorf("entry with wrong %s: %x, %v", name, raw, err)
		}
	}
	for name, change := range map[string]func(*ledger.Genesis){
		"name":      func(g *ledger.Genesis) { g.Spec.Name = "" },
		"adjacency": func(g *ledger.Genesis) { g.Spec.Adjacency = 0 },
		"policy":    func(g *ledger.Genesis) { g.Spec.Policy = 1 },
		"labels":    func(g *ledger.Genesis) { g.Spec.Labels = []ledger.Label{{Key: "A"}} },
		"store":     func(g *ledger.Genesis) { g.StoreID = "" },
		"principal": func(g *ledger.Genesis) { g.Principal = "" },
		"time":      func(g *ledger.Genesis) { g.Time = time.Time{} },
	} {
		g := wiretest.Genesis()
		change(&g)
		var invalid *wire.InvalidError
		if raw, err := MarshalGenesis(g); !errors.As(err, &invalid) || raw != nil {
			t.Errorf("genesis with wrong %s: %x, %v", name, raw, err)
		}
	}
	if raw, err := MarshalMechanism(nil); err == nil {
		t.Errorf("MarshalMechanism(nil) = %x", raw)
	}
}

func BenchmarkMarshalEntry(b *testing.B) {
	e := wiretest.StepEntry()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := MarshalEntry(e, 16); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalEntry(b *testing.B) {
	raw, err := MarshalEntry(wiretest.StepEntry(), 16)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := UnmarshalEntry(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// A record with what only a newer version knows is said to be newer; one that is wrong
// is damaged.
func TestNewerRecords(t *testing.T) {
	var e recordv1.Entry
	if err := proto.Unmarshal(plainEntry(t, wiretest.StepEntry(), 16), &e); err != nil {
		t.Fatal(err)
	}
	e.Action = nil
	e.ProtoReflect().SetUnknown(unknownField)
	raw, err := proto.Marshal(&e)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = UnmarshalEntry(raw)
	if !errors.Is(err, ledger.ErrNewer) || !errors.Is(err, ledger.ErrDamaged) ||
		strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), "unknown field 99") {
		t.Errorf("an action of a newer version: %v", err)
	}
	if _, _, err := UnmarshalEntry(nil); errors.Is(err, ledger.ErrNewer) {
		t.Errorf("no bytes: %v", err)
	}
}
