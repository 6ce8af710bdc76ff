// SPDX-License-Identifier: Apache-2.0

package wirejson

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/questions"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

const gaussianFile = `{
  "name": "w",
  "adjacency": "ADD_OR_REMOVE_ONE",
  "events": [
    {"mechanism": {"gaussian": {"standardDeviation": 1.0, "sensitivity": 1.0}}, "count": 1}
  ]
}`

func TestUnmarshalJSON(t *testing.T) {
	want := mechanism.Gaussian{StandardDeviation: 1, Sensitivity: 1}
	for name, file := range map[string]string{
		"camel case":  gaussianFile,
		"snake case":  strings.Replace(gaussianFile, "standardDeviation", "standard_deviation", 1),
		"white space": "\n\t " + gaussianFile + "\r\n",
		"null":        strings.Replace(gaussianFile, `"sensitivity"`, `"distance": null, "sensitivity"`, 1),
	} {
		var w pb.Workload
		if err := Unmarshal([]byte(file), &w); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if title, c, err := wire.ToWorkload(&w); err != nil || title != "w" || len(c.Parts) != 1 ||
			c.Parts[0].Mechanism != want {
			t.Errorf("%s: %q, %v, %v", name, title, c, err)
		}
	}
}

func TestUnmarshalJSONErrors(t *testing.T) {
	change := func(old, new string) string {
		if !strings.Contains(gaussianFile, old) {
			t.Fatalf("no %s in the file", old)
		}
		return strings.Replace(gaussianFile, old, new, 1)
	}
	for _, c := range []struct{ name, file, says string }{
		{"unknown field", change("sensitivity", "sensitivty"),
			`JSON: (line 5:59): unknown field "sensitivty"; allowed: one JSON object, at its top with the fields name, adjacency, events`},
		{"unknown field at the top", change("adjacency", "adjacencies"), `(line 3:3): unknown field "adjacencies"`},
		{"after é", change(`"w"`, `"é", "x": 1`), `(line 2:16): unknown field "x"`},
		{"duplicate", change(`"count": 1`, `"count": 1, "count": 2`), `(line 5:93): duplicate field "count"`},
		{"duplicate in two spellings", change(`"sensitivity": 1.0`, `"noiseMultiplier": 1, "noise_multiplier": 1`),
			`duplicate field "noise_multiplier"`},
		{"two mechanisms", change(`}}, "count"`, `}, "pureDp": {"epsilon": 1}}, "count"`), `(line 5:80): error parsing "pureDp"`},
		{"text for a number", change(`"sensitivity": 1.0`, `"sensitivity": "one"`), `(line 5:74): invalid value for double field sensitivity: "one"`},
		{"too large", change(`"sensitivity": 1.0`, `"sensitivity": 1e999`), "(line 5:74): invalid value for double field sensitivity: 1e999"},
		{"negative count", change(`"count": 1`, `"count": -1`), "(line 5:90): invalid value for uint32 field count: -1"},
		{"large count", change(`"count": 1`, `"count": 4294967296`), "(line 5:90): invalid value for uint32 field count: 4294967296"},
		{"fraction", change(`"count": 1`, `"count": 1.5`), "(line 5:90): invalid value for uint32 field count: 1.5"},
		{"enum", change("ADD_OR_REMOVE_ONE", "ADD"), `(line 3:16): invalid value for enum field adjacency: "ADD"`},
		{"list for an object", change(`{"gaussian"`, `[{"gaussian"`), "(line 5:19): unexpected token ["},
		{"object for a list", change(`[`, `{`), "(line 4:13): unexpected token {"},
		{"trailing data", gaussianFile + " {}", "(line 7:3): unexpected token {"},
		{"trailing text", gaussianFile + "x", "line 7:2"},
		{"two documents", gaussianFile + gaussianFile, "line 7:2"},
		{"cut off", gaussianFile[:len(gaussianFile)-1], "JSON: unexpected EOF"},
		{"empty", "", "JSON: "},
		{"null", "null", "(line 1:1): unexpected token null; allowed: one JSON object"},
		{"list", "[]", "(line 1:1): unexpected token ["},
		{"text", `"x"`, `(line 1:1): unexpected token "x"`},
		{"comment", "// x\n" + gaussianFile, "line 1:1"},
		{"NaN", change(`1.0`, `NaN`), "(line 5:54): invalid value NaN"},
		{"not UTF-8", change(`"w"`, "\"\xff\""), "UTF-8"},
		{"long name", change("sensitivity", strings.Repeat("s", 10000)), "unknown field"},
		{"deep", strings.Repeat(`{"mechanism":`, 50000), ""},
		{"deep in a mechanism",
			change(`{"gaussian"`, strings.Repeat(`{"poissonSampled":{"mechanism":`, 50)+`{"gaussian"`),
			"JSON: exceeded max recursion depth"},
		{"large", strings.Repeat(" ", wire.MaxJSONBytes) + "{}", "JSON: 4194306 bytes; allowed: at most 4194304 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Unmarshal([]byte(c.file), &pb.Workload{})
			if err == nil {
				t.Fatal("accepted")
			}
			if _, ok := err.(*wire.InvalidError); !ok || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), "proto:") {
				t.Errorf("error %q, want one with %q", err, c.says)
			}
			if len(err.Error()) > 800 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
		})
	}
}

var update = flag.Bool("update", false, "write testdata/messages.json anew")

// Whatever is wrong with a document, the error says where.
func TestUnmarshalJSONFindsThePlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, err := Marshal(wire.FromSpec(wiretest.Specs().Draw(t, "spec")))
		if err != nil {
			t.Fatal(err)
		}
		data := rapid.SampledFrom([][]byte{spec, []byte(gaussianFile)}).Draw(t, "document")
		m := proto.Message(&pb.LedgerSpec{})
		if bytes.Equal(data, []byte(gaussianFile)) {
			m = &pb.Workload{}
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			end := at + rapid.IntRange(0, min(4, len(data)-at)).Draw(t, "cut")
			put := rapid.SampledFrom([]string{"", "{", "}", "[", "]", ",", ":", `"`, "null", "1", "-", "e", "\\ud800",
				"\xff", "NaN", `"x":1,`}).Draw(t, "put")
			data = append(append(slices.Clone(data[:at]), put...), data[end:]...)
			if len(data) == 0 {
				return
			}
		}
		refused := Unmarshal(data, m)
		if refused == nil {
			return
		}
		wrong, ok := refused.(*wire.InvalidError)
		if !ok || !strings.Contains(wrong.Value, "(line ") && wrong.Value != "unexpected EOF" {
			t.Fatalf("%v\nof %s", refused, data)
		}
	})
}

// TestMarshalJSONGolden compares the output of several messages with testdata.
func TestMarshalJSONGolden(t *testing.T) {
	summary := ledger.Summary{Genesis: wiretest.Genesis(), Head: ledger.Head{Position: 3, Hash: ledger.Hash{1}},
		Distinct: 2, Total: maxExact + 1}
	entry := ledger.Record{Entry: wiretest.StepEntry()}
	lower := 1.8282366
	answer := accountant.Answer{Delta: 1e-5, Epsilon: 1.8282367, EpsilonLower: &lower, Analysis: accountant.GDP,
		Analyses: []accountant.Result{
			{Analysis: accountant.GDP, Epsilon: 1.8282367}, {Analysis: accountant.PLD, Unsupported: "why <&> \u2028"},
			{Analysis: accountant.RDP, Epsilon: 2.1, Order: 9.3}, {Analysis: accountant.Basic, Epsilon: math.Inf(1)}}}
	tiny := accountant.Answer{Epsilon: 0, Delta: 0, LogDelta: -800, Analysis: accountant.RDP,
		Analyses: []accountant.Result{{Analysis: accountant.RDP, LogDelta: -800, Order: math.Inf(1)}}}
	nothing := accountant.Answer{Delta: 0, LogDelta: math.Inf(-1), Analysis: accountant.GDP,
		Analyses: []accountant.Result{{Analysis: accountant.GDP, LogDelta: math.Inf(-1)}}}
	position := uint64(0)
	var got bytes.Buffer
	for _, m := range []proto.Message{
		&pb.Workload{},
		wire.FromSummary(summary),
		&pb.ListEntriesResponse{Entries: []*pb.Entry{wire.FromRecord(entry, false)}, Genesis: []byte{0xff}},
		&pb.CloseLedgerRequest{Lane: &pb.Lane{Sequence: math.MaxUint64}, Close: &pb.Close{Reason: "42"}},
		questions.FromAnswer(accountant.AtDelta(1e-5), answer, questions.Standing{Position: &position}),
		questions.FromAnswer(accountant.AtEpsilon(0), tiny, questions.Standing{}),
		questions.FromAnswer(accountant.AtEpsilon(1), nothing, questions.Standing{}),
	} {
		b, err := Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(append(b, '\n'))
	}
	const file = "testdata/messages.json"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.Bytes(), want)
	}
}

func TestMarshalJSONIntegers(t *testing.T) {
	for value, want := range map[uint64]string{
		0: "0", 42: "42", maxExact: "9007199254740992", maxExact + 1: `"9007199254740993"`,
		math.MaxUint64: `"18446744073709551615"`,
	} {
		b, err := Marshal(&pb.GetWriterResponse{LastSequence: value})
		if err != nil || !strings.Contains(string(b), `"lastSequence": `+want+",") {
			t.Errorf("%d: %s, %v", value, b, err)
		}
	}
	// Seconds are an int64 within a message whose JSON is one text.
	b, err := Marshal(&pb.Receipt{Ledger: "42", Time: timestamppb.New(time.Unix(0, 0))})
	if err != nil || !strings.Contains(string(b), `"ledger": "42"`) ||
		!strings.Contains(string(b), `"time": "1970-01-01T00:00:00Z"`) {
		t.Errorf("%s, %v", b, err)
	}
	b, err = Marshal(&pb.Charge{Labels: map[string]string{"42": "42"}})
	if err != nil || !strings.Contains(string(b), `"42": "42"`) {
		t.Errorf("%s, %v", b, err)
	}
}

// A receipt of one ledger says nothing of whose rows a charge to several bounds.
func TestMarshalJSONReceipt(t *testing.T) {
	for _, c := range []ledger.Contribution{0, ledger.OverAll} {
		b, err := Marshal(&pb.Receipt{Contribution: wire.FromContribution(c)})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Contains(string(b), "contribution"), c != 0; got != want {
			t.Errorf("contribution %d: %s", c, b)
		}
	}
}

func TestMarshalJSONRefusesBrokenText(t *testing.T) {
	if b, err := Marshal(&pb.GetLedgerRequest{Name: "\xff"}); err == nil {
		t.Errorf("wrote %q", b)
	}
}

// TestJSONRoundTrip: what is written reads as the same message, both by this
// package and by protojson, and is written again as the same bytes.
func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := wire.FromSpec(wiretest.Specs().Draw(t, "spec"))
		e := wiretest.Entries().Draw(t, "entry")
		year := time.Date(rapid.IntRange(1, 9999).Draw(t, "year"), 1, 2, 3, 4, 5, 678, time.UTC)
		entry := wire.FromRecord(ledger.Record{Entry: e, Raw: []byte(e.Writer.Name)}, true)
		entry.Time = timestamppb.New(year)
		for _, m := range []proto.Message{spec, entry} {
			b, err := Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			for _, read := range []func([]byte, proto.Message) error{Unmarshal, protojson.Unmarshal} {
				back := m.ProtoReflect().New().Interface()
				if err := read(b, back); err != nil || !proto.Equal(m, back) {
					t.Fatalf("%v came back as %v, %v", m, back, err)
				}
				if again, err := Marshal(back); err != nil || !bytes.Equal(b, again) {
					t.Fatalf("%s was written again as %s, %v", b, again, err)
				}
			}
			if !json.Valid(b) {
				t.Fatalf("%s is not valid", b)
			}
		}
	})
}
