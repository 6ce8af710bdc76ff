// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// TestOracle compares what is read of each golden record with what the oracle has read, which knows nothing but
// record.proto: each field that is there, and the hash. Every field that a record can have must be in one of them.
// One bit that is changed in either makes a
// difference; where the same fields are read, such as true from a 3, it is the hash.
func TestOracle(t *testing.T) {
	records := lines(t, "testdata/records.txt")
	var rows [][]byte
	for _, line := range lines(t, "testdata/decoded.json") {
		if row := strings.TrimSuffix(line, ","); strings.HasPrefix(row, "  {") {
			rows = append(rows, []byte(row))
		}
	}
	if len(rows) != len(records) {
		t.Fatalf("%d rows of %d records; write them with python -m oracle write decoded", len(rows), len(records))
	}
	var first ledger.Hash
	for _, line := range records {
		if words := strings.Fields(line); words[0] == "genesis" {
			first = GenesisHash(unhex(t, words[2]))
			break
		}
	}
	seen := map[protoreflect.FullName]bool{}
	for i, line := range records {
		words := strings.Fields(line)
		raw := unhex(t, words[2])
		now, err := decoded(words[0], words[1], first, raw, seen)
		said, wrong := tree(rows[i])
		if err != nil || wrong != nil || !reflect.DeepEqual(now, said) {
			t.Errorf("%s %s: read as\n%v, %v; the oracle (python -m oracle write decoded) has\n%v, %v",
				words[0], words[1], now, err, said, wrong)
			continue
		}
		for j := range raw {
			flip(raw, j)
			if other, err := decoded(words[0], words[1], first, raw, nil); err == nil && reflect.DeepEqual(other, now) {
				t.Errorf("%s %s: byte %d can be changed", words[0], words[1], j)
			}
			flip(raw, j)
		}
		for j := range rows[i] {
			flip(rows[i], j)
			if other, err := tree(rows[i]); err == nil && reflect.DeepEqual(other, said) {
				t.Errorf("%s %s: byte %d of the oracle's row can be changed", words[0], words[1], j)
			}
			flip(rows[i], j)
		}
	}
	everyField(t, seen, (&recordv1.Entry{}).ProtoReflect().Descriptor())
	everyField(t, seen, (&recordv1.Genesis{}).ProtoReflect().Descriptor())
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func flip(b []byte, i int) { b[i] ^= 1 << (i % 8) }

// tree is JSON with its numbers as they are written.
func tree(row []byte) (v map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(row))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// decoded is what the oracle should have of a record: what the domain value that is read from it is written as.
func decoded(kind, name string, first ledger.Hash, raw []byte,
	seen map[protoreflect.FullName]bool) (map[string]any, error) {
	var m proto.Message = &recordv1.Genesis{}
	hash, again := GenesisHash(raw), []byte(nil)
	if kind == "entry" {
		m, hash = &recordv1.Entry{}, EntryHash(first, raw)
		e, before, err := UnmarshalEntry(raw)
		if err != nil {
			return nil, err
		}
		if again, err = MarshalEntry(e, before); err != nil {
			return nil, err
		}
	} else {
		g, err := UnmarshalGenesis(raw)
		if err != nil {
			return nil, err
		}
		if again, err = MarshalGenesis(g); err != nil {
			return nil, err
		}
	}
	err := proto.Unmarshal(again, m)
	return map[string]any{"kind": kind, "name": name, "hash": hex.EncodeToString(hash[:]),
		"record": fieldsOf(m.ProtoReflect(), seen)}, err
}

func fieldsOf(m protoreflect.Message, seen map[protoreflect.FullName]bool) any {
	out := map[string]any{}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if seen != nil {
			seen[f.FullName()] = true
		}
		name := string(f.Name())
		switch {
		case f.IsMap():
			values := map[string]any{}
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				values[k.String()] = plain(f.MapValue(), v, seen)
				return true
			})
			out[name] = values
		case f.IsList():
			values := make([]any, v.List().Len())
			for i := range values {
				values[i] = plain(f, v.List().Get(i), seen)
			}
			out[name] = values
		default:
			out[name] = plain(f, v, seen)
		}
		return true
	})
	return out
}

func plain(f protoreflect.FieldDescriptor, v protoreflect.Value, seen map[protoreflect.FullName]bool) any {
	switch x := v.Interface().(type) {
	case protoreflect.Message:
		return fieldsOf(x, seen)
	case protoreflect.EnumNumber:
		return string(f.Enum().Values().ByNumber(x).Name())
	case []byte:
		return hex.EncodeToString(x)
	case float64: // as Python writes it
		format := byte('f')
		if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e16) {
			format = 'e'
		}
		s := strconv.FormatFloat(x, format, -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return json.Number(s)
	case bool, string:
		return x
	default:
		return json.Number(v.String())
	}
}

// everyField reports the fields of a message, and of those in it, that no golden record has.
func everyField(t *testing.T, seen map[protoreflect.FullName]bool, m protoreflect.MessageDescriptor) {
	t.Helper()
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if !seen[f.FullName()] && !m.IsMapEntry() {
			t.Errorf("%s is in no golden record; add one to wiretest.GoldenEntries or GoldenGeneses", f.FullName())
		}
		inner := f.Message()
		if inner != nil && !seen[inner.FullName()] {
			seen[inner.FullName()] = true
			everyField(t, seen, inner)
		}
	}
}
